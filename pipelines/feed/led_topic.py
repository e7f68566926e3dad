"""The topic of the cluster's feed: who writes it, what stands at its end, transactions.

Strategy: membership in a group that reads the topic's only partition decides who leads;
a transactional producer of a fixed id fences who led before, also where that one has
not noticed. Whoever leads anew reads the end of the topic as committed, so what it
takes for written is what readers see. After any fault the lead begins anew: whether the
last transaction stands is then seen, not guessed.
Calls of librdkafka that wait have a thread, and end soon, so that a bridge can stop.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from pipelines.kafka_wire.records import WrittenRecord
from pipelines.kafka_wire.transactional_topic import (
    SLICE_S,
    TransactionalTopic,
    is_end,
)
from pipelines.kafka_wire.waiting import call_in_thread

from .records import FeedRecord, LeadRefused, LostLead

logger = logging.getLogger(__name__)

SESSION_TIMEOUT_MS = 6_000
"""Who is killed leads for so long; the shortest that stock brokers allow."""
HEARTBEAT_MS = 1_500
TRANSACTION_TIMEOUT_MS = 15_000
"""Readers wait so long for a transaction that nobody ends."""
_POLL_S = 0.2
"""Between two looks at what the group says, and for room in the producer's queue."""
_RETRY_S = 1.0
_LEAVE_S = 2.0
"""Longest wait for the group to hear that we leave; it finds out by itself, too."""
_FIRST_WINDOW = 2_000
"""Records that are read back first; twice as many each time that is not enough."""
_PATIENCE_S = 30.0
_REFUSALS = {
    KafkaError.GROUP_AUTHORIZATION_FAILED: "READ on group {name}",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "READ, WRITE and DESCRIBE on topic {topic}",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "WRITE and DESCRIBE on "
    "transactional id {name}",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "IDEMPOTENT_WRITE on the cluster",
}


