"""A consumer that replaces its handle when its dynamic configs change.

It commits what was handed out, if it commits by itself; leaves the group, and joins it
again. Its callbacks are called as in any rebalance, in poll or consume, and an
application that commits by itself does so there. Pauses, and seeks that no record was
read from, are restored.
"""

import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Self

import confluent_kafka

from .configs_in_force import LibrdkafkaConfigs
from .dynamic_values import Settled
from .held_handles import BUSY, REFUSED, HoldsHandle, Wait
from .kept_places import KeptPlaces
from .key_lists import CONSUMER

_ON_ASSIGN, _ON_REVOKE = "on_assign", "on_revoke"
_CALLBACKS = (_ON_ASSIGN, _ON_REVOKE, "on_lost")
_INCREMENTAL = "cooperative"
"""In the name of each strategy that assigns partitions one by one."""
_NOTHING_TO_COMMIT = confluent_kafka.KafkaError._NO_OFFSET  # noqa: SLF001 - its public name
_UNCOMMITTED = "offsets cannot be committed now"
_ASSIGNS = "a consumer that assigns partitions itself is in no group"


class DynamicConsumer(HoldsHandle):
    """A consumer whose session and heartbeat follow the cluster while it runs."""

    _client_type, _kind = CONSUMER, confluent_kafka.Consumer
    _subscription: tuple[list[str], dict[str, Any]] | None = None
    _is_assigning = False
    """Whether the application assigns partitions without a subscription."""

    def _set_up(self) -> None:
        super()._set_up()
        find = LibrdkafkaConfigs(CONSUMER, self._given.conf, {}).find
        is_incremental = _INCREMENTAL in find("partition.assignment.strategy")
        self._places = KeptPlaces(is_incremental=is_incremental)
        self._late: deque[Any] = deque()
        """Read while the group was left; handed out next."""

    def subscribe(self, topics: list[str], *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as upstream
        """Join the group for topics; callbacks are given this client.

        Args:
            topics: Names and patterns.
            args: on_assign, on_revoke and on_lost, as upstream, or by these names.
        """
        named = dict(zip(_CALLBACKS, args, strict=False)) | kwargs
        with self._gate.serving():
            self._held().subscribe(topics, **self._bind(named))
            self._subscription, self._is_assigning = (list(topics), named), False

    def unsubscribe(self) -> None:
        """Leave the group."""
        with self._gate.serving():
            self._held().unsubscribe()
            self._subscription = None

    def assign(self, partitions: list[confluent_kafka.TopicPartition]) -> None:
        """Take partitions."""
        with self._gate.serving():
            self._held().assign(partitions)
            self._places.forget_seeks(partitions)
            self._places.has_assigned = True
            self._is_assigning = self._subscription is None

    def incremental_assign(
        self, partitions: list[confluent_kafka.TopicPartition]
    ) -> None:
        """Take more partitions."""
        with self._gate.serving():
            self._held().incremental_assign(partitions)
            self._places.forget_seeks(partitions)
            self._places.has_assigned = True

    def unassign(self) -> None:
        """Take no partitions."""
        with self._gate.serving():
            self._held().unassign()
            self._is_assigning = False

    def pause(self, partitions: list[confluent_kafka.TopicPartition]) -> None:
        """Stop reading partitions."""
        with self._gate.serving():
            self._held().pause(partitions)
            self._places.pause(partitions)

    def resume(self, partitions: list[confluent_kafka.TopicPartition]) -> None:
        """Read partitions again."""
        with self._gate.serving():
            self._held().resume(partitions)
            self._places.resume(partitions)

    def seek(self, partition: confluent_kafka.TopicPartition) -> None:
        """Read a partition from another offset."""
        with self._gate.serving():
            self._held().seek(partition)
            self._places.seek(partition)

    def poll(self, timeout: float | None = None) -> Any:  # noqa: ANN401 - as upstream
        """Return the next record, or None when the timeout, in seconds, is over."""
        wait = Wait(timeout)
        while True:
            with self._gate.serving():
                self._follow()
                self._callbacks.run()
                handle = self._held()
                late = self._take_late(1)
                found = late[0] if late else handle.poll(wait.part_s())
                self._places.note_read([found])
            if found is not None or wait.is_over():
                return found

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Any]:
        """Return so many records, or what has come until the timeout is over."""
        wait = Wait(timeout)
        while True:
            with self._gate.serving():
                self._follow()
                self._callbacks.run()
                handle, found = self._held(), self._take_late(num_messages)
                found = found or handle.consume(num_messages, wait.part_s())
                if found and len(found) < num_messages:
                    # What it holds now goes out before any change.
                    found += self._consume_rest(num_messages - len(found), wait)
                self._places.note_read(found)
            if found or wait.is_over():
                return found

    def _take_late(self, count: int) -> list[Any]:
        """Return at most so many of what was read while the group was left."""
        taken: list[Any] = []
        with suppress(IndexError):
            while len(taken) < count:
                taken.append(self._late.popleft())
        return taken

    def _consume_rest(self, count: int, wait: Wait) -> list[Any]:
        left_s = wait.left_s()
        timeout_s = left_s if left_s < threading.TIMEOUT_MAX else -1
        rest: list[Any] = self._handle.consume(count, timeout_s)
        return rest

    def close(self) -> None:
        """Leave the group and close."""
        with self._gate.serving():
            self._is_closed = True
            self._callbacks.run()
            if self._handle is not None:
                self._handle.close()

    def __enter__(self) -> Self:
        """Return it; it is closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _bind(self, callbacks: dict[str, Any]) -> dict[str, Any]:
        """Return callbacks for a handle that are given this client in its place."""
        this, places = weakref.ref(self), self._places

        def bind(name: str) -> Callable[[Any, Any], None]:
            callback = callbacks.get(name)

            def call(handle: object, partitions: Any) -> None:  # noqa: ANN401 - as upstream
                places.has_assigned = False
                if name != _ON_ASSIGN:
                    places.forget_seeks(partitions)
                if callback is not None:
                    callback(this(), partitions)
                if name == _ON_ASSIGN:
                    places.restore(handle, partitions)

            return call

        wrapped = {
            name: bind(name)
            for name in {_ON_ASSIGN, _ON_REVOKE, *callbacks}
            if callable(callbacks.get(name)) or callbacks.get(name) is None
        }
        return callbacks | wrapped

    def _go_on(self) -> None:
        self._places.is_anew = True
        if self._subscription is not None:
            topics, named = self._subscription
            self._handle.subscribe(topics, **self._bind(named))

    def _explain_fixed(self) -> str:
        return _ASSIGNS if self._is_assigning else ""

    def _change(self, wanted: Settled) -> str:
        with self._gate.alone() as is_alone:
            pass
        if not is_alone:
            return BUSY
        if not self._commit_handed_out():
            return _UNCOMMITTED
        made = self._prepare(wanted)
        if made is None:
            return REFUSED
        unused, fault = made[0], BUSY
        self._places.is_changing = True
        held = self._leave_group()
        with self._gate.alone() as is_alone:
            if is_alone:
                unused, fault = self._handle, ""
                self._put(*made)
        self._run_kept(unused.close)
        self._places.is_changing = False
        if fault and held:
            self._handle.resume(held)
        self._go_on()
        return fault

    def _leave_group(self) -> list[confluent_kafka.TopicPartition]:
        """Give up all partitions, with callbacks; return those partitions.

        Calls of other threads go on: a callback may wait for them.
        """
        if self._subscription is None:
            return []
        handle, end = self._handle, Wait(self._limit_s)
        held: list[confluent_kafka.TopicPartition] = handle.assignment()
        if held:
            # Nothing more is handed out of them.
            handle.pause(held)
        handle.unsubscribe()
        while handle.assignment() and not end.is_over():
            message = self._run_kept(partial(handle.poll, end.part_s()))
            if message is not None:
                self._late.append(message)
        return held

    def _run_kept(self, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - as upstream
        """Call; raise what a callback of the application raises after the change."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - the application's
            self._callbacks.add(_raise, error)
            return None

    def _commit_handed_out(self) -> bool:
        """Commit as the client itself would do a little later; return whether it is.

        An application that commits by itself alone knows what it has done.
        """
        find = LibrdkafkaConfigs(CONSUMER, self._given.conf, {}).find
        if self._subscription is None or find("enable.auto.commit") != "true":
            return True
        try:
            self._handle.commit(asynchronous=False)
        except confluent_kafka.KafkaException as error:
            return bool(error.args[0].code() == _NOTHING_TO_COMMIT)
        return True


def _raise(error: Exception) -> None:
    raise error
