"""The topic of dynamic client configs: read to its end and on, written by transactions.

Strategy: each bridge process reads the whole topic as committed, in a thread, which
drops what later records replace and hands over the rest in small turns of the event
loop. It writes with a transactional id of its own: whoever comes back after a kill ends
what the one before it had left open, which would hold back all readers. A transaction
that fails is tried again with a new producer until its time is over, for a record that
stands there twice says the same twice.
Calls of librdkafka that wait end soon, so that a bridge can stop.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
)

from pipelines.kafka_wire.records import TopicFault, WrittenRecord
from pipelines.kafka_wire.transactional_topic import (
    SLICE_S,
    LeftS,
    TransactionalTopic,
    is_end,
)
from pipelines.kafka_wire.waiting import call_in_thread

logger = logging.getLogger(__name__)

TRANSACTION_TIMEOUT_MS = 10_000
"""Readers wait so long for a transaction that nobody ends."""
_RETRY_S = 0.2
_MOST_RECORDS = 100
"""Handed over at once: some milliseconds of the event loop."""
_MOST_FETCHED_KB = 4_096
"""Of records that librdkafka holds for its reader."""
_MOST_CONSUMED = 500
"""Messages of one call while the topic is read to its end."""
_MOST_COMPACTED = 50_000
"""Records that are held back while the topic is read to its end."""
_REFUSALS = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
"""What no further attempt would change."""

Done = TypeVar("Done")
Taken = tuple[int, bytes | None, bytes | None, int]
"""Offset, key, value and time in ms of a record."""


class ReadBatch(NamedTuple):
    """What has been read since the last one."""

    records: list[Taken]
    """In the order of the topic."""
    is_at_end: bool = False
    """Whether nothing is committed behind them, now."""
    is_anew: bool = False
    """Whether the topic begins anew with them."""
    fault: str = ""
    """Kafka's name of what stands in the way; empty for nothing."""


class StoreTopicLink:
    """Reads and writes one topic; lives in one event loop."""

    def __init__(
        self,
        connection: Mapping[str, str],
        *,
        topic: str,
        bridge_id: str,
        replaceable: bytes,
    ) -> None:
        """Connect to nothing yet.

        Args:
            connection: librdkafka's properties of [kafka]; the values hold secrets.
            bridge_id: Of this process alone.
            replaceable: Prefix of keys of which only the last record is handed over
                while the topic is read to its end.
        """
        self._topic = TransactionalTopic(
            connection,
            name=topic,
            client_id=bridge_id,
            transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
        )
        self._replaceable = replaceable
        self._name = f"{topic}-{bridge_id}"

    async def follow(self, take: Callable[[ReadBatch], None]) -> None:
        """Read from the beginning, for ever; take is called in the event loop.

        The reader waits until a batch is taken before it reads the next one, so that
        the loop serves others between two batches, and memory is bounded.
        """
        loop = asyncio.get_running_loop()
        has_stopped, is_taken = threading.Event(), threading.Event()

        def take_one(batch: ReadBatch) -> None:
            try:
                take(batch)
            finally:
                is_taken.set()

        def hand_over(batch: ReadBatch) -> None:
            is_taken.clear()
            # The loop may have ended meanwhile.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(take_one, batch)
                while not (is_taken.wait(SLICE_S) or has_stopped.is_set()):
                    if self._topic.is_closing.is_set():
                        return

        try:
            await call_in_thread(partial(self._follow, hand_over, has_stopped))
        finally:
            has_stopped.set()

    async def open(self, deadline_s: float) -> None:
        """End what this one has left open in an earlier life. Raises: TopicFault."""
        await self._call(self._open, deadline_s)

    async def publish(self, records: Sequence[WrittenRecord], deadline_s: float) -> int:
        """Write all in one transaction; return the offset of the last.

        Args:
            deadline_s: By the clock of the event loop.
        Raises: TopicFault; then they may stand there all the same.
        """
        return await self._call(partial(self._publish, records), deadline_s)

    def close(self) -> None:
        """Wait for nothing any more."""
        self._topic.close()

    async def _call(self, call: Callable[[LeftS], Done], deadline_s: float) -> Done:
        now_s = asyncio.get_running_loop().time
        try:
            return await call_in_thread(partial(call, lambda: deadline_s - now_s()))
        except KafkaException as error:
            raise TopicFault(f"Kafka says {error.args[0].name()}") from None

    def _open(self, left_s: LeftS) -> None:
        """Open a producer where there is none; runs in a thread."""
        if not self._topic.is_open:
            self._topic.fence(self._name, left_s)

    def _publish(self, records: Sequence[WrittenRecord], left_s: LeftS) -> int:
        """Write until it stands or the time is over; runs in a thread."""
        while True:
            try:
                self._open(left_s)
                return self._topic.write(records, left_s)
            except KafkaException as error:
                # A new one ends what this one may have left open.
                self._topic.drop()
                cause = error.args[0]
                is_late = left_s() <= _RETRY_S
                is_closing = self._topic.is_closing
                if cause.code() in _REFUSALS or is_late or is_closing.is_set():
                    raise
                logger.warning(
                    "a transaction of %s fails (%s) and is tried again%s",
                    *(self._name, cause.name()),
                    _say_fenced(cause),
                )
                is_closing.wait(_RETRY_S)

    def _follow(
        self, hand_over: Callable[[ReadBatch], None], has_stopped: threading.Event
    ) -> None:
        """Read until it is told to stop; runs in a thread."""

        def is_over() -> bool:
            return has_stopped.is_set() or self._topic.is_closing.is_set()

        properties = {"queued.max.messages.kbytes": _MOST_FETCHED_KB}
        reader = self._topic.make_reader(self._name, **properties)
        try:
            reader.assign([self._topic.at(OFFSET_BEGINNING)])
            backlog = Backlog(hand_over, self._replaceable)
            while not (is_over() or backlog.is_read):
                backlog.take(reader.consume(_MOST_CONSUMED, SLICE_S))
            reached = backlog.reached
            while not is_over():
                message = reader.poll(SLICE_S)
                if message is not None:
                    reached = _read_batch(reader, message, reached, hand_over)
        finally:
            reader.close()


