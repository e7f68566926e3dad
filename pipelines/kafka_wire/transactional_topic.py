"""A topic of one partition that a fixed transactional ID writes.

Strategy: a producer fences the one that had its transactional ID before, also if that
one is still alive, and ends the transaction that it left open. A transaction is written
whole or not at all; after an error only a read of the topic shows which.
All methods wait, so they run in threads; their calls of librdkafka end soon, so that a
process can stop.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from pipelines.kafka_logs import kafka_logger

from .records import WrittenRecord
from .topics import unusable_settings

SLICE_S = 1.0
"""Longest call that waits in a thread."""
_SHORTEST_SLICE_S = 0.2
_ROOM_S = 0.2
"""Longest wait for room in the queue of the producer, before the next attempt."""
_PARTITION = 0

LeftS = Callable[[], float]
"""Returns the seconds that are left for a call."""


class TransactionalTopic:
    """Reader and writer of one topic; the writer is open after fence."""

    def __init__(
        self,
        connection: Mapping[str, str],
        *,
        name: str,
        client_id: str,
        transaction_timeout_ms: int,
    ) -> None:
        """Connect to nothing yet.

        Args:
            connection: librdkafka's properties of [kafka]; the values hold secrets.
            transaction_timeout_ms: How long readers wait for an abandoned transaction.
        """
        self.name = name
        self._common: dict[str, Any] = {
            **connection,
            "client.id": client_id,
            "enable.metrics.push": False,
        }
        self._transaction_timeout_ms = transaction_timeout_ms
        self._producer: Producer | None = None
        self.is_closing = threading.Event()

    @property
    def is_open(self) -> bool:
        """Whether there is a producer."""
        return self._producer is not None

    def fence(self, transactional_id: str, left_s: LeftS) -> None:
        """Open a producer that alone may write. Raises: KafkaException."""
        producer = self._make(
            Producer,
            {
                "transactional.id": transactional_id,
                "transaction.timeout.ms": self._transaction_timeout_ms,
                "linger.ms": 5,
            },
        )
        self._repeat(producer.init_transactions, left_s)
        self._producer = producer

    def write(self, records: Iterable[WrittenRecord], left_s: LeftS) -> int:
        """Write all records in one transaction; return the offset of the last.

        Raises: KafkaException; then they may be in the topic all the same.
        """
        producer = self._producer
        if producer is None:
            raise KafkaException(KafkaError(KafkaError._FENCED))  # noqa: SLF001 - its public name
        offsets: list[int] = []

        def note(_error: KafkaError | None, message: Message) -> None:
            offset = message.offset()
            if offset is not None:
                offsets.append(offset)

        producer.begin_transaction()
        for one in records:
            self._produce(producer, one, note)
        self._repeat(producer.commit_transaction, left_s)
        return max(offsets)

    def drop(self) -> None:
        """Give the producer up; the next one aborts its open transaction."""
        self._producer = None

    def close(self) -> None:
        """Let all calls end soon."""
        self.is_closing.set()
        self.drop()

    def make_reader(self, group_id: str, **properties: Any) -> Consumer:  # noqa: ANN401 - librdkafka's
        """Return a consumer of committed records, without a position."""
        config = {
            "group.id": group_id,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            **properties,
        }
        reader: Consumer = self._make(Consumer, config)
        return reader

    def make_member(self, group_id: str, **properties: Any) -> Consumer:  # noqa: ANN401 - librdkafka's
        """Return a consumer that is a member of a group and reads nothing."""
        config = {"group.id": group_id, "enable.auto.commit": False, **properties}
        member: Consumer = self._make(Consumer, config)
        return member

    def at(self, offset: int) -> TopicPartition:
        """Return a position in the topic."""
        return TopicPartition(self.name, _PARTITION, offset)

    def _make(self, kind: type[Any], config: Mapping[str, Any]) -> Any:  # noqa: ANN401 - one of librdkafka's
        try:
            return kind({**self._common, **config}, logger=kafka_logger)
        except KafkaException as error:
            raise unusable_settings(error) from None

    def _produce(
        self,
        producer: Producer,
        record: WrittenRecord,
        note: Callable[[KafkaError | None, Message], None],
    ) -> None:
        while True:
            try:
                producer.produce(
                    self.name,
                    record.value,
                    record.key,
                    partition=_PARTITION,
                    headers=list(record.headers),
                    on_delivery=note,
                )
            except BufferError:
                producer.poll(_ROOM_S)
            else:
                return

    def _repeat(self, call: Callable[[float], object], left_s: LeftS) -> None:
        """Call until it is done, as long as librdkafka allows another attempt."""
        while True:
            try:
                call(min(SLICE_S, max(left_s(), _SHORTEST_SLICE_S)))
            except KafkaException as error:
                is_over = self.is_closing.is_set() or left_s() <= 0
                if is_over or not error.args[0].retriable():
                    raise
            else:
                return


def is_end(error: KafkaError) -> bool:
    """Return whether an error only reports the end of the partition."""
    return error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001 - its public name
