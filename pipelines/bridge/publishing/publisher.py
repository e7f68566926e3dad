"""The only confluent-kafka producer: records in, acknowledgements out.

Strategy: librdkafka's threads send; the event loop asks for its reports every few
milliseconds while something waits for Kafka, and takes all that are there at once. A
thread that waited for them would cost more than it does: each report would pass the
interpreter's lock from one thread to the other. Nothing here blocks the loop. What
waits for Kafka is bounded in bytes; past the bound, and past publish_timeout_ms, a push
is refused at once. Kafka may take a refused record after all; that is counted.
"""

import asyncio
import itertools
import logging
import threading
from collections.abc import Mapping
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.records import Acknowledge, Record
from pipelines.errors import MissingService
from pipelines.kafka_logs import kafka_logger
from pipelines.kafka_wire.topics import unusable_settings

_SHORTEST_DELIVERY_TIMEOUT_MS = 1_000


def producer_config(
    connection: Mapping[str, str],
    *,
    bridge_id: str,
    publish_timeout_ms: int,
    max_record_bytes: int,
    max_unacknowledged_bytes: int,
) -> dict[str, str | int | bool]:
    """Return librdkafka's properties; the values of connection hold secrets.

    Source: librdkafka CONFIGURATION.md.
    """
    return {
        **connection,
        "client.id": bridge_id,
        "acks": "all",
        "enable.idempotence": True,
        # A bridge that pushes about itself to itself would never be quiet.
        "enable.metrics.push": False,
        # Java's partitioner, so that other tools find a key where they look for it.
        "partitioner": "murmur2_random",
        "linger.ms": 2,
        "delivery.timeout.ms": max(publish_timeout_ms, _SHORTEST_DELIVERY_TIMEOUT_MS),
        "message.max.bytes": max_record_bytes,
        # The bound is ours and stands before librdkafka's.
        "queue.buffering.max.messages": 0,
        "queue.buffering.max.kbytes": 2 * max_unacknowledged_bytes // 1_024 + 1_024,
    }


logger = logging.getLogger(__name__)

POLL_S = 0.002
"""Between two looks for reports while Kafka answers."""
LONGEST_POLL_S = 0.05
"""Between two looks while Kafka answers nothing."""
REVIVE_S = 5.0
"""Between a producer that Kafka has refused for good and the next one."""
_PURGE_S = 0.1
"""The loop waits so long for what librdkafka says of records that it gives up."""
IDLE_POLL_S = 0.5
"""Between two looks while nothing waits: librdkafka may still tell of an error."""
_MS = 1_000


