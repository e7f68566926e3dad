"""Clients that are made anew between two calls when their dynamic configs change.

librdkafka changes none of these configs while it runs. `DynamicProducer` and
`DynamicConsumer` have the methods of confluent_kafka's clients and hold a handle
instead of being one, so that another can take its place.

A producer is flushed first: each record has its delivery report before the next handle
has its first record. With `acks=0` a report says no more than that a record was sent.
There the leaders are asked something on the same connections, where brokers answer in
turn: who answers has written what came before. A leader that does not come by within
two seconds is not waited for.
A consumer commits what was handed out, where it commits by itself; closes, and joins
again. Its callbacks are told as in any rebalance, and an application that commits by
itself does it there.
"""

import threading
import weakref
from collections.abc import Callable
from typing import Any, Self

import confluent_kafka

from .configs_in_force import LibrdkafkaConfigs
from .dynamic_values import ACKS, Settled, read_in_force
from .held_handles import REFUSED, HoldsHandle, Wait
from .key_lists import CONSUMER, PRODUCER

__all__ = ["DynamicConsumer", "DynamicProducer"]

_NO_ACKS = "0"
_PATIENCE_S, _PAUSE_S = 2.0, 0.01
_CALLBACKS = ("on_assign", "on_revoke", "on_lost")
_NOTHING_TO_COMMIT = confluent_kafka.KafkaError._NO_OFFSET  # noqa: SLF001 - its public name
_UNDELIVERED = "records are not delivered yet"
_UNCOMMITTED = "offsets cannot be committed now"
_TRANSACTIONAL = "a transactional producer is not made anew"
_ASSIGNS = "a consumer that assigns partitions itself is in no group"


