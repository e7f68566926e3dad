"""The only confluent-kafka producer: records in, acknowledgements out.

Strategy: librdkafka's threads send; one thread of ours serves its events and hands
the outcomes of a whole poll to the event loop in one call. Nothing here blocks the
loop. What waits for Kafka is bounded in bytes; past the bound, and past
publish_timeout_ms, a push is refused at once. Kafka may take a refused record after
all; that is counted.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Mapping
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pipelines.errors import MissingService

from .counters import BridgeCounters
from .handlers import Acknowledge
from .records import TelemetryRecord
from .topics import unusable_settings

logger = logging.getLogger(__name__)

POLL_S = 0.1
_SHORTEST_DELIVERY_TIMEOUT_MS = 1_000
_MS = 1_000


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


class _Waiting:
    """One record that Kafka has not acknowledged."""

    __slots__ = ("acknowledge", "deadline_s", "size_bytes")

    def __init__(
        self, acknowledge: Acknowledge, deadline_s: float, size_bytes: int
    ) -> None:
        self.acknowledge: Acknowledge | None = acknowledge
        self.deadline_s = deadline_s
        self.size_bytes = size_bytes

    def answer(self, *, is_stored: bool) -> bool:
        """Say the outcome once; False when it has been said before."""
        acknowledge, self.acknowledge = self.acknowledge, None
        if acknowledge is None:
            return False
        acknowledge(is_stored)
        return True


class Publisher:
    """Writes records to one topic; lives and is called in one event loop."""

    def __init__(
        self,
        config: Mapping[str, str | int | bool],
        *,
        topic: str,
        publish_timeout_ms: int,
        max_unacknowledged_bytes: int,
        counters: BridgeCounters,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.has_failed = asyncio.Event()
        self.failure: MissingService | None = None
        """Why the producer can never publish again."""
        self._topic = topic
        self._publish_timeout_s = publish_timeout_ms / _MS
        self._max_bytes = max_unacknowledged_bytes
        self._counters = counters
        self._held_bytes = 0
        self._waiting: deque[_Waiting] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._reports: deque[tuple[_Waiting, KafkaError | None]] = deque()
        self._is_wake_due = False
        self._last_failure = ""
        self._is_closing = threading.Event()
        try:
            self._producer = Producer(
                {**config, "error_cb": self._note_error}, logger=logger
            )
        except KafkaException as error:
            raise unusable_settings(error) from None
        self._thread = threading.Thread(
            target=self._poll, name="publisher", daemon=True
        )
        self._thread.start()

    def publish(self, record: TelemetryRecord, acknowledge: Acknowledge) -> None:
        """Write one record; acknowledge is called once with whether Kafka has it."""
        size_bytes = record.size_bytes
        if self._held_bytes + size_bytes > self._max_bytes:
            self._counters.publish_overflows += 1
            acknowledge(False)
            return
        deadline_s = self._loop.time() + self._publish_timeout_s
        waiting = _Waiting(acknowledge, deadline_s, size_bytes)
        try:
            self._producer.produce(
                self._topic,
                key=record.key,
                value=record.value,
                headers=list(record.headers),
                timestamp=record.timestamp_ms,
                on_delivery=partial(self._report, waiting),
            )
        except BufferError:
            self._counters.publish_overflows += 1
            waiting.answer(is_stored=False)
            return
        except KafkaException as error:
            self._count_failure(error.args[0])
            waiting.answer(is_stored=False)
            return
        self._held_bytes += size_bytes
        self._waiting.append(waiting)
        self._set_timer()

    def refuse_waiting(self) -> None:
        """Answer everything that still waits for Kafka as refused."""
        for waiting in list(self._waiting):
            if waiting.answer(is_stored=False):
                self._counters.publish_timeouts += 1
        self._waiting.clear()

    async def close(self, timeout_s: float) -> None:
        """Give Kafka what is left, for so long, and end the thread."""
        try:
            await asyncio.to_thread(self._producer.flush, timeout_s)
        finally:
            # Also when this task is cancelled: the thread must not outlive the loop.
            self._is_closing.set()
            self._thread.join()
            self._take_reports()
            if self._timer is not None:
                self._timer.cancel()
            # What is still there goes nowhere; without this, librdkafka waits for it.
            self._producer.purge()
            self._producer.poll(0)

    def _poll(self) -> None:
        while not self._is_closing.is_set():
            self._producer.poll(POLL_S)
            if self._reports and not self._is_wake_due:
                self._is_wake_due = True
                self._loop.call_soon_threadsafe(self._take_reports)

    def _report(
        self, waiting: _Waiting, error: KafkaError | None, _message: Message
    ) -> None:
        """Keep one delivery report; runs in the thread that polls."""
        self._reports.append((waiting, error))

    def _take_reports(self) -> None:
        # Before the reports are taken: one that comes meanwhile wakes us again.
        self._is_wake_due = False
        while self._reports:
            waiting, error = self._reports.popleft()
            self._held_bytes -= waiting.size_bytes
            is_in_time = waiting.answer(is_stored=error is None)
            if error is not None and is_in_time:
                self._count_failure(error)
            elif error is None and not is_in_time:
                self._counters.late_acknowledgements += 1
        while self._waiting and self._waiting[0].acknowledge is None:
            self._waiting.popleft()

    def _set_timer(self) -> None:
        if self._timer is None and self._waiting:
            self._timer = self._loop.call_at(
                self._waiting[0].deadline_s, self._refuse_overdue
            )

    def _refuse_overdue(self) -> None:
        """Refuse what is overdue; all wait equally long, so the oldest is first."""
        self._timer = None
        now_s = self._loop.time()
        while self._waiting and (
            self._waiting[0].acknowledge is None or self._waiting[0].deadline_s <= now_s
        ):
            if self._waiting.popleft().answer(is_stored=False):
                self._counters.publish_timeouts += 1
        self._set_timer()

    def _count_failure(self, error: KafkaError) -> None:
        if error.code() == KafkaError._MSG_TIMED_OUT:  # noqa: SLF001 - its public name
            self._counters.publish_timeouts += 1
            return
        self._counters.publish_failures += 1
        if error.name() != self._last_failure:
            self._last_failure = error.name()
            logger.warning("pushes are refused: Kafka says %s", error.name())
        if error.fatal():
            self._fail(error)

    def _note_error(self, error: KafkaError) -> None:
        """Note a fatal error; librdkafka logs the others. In the polling thread."""
        if error.fatal():
            self._loop.call_soon_threadsafe(self._fail, error)

    def _fail(self, error: KafkaError) -> None:
        self.failure = MissingService(
            f"Kafka refuses this producer for good ({error.name()}): check its "
            f"permissions on topic {self._topic} and start again"
        )
        self.has_failed.set()
