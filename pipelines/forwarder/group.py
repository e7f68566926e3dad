"""Membership in the consumer group: records, partitions and offsets.

The consumer is polled while a batch is worked on, so that the group keeps it. A
rebalance changes `changes`; a batch that was begun before it is given up and read again
from the committed offsets.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Mapping

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from pipelines.errors import MissingService
from pipelines.kafka_logs import kafka_logger
from pipelines.settings.records import Settings

from .pages import Watch
from .sums import Sums

logger = logging.getLogger(__name__)
PATIENCE_S = 30.0
_POLL_S = 0.2
_MAX_UNPOLLED_S = 1.0
_MAX_RECORDS = 500
_LAG_EVERY_S = 10.0
_PROGRESS_EVERY_S = 5.0
_ASK_S = 2.0
_SILENCE = frozenset(
    {
        KafkaError._TIMED_OUT,  # noqa: SLF001 - its public name
        KafkaError._TRANSPORT,  # noqa: SLF001 - the same
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001 - the same
    }
)


class Group:
    """Member of the forwarder's consumer group."""

    def __init__(
        self,
        settings: Settings,
        connection: Mapping[str, str],
        sums: Sums | None,
        watch: Watch,
    ) -> None:
        """Create the consumer; it connects in the background.

        Args:
            connection: librdkafka's properties of [kafka]; the values hold secrets.
        """
        self.changes = 0
        """Number of rebalances so far."""
        self._settings, self._sums, self._watch = settings, sums, watch
        self._topic = settings.topics.telemetry
        self._connection = connection
        self._waiting: deque[Message] = deque()
        """Records that were read and belong to no batch yet."""
        self._polled_at_s = self._lag_at_s = 0.0
        self._consumer = Consumer(
            {
                **connection,
                "group.id": settings.forward.group_id,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "queued.max.messages.kbytes": 16_384,
            },
            logger=kafka_logger,
        )

    def join(self, stop: threading.Event) -> None:
        """Wait until Kafka answers, then subscribe.

        Raises: MissingService.
        """
        begin_s = told_s = time.monotonic()
        servers = self._settings.kafka.bootstrap_servers
        logger.info("Connecting to Kafka: bootstrap_servers=%s", servers)
        while not stop.is_set():
            try:
                self._consumer.list_topics(self._topic, timeout=_MAX_UNPOLLED_S)
                break
            except KafkaException as error:
                # Hands over what librdkafka has logged meanwhile.
                self._consumer.poll(_POLL_S)
                now_s, cause = time.monotonic(), error.args[0]
                is_over = now_s >= begin_s + PATIENCE_S
                if is_over or cause.code() not in _SILENCE:
                    raise _no_kafka(self._settings, error) from None
                if now_s >= told_s + _PROGRESS_EVERY_S:
                    told_s = now_s
                    logger.warning(
                        "Waiting for Kafka: bootstrap_servers=%s reason=%s "
                        "waited_s=%.0f limit_s=%.0f",
                        servers, cause.name(), now_s - begin_s, PATIENCE_S,
                    )  # fmt: skip
        self._consumer.subscribe(
            [self._topic], on_assign=self._assign, on_revoke=self._revoke
        )

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()

    def _assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.changes += 1
        self._waiting.clear()
        if self._sums is not None and partitions:
            partitions = self._find_places(consumer, partitions, self._sums)
        consumer.assign(partitions)
        # A pause outlives a rebalance.
        consumer.resume(partitions)

    def _find_places(
        self, consumer: Consumer, partitions: list[TopicPartition], sums: Sums
    ) -> list[TopicPartition]:
        """Return partitions with the offset at which their sums continue."""
        try:
            topic_id = self._read_topic_id()
            committed = consumer.committed(partitions, PATIENCE_S)
        except KafkaException as error:
            raise _no_kafka(self._settings, error) from None
        for one in committed:
            place = sums.open_partition(
                one.partition, one.offset if one.offset >= 0 else None, topic_id
            )
            one.offset = OFFSET_BEGINNING if place is None else place
        return committed

    def _read_topic_id(self) -> str:
        """Return the ID of the topic, which a recreated topic does not share."""
        admin = AdminClient(dict(self._connection), logger=kafka_logger)
        wanted, deadline_s = TopicCollection([self._topic]), time.monotonic() + _ASK_S
        while True:
            asked = admin.describe_topics(wanted, request_timeout=PATIENCE_S)
            try:
                return str(asked[self._topic].result().topic_id)
            except KafkaException as error:
                # The broker may not know yet a topic that was just created.
                is_new = error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
                if not is_new or time.monotonic() >= deadline_s:
                    raise
                time.sleep(_POLL_S)

    def _revoke(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.changes += 1
        self._waiting.clear()
        if self._sums is not None:
            for one in partitions:
                self._sums.close_partition(one.partition)

    def read(self) -> None:
        """Poll; read records where none are waiting."""
        # A rebalance during the call does not concern the records that it returns.
        if not self._waiting:
            self._waiting.extend(self._consumer.consume(_MAX_RECORDS, _POLL_S))
        elif self.is_poll_due:
            self._keep(self._consumer.poll(0))
        else:
            return
        self._polled_at_s = time.monotonic()

    def _keep(self, message: Message | None) -> None:
        if message is not None:
            self._waiting.append(message)

    @property
    def is_poll_due(self) -> bool:
        """Whether the consumer was not polled for a while."""
        return time.monotonic() >= self._polled_at_s + _MAX_UNPOLLED_S

    def take(self) -> Message | None:
        """Return the next record that was read; None where there is none."""
        while self._waiting:
            message = self._waiting.popleft()
            error = message.error()
            if error is None:
                return message
            logger.warning("Kafka reports %s", error.name())
        return None

    def stay(self, pause_s: float, changes: int, stop: threading.Event) -> bool:
        """Stay in the group without reading for a while.

        Returns: False where a rebalance or the end of the process ends the batch.
        """
        deadline = time.monotonic() + pause_s
        assigned = self._consumer.assignment()
        self._consumer.pause(assigned)
        try:
            while not stop.is_set():
                left_s = deadline - time.monotonic()
                self._keep(self._consumer.poll(min(max(left_s, 0), _POLL_S)))
                if self.changes != changes:
                    return False
                self._watch.turn()
                self.note_lag()
                if left_s <= 0:
                    return True
        finally:
            self._consumer.resume(assigned)
        return False

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Commit the next offset of each partition."""
        places = [TopicPartition(self._topic, *one) for one in offsets.items()]
        try:
            self._consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as error:
            # The new owner of the partitions sends these records again.
            logger.warning("Committing offsets failed: %s", error.args[0].name())

    def note_lag(self) -> None:
        """Measure, every few seconds, how many records are not committed yet."""
        if time.monotonic() < self._lag_at_s + _LAG_EVERY_S:
            return
        lag = 0
        try:
            for one in self._consumer.committed(self._consumer.assignment(), _ASK_S):
                low, high = self._consumer.get_watermark_offsets(one, _ASK_S)
                lag += max(high - max(one.offset, low), 0)
        except KafkaException as error:
            logger.warning("Measuring the lag failed: %s", error.args[0].name())
        else:
            self._watch.lag.set(lag)
        self._lag_at_s = time.monotonic()


def _no_kafka(settings: Settings, error: KafkaException) -> MissingService:
    return MissingService(
        f"no Kafka answers at kafka.bootstrap_servers = "
        f"{settings.kafka.bootstrap_servers} ({error.args[0].name()}); start it, or "
        "set the key"
    )
