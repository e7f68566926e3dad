"""A producer that replaces its handle when its dynamic configs change.

librdkafka changes none of these configs while it runs. `DynamicProducer` and
`DynamicConsumer` have the methods of confluent_kafka's clients and hold a handle
instead of being one, so that another can take its place.

A handle changes only in calls that serve callbacks: poll, flush and consume. An
application may hold a lock in produce that its callbacks need.
A producer is flushed first: each record is delivered, or has failed, before the next
handle has its first record.
Delivery reports that arrive meanwhile are served afterwards, before those of the next
handle.
With `acks=0` a report says no more than that a record was sent. There the leaders are
asked something on the same connections, where brokers answer in turn: who answers has
written what came before. A leader that does not come by within two seconds is not
waited for.
"""

import threading
from typing import Any, Self

import confluent_kafka

from .configs_in_force import LibrdkafkaConfigs
from .dynamic_consumer import DynamicConsumer
from .dynamic_values import ACKS, Settled, read_in_force
from .held_handles import BUSY, REFUSED, HoldsHandle, Wait
from .key_lists import PRODUCER
from .starting import Prepared

__all__ = ["DynamicConsumer", "DynamicProducer"]

_NO_ACKS = "0"
_FIRST_CALLBACK = 4
"""Arguments of produce after the topic, up to its first callback."""
_PATIENCE_S, _PAUSE_S = 2.0, 0.01
_UNDELIVERED = "records are not delivered yet"
_TRANSACTIONAL = "a transactional producer is not made anew"


class DynamicProducer(HoldsHandle):
    """A producer whose `acks` follow the cluster while it runs."""

    _client_type, _kind = PRODUCER, confluent_kafka.Producer

    def _set_up(self) -> None:
        super()._set_up()
        self._topics: set[str] = set()
        """What was produced to without any acknowledgement."""
        self._is_acknowledged = True

    def produce(self, topic: str, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as upstream
        """Produce a record, as confluent_kafka's Producer does."""
        with self._gate:
            handle = self._held()
            if not self._is_acknowledged:
                self._topics.add(topic)
            if len(args) >= _FIRST_CALLBACK:
                # Only callbacks among them are callable.
                args = tuple(map(self._callbacks.wrap, args))
            handle.produce(topic, *args, **self._callbacks.wrap_named(kwargs))

    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        *args: Any,  # noqa: ANN401 - as upstream
        **kwargs: Any,  # noqa: ANN401 - as upstream
    ) -> int:
        """Produce records, as confluent_kafka's Producer does."""
        wrap = self._callbacks.wrap_named
        with self._gate:
            handle = self._held()
            if not self._is_acknowledged:
                self._topics.add(topic)
            wrapped = [wrap(one) for one in messages]
            args = tuple(map(self._callbacks.wrap, args))
            count: int = handle.produce_batch(topic, wrapped, *args, **wrap(kwargs))
        for one, sent in zip(messages, wrapped, strict=True):
            one.update({key: sent[key] for key in sent.keys() - one.keys()})
        return count

    def poll(self, timeout: float = -1) -> int:
        """Serve callbacks; wait for some until the timeout, in seconds, is over."""
        wait = Wait(timeout)
        while True:
            with self._gate.serving():
                self._follow()
                served = self._callbacks.run()
                timeout_s = 0 if served else wait.part_s()
                served += int(self._held().poll(timeout_s))
            if served or wait.is_over():
                return served

    def flush(self, timeout: float = -1) -> int:
        """Wait until all is delivered; return how many records are not."""
        wait = Wait(timeout)
        while True:
            with self._gate.serving():
                self._follow()
                self._callbacks.run()
                left: int = self._held().flush(wait.part_s())
            if not left or wait.is_over():
                return left

    def close(self) -> bool:
        """Flush and close, as confluent_kafka's Producer does."""
        with self._gate.serving():
            self._is_closed = True
            self._callbacks.run()
            # In a fork that has used it for nothing there is nothing to close.
            return self._handle is None or bool(self._handle.close())

    def __len__(self) -> int:
        """Return how many records are not delivered yet."""
        with self._gate:
            return len(self._held()) + len(self._callbacks)

    def __bool__(self) -> bool:
        """Return True, however many records there are."""
        return True

    def __enter__(self) -> Self:
        """Return it; it is closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _put(self, handle: Any, prepared: Prepared) -> None:  # noqa: ANN401 - as upstream
        super()._put(handle, prepared)
        self._topics.clear()
        in_force = read_in_force(PRODUCER, prepared.conf)
        self._is_acknowledged = in_force[ACKS] != _NO_ACKS

    def _explain_fixed(self) -> str:
        find = LibrdkafkaConfigs(PRODUCER, self._given.conf, {}).find
        return _TRANSACTIONAL if find("transactional.id") else ""

    def _change(self, wanted: Settled) -> str:
        # A new handle pushes its configuration: it is made only for a change that can
        # be expected to succeed.
        fault = self._drain(None)
        if fault:
            return fault
        made = self._prepare(wanted)
        if made is None:
            return REFUSED
        fault = self._drain(made)
        if fault:
            made[0].close()
        return fault

    def _drain(self, made: tuple[Any, Prepared] | None) -> str:
        """Deliver all records, and use another handle then; return what stops it."""
        end = Wait(self._limit_s)
        with self._gate.alone() as is_alone:
            if not is_alone:
                return BUSY
            with self._callbacks.hold():
                left = self._handle.flush(end.left_s())
            if left:
                return _UNDELIVERED
            if made is None:
                return ""
            if not self._have_heard(end):
                return _UNDELIVERED
            old = self._handle
            self._put(*made)
        old.close()
        return ""

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