class FeedTopic:
    """Topic with one writer at a time, the leader; lives in one event loop."""

    def __init__(
        self, connection: Mapping[str, str], *, topic: str, client_id: str
    ) -> None:
        """Connect to nothing yet.

        Args:
            connection: librdkafka's properties of [kafka]; the values hold secrets.
        """
        self._topic = TransactionalTopic(
            connection,
            name=topic,
            client_id=client_id,
            transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
        )
        self._name = ""
        self._member: Consumer | None = None
        self._is_member = asyncio.Event()
        self._is_lost = asyncio.Event()
        self._refusal: KafkaError | None = None
        self._polling: asyncio.Task[None] | None = None

    async def lead(self, name: str) -> None:
        """Wait until this process alone may write.

        Args:
            name: What is led; all processes with this name compete for it.
        Raises: LeadRefused.
        """
        if name != self._name:
            await self._leave()
            self._join(name)
        # What it has not written goes nowhere: it is fenced by the next one.
        self._topic.drop()
        while True:
            await self._wait_for_membership()
            self._is_lost.clear()
            try:
                await call_in_thread(
                    partial(self._topic.fence, self._name, _no_deadline)
                )
            except KafkaException as error:
                self._check_refusal(error.args[0])
                logger.debug("the lead waits: Kafka says %s", error.args[0].name())
                await asyncio.sleep(_RETRY_S)
                continue
            if self._is_member.is_set():
                return

    async def read_back(
        self, is_enough: Callable[[Sequence[FeedRecord]], bool]
    ) -> list[FeedRecord]:
        """Return the last records of the topic, as many as are enough, in order.

        Args:
            is_enough: Returns whether the records up to the end are enough.
        Raises: LostLead.
        """
        try:
            return await call_in_thread(partial(self._read_back, is_enough))
        except KafkaException as error:
            raise LostLead(f"reading back: {error.args[0].name()}") from None

    async def publish(self, records: Sequence[FeedRecord]) -> None:
        """Write all records or none.

        Raises: LostLead; then they may be in the topic all the same.
        """
        if not records:
            return
        if not self._is_member.is_set():
            raise LostLead("another bridge feeds")
        if not self._topic.is_open:
            raise LostLead("nothing is led")
        written = [
            WrittenRecord(one.key.encode(), one.value, one.headers) for one in records
        ]
        try:
            await call_in_thread(partial(self._topic.write, written, _no_deadline))
        except KafkaException as error:
            self._check_refusal(error.args[0])
            raise LostLead(f"Kafka says {error.args[0].name()}") from None

    async def wait_for_loss(self, timeout_s: float) -> None:
        """Wait for so long.

        Raises: LostLead as soon as another process leads.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._is_lost.wait()
        except TimeoutError:
            return
        raise LostLead("another bridge feeds")

    async def close(self) -> None:
        """Leave the group, so that another one leads at once."""
        self._topic.close()
        await self._leave()

    def _join(self, name: str) -> None:
        self._name = name
        self._member = self._topic.make_member(
            name,
            **{
                "session.timeout.ms": SESSION_TIMEOUT_MS,
                "heartbeat.interval.ms": HEARTBEAT_MS,
                # Whoever leads goes on doing so when others come.
                "partition.assignment.strategy": "cooperative-sticky",
            },
        )
        self._member.subscribe(
            [self._topic.name], on_assign=self._begin, on_revoke=self._end
        )
        self._polling = asyncio.create_task(self._keep_membership(self._member))

    async def _leave(self) -> None:
        member, self._member = self._member, None
        if self._polling is not None:
            self._polling.cancel()
            self._polling = None
        if member is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LEAVE_S):
                    await call_in_thread(member.close)
        self._is_member.clear()

    async def _keep_membership(self, member: Consumer) -> None:
        """Let librdkafka tell of the group; nothing is consumed here."""
        while True:
            message = member.poll(0)
            error = None if message is None else message.error()
            if error is not None and error.code() in _REFUSALS:
                self._refusal = error
                self._is_member.set()
            await asyncio.sleep(_POLL_S)

    def _begin(self, member: Consumer, partitions: list[TopicPartition]) -> None:
        member.incremental_assign(partitions)
        if partitions:
            member.pause(partitions)
            self._is_member.set()

    def _end(self, member: Consumer, partitions: list[TopicPartition]) -> None:
        member.incremental_unassign(partitions)
        self._is_member.clear()
        self._is_lost.set()

    async def _wait_for_membership(self) -> None:
        await self._is_member.wait()
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            self._is_member.clear()
            await self._leave()
            self._name, name = "", self._name
            self._check_refusal(refusal, name)

    def _check_refusal(self, error: KafkaError, name: str | None = None) -> None:
        right = _REFUSALS.get(error.code())
        if right is not None:
            needed = right.format(name=name or self._name, topic=self._topic.name)
            raise LeadRefused(f"the bridge's principal needs {needed} ({error.name()})")

    def _read_back(
        self, is_enough: Callable[[Sequence[FeedRecord]], bool]
    ) -> list[FeedRecord]:
        """Read more and more of the end; runs in a thread."""
        reader = self._topic.make_reader(self._name)
        try:
            place = self._topic.at(OFFSET_BEGINNING)
            low, high = reader.get_watermark_offsets(place, timeout=_PATIENCE_S)
            window = _FIRST_WINDOW
            while True:
                start = max(low, high - window)
                records = self._read_from(reader, start, high)
                if start == low or is_enough(records):
                    return records
                window *= 2
        finally:
            reader.close()

    def _read_from(self, reader: Consumer, start: int, end: int) -> list[FeedRecord]:
        records: list[FeedRecord] = []
        if start >= end:
            return records
        reader.assign([self._topic.at(start)])
        reached = start
        # Another feed's open transaction may hold the end back, for so long.
        waits = int((_PATIENCE_S + TRANSACTION_TIMEOUT_MS / 1_000) / SLICE_S)
        while reached < end and waits and not self._topic.is_closing.is_set():
            messages = reader.consume(_FIRST_WINDOW, SLICE_S)
            waits -= not messages
            for one in messages:
                reached = _take(one, records, reached)
        if reached < end:
            raise LostLead(
                f"topic {self._topic.name} ends at {end}, read up to {reached}"
            )
        return records


def _take(message: Message, records: list[FeedRecord], reached: int) -> int:
    """Keep a record; return the offset behind what was read."""
    error, offset = message.error(), message.offset()
    if error is not None:
        if not is_end(error):
            raise KafkaException(error)
        return reached if offset is None else max(reached, offset)
    headers = tuple(
        (str(name), content if isinstance(content, bytes) else str(content).encode())
        for name, content in list(message.headers() or ())
    )
    key = (message.key() or b"").decode(errors="replace")
    records.append(FeedRecord(key, message.value() or b"", headers))
    return reached if offset is None else offset + 1


def _no_deadline() -> float:
    return math.inf