class Publisher:
    """Writes records to their topics; lives and is called in one event loop."""

    def __init__(
        self,
        config: Mapping[str, str | int | bool],
        *,
        topic: str,
        publish_timeout_ms: int,
        max_unacknowledged_bytes: int,
        counters: BridgeCounters,
        is_revived: bool = False,
    ) -> None:
        """Connect, as soon as Kafka is there.

        Args:
            config: librdkafka's properties; the values hold secrets.
            topic: Where records without a topic go.
            publish_timeout_ms: A record without an answer is refused then.
            max_unacknowledged_bytes: Of all records that wait.
            is_revived: Whether another producer follows one that Kafka has refused for
                good; otherwise has_failed is set then.
        Raises: InvalidSetting.
        """
        self._loop = asyncio.get_running_loop()
        self.has_failed = asyncio.Event()
        self.failure: MissingService | None = None
        """Why the producer can never publish again."""
        self._topic = topic
        self._publish_timeout_s = publish_timeout_ms / _MS
        self._max_bytes = self._own_max_bytes = max_unacknowledged_bytes
        self._counters = counters
        self.held_bytes = 0
        """Bytes of records that Kafka has neither taken nor refused."""
        self.aside_bytes = 0
        """Of these, bytes of records that say nothing of the others."""
        self.acknowledged_s: float | None = None
        """Time of the loop at Kafka's last acknowledgement."""
        self.refused_s: float | None = None
        """Time of the loop when Kafka last did not acknowledge in time, or refused."""
        self._latency = counters.publish_latency
        self._last_ticket = 0
        self._waiting: dict[int, tuple[Acknowledge, float]] = {}
        """Whom to tell of each record that is not aside, by its ticket, and when it was
        sent. The oldest is the first."""
        self._timer: asyncio.TimerHandle | None = None
        self._poll_pause_s = IDLE_POLL_S
        self._poll_timer: asyncio.TimerHandle | None = None
        self._polled_s = self._loop.time()
        self._last_failure = self._last_aside_failure = ""
        self._is_revived = is_revived
        self._revival: asyncio.TimerHandle | None = None
        self._is_letting_go = False
        """Whether reports of a producer come that has another one after it."""
        self._config = {**config, "error_cb": self._note_error}
        try:
            self._producer = Producer(self._config, logger=kafka_logger)
        except KafkaException as error:
            raise unusable_settings(error) from None
        self._poll_later(IDLE_POLL_S)

    def publish(self, record: Record, acknowledge: Acknowledge) -> None:
        """Write one record; acknowledge is called once with whether Kafka has it."""
        size_bytes = record.size_bytes
        if self.held_bytes + size_bytes > self._max_bytes:
            self._refuse_overflow(record, acknowledge)
            return
        now_s = self._loop.time()
        ticket = self._last_ticket = self._last_ticket + 1
        try:
            self._producer.produce(
                record.topic or self._topic,
                record.value,
                record.key,
                on_delivery=partial(self._report_aside, record, acknowledge)
                if record.is_aside
                else partial(self._report, ticket, size_bytes, now_s),
                timestamp=record.timestamp_ms,
                headers=record.headers,
            )
        except BufferError:
            self._refuse_overflow(record, acknowledge)
            return
        except KafkaException as error:
            if record.is_aside:
                self._count_aside_failure(record.topic, error.args[0])
            else:
                self._count_failure(error.args[0])
            acknowledge(False)
            return
        self.held_bytes += size_bytes
        if record.is_aside:
            self.aside_bytes += size_bytes
        else:
            self._waiting[ticket] = acknowledge, now_s
        if self._timer is None:
            self._set_timer()
        if self._poll_pause_s > LONGEST_POLL_S:
            self._poll_later(POLL_S)

    def shut(self) -> None:
        """Refuse every record, until open is called."""
        self._max_bytes = -1

    def open(self) -> None:
        """Take records again."""
        self._max_bytes = self._own_max_bytes

    @property
    def waits_since_s(self) -> float | None:
        """Time of the loop when the oldest record was sent that has no answer."""
        if not self._waiting:
            return None
        return next(iter(self._waiting.values()))[1]

    def refuse_waiting(self) -> None:
        """Answer all that still waits for Kafka as refused, but for records aside."""
        waiting, self._waiting = self._waiting, {}
        self._counters.publish_timeouts += len(waiting)
        for acknowledge, _ in waiting.values():
            acknowledge(False)

    async def close(self, timeout_s: float) -> None:
        """Give Kafka what is left, for so long."""
        deadline_s = self._loop.time() + timeout_s
        try:
            while len(self._producer) and self._loop.time() < deadline_s:
                self._producer.poll(0)
                await asyncio.sleep(POLL_S)
        finally:
            # Also when this task is cancelled: what is still there goes nowhere;
            # without this, librdkafka waits for it.
            self._producer.purge()
            self._producer.poll(0)
            for timer in (self._timer, self._poll_timer, self._revival):
                if timer is not None:
                    timer.cancel()

    def _poll_later(self, pause_s: float) -> None:
        if self._poll_timer is not None:
            self._poll_timer.cancel()
        self._poll_pause_s = pause_s
        self._poll_timer = self._loop.call_later(pause_s, self._poll)

    def _poll(self) -> None:
        """Take the reports that are there; look again soon while some are missing."""
        self._polled_s = self._loop.time()
        self._poll_timer = None
        taken = 1
        try:
            taken = self._producer.poll(0)
        finally:
            # Whatever an answer raised: the others must be heard.
            if not self.held_bytes:
                self._poll_later(IDLE_POLL_S)
            elif taken:
                self._poll_later(POLL_S)
            else:
                self._poll_later(min(2 * self._poll_pause_s, LONGEST_POLL_S))

    def _report(
        self,
        ticket: int,
        size_bytes: int,
        sent_s: float,
        error: KafkaError | None,
        _message: Message,
    ) -> None:
        """Answer one record; runs in the event loop, within a poll."""
        self.held_bytes -= size_bytes
        waiting = self._waiting.pop(ticket, None)
        if error is None:
            self.acknowledged_s = polled_s = self._polled_s
            self._latency.add(polled_s - sent_s)
            if waiting is None:
                self._counters.late_acknowledgements += 1
            else:
                waiting[0](True)
        elif waiting is not None:
            waiting[0](False)
            self._count_failure(error)

    def _refuse_overflow(self, record: Record, acknowledge: Acknowledge) -> None:
        if record.is_aside:
            self._counters.aside_record_failures += 1
        else:
            self._counters.publish_overflows += 1
        acknowledge(False)

    def _report_aside(
        self,
        record: Record,
        acknowledge: Acknowledge,
        error: KafkaError | None,
        _message: Message,
    ) -> None:
        """Answer a record whose fate says nothing of the others."""
        self.held_bytes -= record.size_bytes
        self.aside_bytes -= record.size_bytes
        acknowledge(error is None)
        if error is not None:
            self._count_aside_failure(record.topic, error)

    def _set_timer(self) -> None:
        if self._timer is None and self._waiting:
            _, sent_s = next(iter(self._waiting.values()))
            self._timer = self._loop.call_at(
                sent_s + self._publish_timeout_s, self._refuse_overdue
            )

    def _refuse_overdue(self) -> None:
        """Refuse what is overdue; all wait equally long, so the oldest is first."""
        self._timer = None
        now_s = self._loop.time()
        latest_s = now_s - self._publish_timeout_s
        overdue = list(
            itertools.takewhile(
                lambda one: one[1][1] <= latest_s, self._waiting.items()
            )
        )
        for ticket, (acknowledge, _) in overdue:
            # An answer may have made others refuse all that wait.
            if self._waiting.pop(ticket, None) is not None:
                self._counters.publish_timeouts += 1
                self.refused_s = now_s
                acknowledge(False)
        self._set_timer()

    async def is_answered(self, timeout_s: float) -> bool:
        """Ask Kafka about the topic; False without an answer in time."""
        try:
            answer = await asyncio.to_thread(
                self._producer.list_topics, self._topic, timeout_s
            )
        except KafkaException:
            return False
        topic = answer.topics.get(self._topic)
        return topic is not None and topic.error is None

    def _count_failure(self, error: KafkaError) -> None:
        self.refused_s = self._loop.time()
        if error.code() == KafkaError._MSG_TIMED_OUT:  # noqa: SLF001 - its public name
            self._counters.publish_timeouts += 1
            return
        self._counters.publish_failures += 1
        self._warn_once(error)
        if error.fatal():
            self._fail(error)

    def _warn_once(self, error: KafkaError) -> None:
        """Say why pushes are refused, each time that it is another reason."""
        if error.name() != self._last_failure:
            self._last_failure = error.name()
            logger.warning("pushes are refused: Kafka says %s", error.name())

    def _count_aside_failure(self, topic: str | None, error: KafkaError) -> None:
        self._counters.aside_record_failures += 1
        if error.name() != self._last_aside_failure:
            self._last_aside_failure = error.name()
            logger.warning("topic %s: Kafka says %s", topic, error.name())
        if error.fatal():
            self._fail(error)

    def _note_error(self, error: KafkaError) -> None:
        """Note a fatal error; librdkafka logs the others."""
        if error.fatal():
            self._fail(error)

    def _fail(self, error: KafkaError) -> None:
        self.refused_s = self._loop.time()
        if self._is_revived:
            self._warn_once(error)
            if self._revival is None and not self._is_letting_go:
                self._revival = self._loop.call_later(REVIVE_S, self._revive)
            return
        self.failure = MissingService(
            f"Kafka refuses this producer for good ({error.name()}): check its "
            f"permissions on topic {self._topic} and start again"
        )
        self.has_failed.set()

    def _revive(self) -> None:
        """Go on with another producer; what the old one still holds is refused."""
        old = [self._producer]
        old[0].purge()
        self._let_go(old, _PURGE_S)
        self.refuse_waiting()
        self._producer = Producer(self._config, logger=kafka_logger)
        self._revival = None

    def _let_go(self, old: list[Producer], wait_s: float = 0) -> None:
        """Answer what an old producer gives up, in turns of the loop; destroy it then.

        Its destruction reports nothing: a record aside that is not answered here would
        never be.
        """
        self._is_letting_go = True
        try:
            old[0].flush(wait_s)
        except Exception as error:  # noqa: BLE001 - of one answer; the others go on
            name = type(error).__name__
            logger.warning("Answering a refused record failed: %s", name)
        finally:
            self._is_letting_go = False
        if len(old[0]):
            self._loop.call_later(POLL_S, self._let_go, old)
            return
        # Its threads are waited for where nobody else waits.
        threading.Thread(target=old.clear, daemon=True).start()