class DynamicProducer(HoldsHandle):
    """A producer whose `acks` follow the cluster while it runs."""

    _client_type, _kind = PRODUCER, confluent_kafka.Producer

    def _set_up(self) -> None:
        super()._set_up()
        self._topics: set[str] = set()
        """What was produced to without any acknowledgement."""
        self._is_acknowledged = True

    def produce(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as upstream
        """Produce a record, as confluent_kafka's Producer does."""
        with self._gate:
            self._follow()
            handle = self._held()
            if not self._is_acknowledged:
                self._topics.add(args[0] if args else kwargs["topic"])
            handle.produce(*args, **kwargs)

    def produce_batch(self, *args: Any, **kwargs: Any) -> int:  # noqa: ANN401 - as upstream
        """Produce records, as confluent_kafka's Producer does."""
        with self._gate:
            self._follow()
            handle = self._held()
            if not self._is_acknowledged:
                self._topics.add(args[0] if args else kwargs["topic"])
            count: int = handle.produce_batch(*args, **kwargs)
            return count

    def poll(self, timeout: float = -1) -> int:
        """Serve callbacks; wait for some until the timeout, in seconds, is over."""
        wait = Wait(timeout)
        while True:
            with self._gate:
                self._follow()
                self._raise_held_back()
                served: int = self._held().poll(wait.part_s())
            if served or wait.is_over():
                return served

    def flush(self, timeout: float = -1) -> int:
        """Wait until all is delivered; return how many records are not."""
        wait = Wait(timeout)
        while True:
            with self._gate:
                self._follow()
                self._raise_held_back()
                left: int = self._held().flush(wait.part_s())
            if not left or wait.is_over():
                return left

    def close(self) -> bool:
        """Flush and close, as confluent_kafka's Producer does."""
        with self._gate:
            self._is_closed = True
            # In a fork that has used it for nothing there is nothing to close.
            return self._handle is None or bool(self._handle.close())

    def __len__(self) -> int:
        """Return how many records are not delivered yet."""
        with self._gate:
            return len(self._held())

    def __bool__(self) -> bool:
        """Return True, however many records there are."""
        return True

    def __enter__(self) -> Self:
        """Return it; it is closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _make(self, prepared: Any) -> Any:  # noqa: ANN401 - as upstream
        made = super()._make(prepared)
        in_force = read_in_force(PRODUCER, prepared.conf)
        self._is_acknowledged = in_force[ACKS] != _NO_ACKS
        return made

    def _explain_fixed(self) -> str:
        find = LibrdkafkaConfigs(PRODUCER, self._given.conf, {}).find
        return _TRANSACTIONAL if find("transactional.id") else ""

    def _change(self, wanted: Settled) -> str:
        end = Wait(self._limit_s)
        if not (self._drain(end) and self._have_heard(end)):
            return _UNDELIVERED
        made = self._replace(wanted)
        if made is None:
            return REFUSED
        old, self._handle = self._handle, made
        self._topics.clear()
        old.close()
        return ""

    def _drain(self, end: Wait) -> bool:
        """Return whether each record has had its report.

        What a callback raises is kept for a call that serves callbacks.
        """
        while True:
            try:
                left = self._handle.flush(end.left_s())
            except Exception as error:  # noqa: BLE001 - the application's
                self._raised.append(error)
                continue
            if not left or end.is_over():
                return not left

    def _have_heard(self, end: Wait) -> bool:
        """Return whether brokers have what was sent to them without acknowledgement."""
        patience = Wait(_PATIENCE_S)
        leaders: set[int] = set()
        heard: set[int] = set()
        never = threading.Event()
        try:
            for topic in self._topics:
                told = self._handle.list_topics(topic, end.left_s())
                found = told.topics[topic].partitions.values()
                leaders |= {one.leader for one in found if one.leader >= 0}
                heard.add(told.orig_broker_id)
            while leaders - heard and not patience.is_over():
                told = self._handle.list_topics(topic, end.left_s())
                heard.add(told.orig_broker_id)
                never.wait(_PAUSE_S)
        except confluent_kafka.KafkaException:
            return False
        return True


class DynamicConsumer(HoldsHandle):
    """A consumer whose session and heartbeat follow the cluster while it runs."""

    _client_type, _kind = CONSUMER, confluent_kafka.Consumer
    _subscription: tuple[list[str], dict[str, Any]] | None = None
    _is_assigning = False
    """Whether the application assigns partitions without a subscription."""

    def subscribe(self, topics: list[str], *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as upstream
        """Join the group for topics; callbacks are given this client.

        Args:
            topics: Names and patterns.
            args: on_assign, on_revoke and on_lost, as upstream, or by these names.
        """
        named = dict(zip(_CALLBACKS, args, strict=False)) | kwargs
        with self._gate:
            self._held().subscribe(topics, **self._bind(named))
            self._subscription, self._is_assigning = (list(topics), named), False

    def unsubscribe(self) -> None:
        """Leave the group."""
        with self._gate:
            self._held().unsubscribe()
            self._subscription = None

    def assign(self, partitions: list[confluent_kafka.TopicPartition]) -> None:
        """Take partitions."""
        with self._gate:
            self._held().assign(partitions)
            self._is_assigning = self._subscription is None

    def unassign(self) -> None:
        """Take no partitions."""
        with self._gate:
            self._held().unassign()
            self._is_assigning = False

    def poll(self, timeout: float | None = None) -> Any:  # noqa: ANN401 - as upstream
        """Return the next record, or None when the timeout, in seconds, is over."""
        wait = Wait(timeout)
        while True:
            with self._gate:
                self._follow()
                self._raise_held_back()
                found = self._held().poll(wait.part_s())
            if found is not None or wait.is_over():
                return found

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Any]:
        """Return so many records, or what has come until the timeout is over."""
        wait = Wait(timeout)
        while True:
            with self._gate:
                self._follow()
                self._raise_held_back()
                found: list[Any] = self._held().consume(num_messages, wait.part_s())
                if found and len(found) < num_messages:
                    # What it holds now goes out before any change.
                    found += self._consume_rest(num_messages - len(found), wait)
            if found or wait.is_over():
                return found

    def _consume_rest(self, count: int, wait: Wait) -> list[Any]:
        left_s = wait.left_s()
        timeout_s = left_s if left_s < threading.TIMEOUT_MAX else -1
        rest: list[Any] = self._handle.consume(count, timeout_s)
        return rest

    def close(self) -> None:
        """Leave the group and close."""
        with self._gate:
            self._is_closed = True
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
        this = weakref.ref(self)

        def bind(callback: Callable[[Any, Any], object]) -> Callable[[Any, Any], None]:
            def call(_handle: object, partitions: object) -> None:
                callback(this(), partitions)

            return call

        return {
            name: bind(callback) if callable(callback) else callback
            for name, callback in callbacks.items()
        }

    def _go_on(self) -> None:
        if self._subscription is not None:
            topics, named = self._subscription
            self._handle.subscribe(topics, **self._bind(named))

    def _explain_fixed(self) -> str:
        return _ASSIGNS if self._is_assigning else ""

    def _change(self, wanted: Settled) -> str:
        if not self._commit_handed_out():
            return _UNCOMMITTED
        made = self._replace(wanted)
        if made is None:
            return REFUSED
        try:
            self._handle.close()
        except Exception as error:  # noqa: BLE001 - of a callback of the application
            self._raised.append(error)
        self._handle = made
        self._go_on()
        return ""

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