class Backlog:
    """Records up to the end of the topic, without those that later ones replace.

    Compaction leaves records alone for days, and clients may register any number of
    names meanwhile. A reader that does what compaction will do hands over few of them.
    """

    def __init__(
        self, hand_over: Callable[[ReadBatch], None], replaceable: bytes
    ) -> None:
        self._hand_over, self._replaceable = hand_over, replaceable
        self._kept: dict[bytes | int, Taken] = {}
        """By key; by offset for a record that no other one replaces."""
        self._has_handed_over = False
        self.reached = 0
        """The offset after the last record."""
        self.is_read = False
        """Whether the end was reached."""

    def take(self, messages: Sequence[Message]) -> None:
        """Take messages in order; hand over all live records at the end."""
        for one in messages:
            error = one.error()
            if error is None:
                self._keep(_read(one))
            elif is_end(error):
                self.is_read = True
            else:
                self._hand_over(ReadBatch([], fault=error.name()))
        if self.is_read or len(self._kept) > _MOST_COMPACTED:
            self._hand_over_kept()

    def _keep(self, record: Taken) -> None:
        offset, key, value, _ = record
        if offset < self.reached:
            # Recreated, or truncated: the records before are gone.
            self._kept.clear()
            if self._has_handed_over:
                self._hand_over(ReadBatch([], is_anew=True))
        self.reached = offset + 1
        if key is None or not key.startswith(self._replaceable):
            self._kept[offset] = record
            return
        self._kept.pop(key, None)
        if value is not None or self._has_handed_over:
            self._kept[key] = record

    def _hand_over_kept(self) -> None:
        records = list(self._kept.values())
        self._kept.clear()
        self._has_handed_over = self._has_handed_over or bool(records)
        for start in range(0, len(records), _MOST_RECORDS):
            self._hand_over(ReadBatch(records[start : start + _MOST_RECORDS]))
        if self.is_read:
            self._hand_over(ReadBatch([], is_at_end=True))


def _read_batch(
    reader: Consumer,
    first: Message,
    reached: int,
    hand_over: Callable[[ReadBatch], None],
) -> int:
    """Hand over what is there already; return the offset behind it."""
    records: list[Taken] = []
    is_anew = False
    message: Message | None = first
    while message is not None:
        error, offset = message.error(), message.offset() or 0
        if error is not None:
            is_at_end = is_end(error)
            fault = "" if is_at_end else error.name()
            hand_over(ReadBatch(records, is_at_end, is_anew, fault))
            return reached
        if offset < reached:
            # Made anew, or cut: what was read before is not there any more.
            hand_over(ReadBatch(records, is_anew=is_anew))
            records, is_anew = [], True
        records.append(_read(message))
        reached = offset + 1
        message = reader.poll(0) if len(records) < _MOST_RECORDS else None
    hand_over(ReadBatch(records, is_anew=is_anew))
    return reached


def _read(message: Message) -> Taken:
    kind, timestamp_ms = message.timestamp()
    time_ms = 0 if kind == TIMESTAMP_NOT_AVAILABLE else max(timestamp_ms, 0)
    return message.offset() or 0, message.key(), message.value(), time_ms


def _say_fenced(error: KafkaError) -> str:
    is_fenced = error.code() in {
        KafkaError._FENCED,  # noqa: SLF001 - its public name
        KafkaError.INVALID_PRODUCER_EPOCH,
    }
    return ": has another bridge the same bridge.bridge_id?" if is_fenced else ""
