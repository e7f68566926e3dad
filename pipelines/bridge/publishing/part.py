"""Part of the bridge that owns the topics of pushes and their producer.

A bridge that only takes telemetry is of no use without [kafka] and does not start. A
proxy in front of another cluster carries data, which must not wait for [kafka]:
telemetry is refused until Kafka answers.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping

from prometheus_client.metrics_core import Metric

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.parts import QuietPart
from pipelines.bridge.core.records import RecordOutlet, max_record_bytes
from pipelines.bridge.exposition.groups import gauge
from pipelines.errors import MissingService
from pipelines.kafka_wire.topics import ensure_topics
from pipelines.readiness import Readiness
from pipelines.settings.records import Settings

from .health import PROOF_LASTS_S, KafkaSigns, why_not_ready
from .publisher import Publisher, producer_config

logger = logging.getLogger(__name__)

RETRY_S = 5.0
PROBE_INTERVAL_S = PROOF_LASTS_S / 3
_FLUSH_S = 1.0


def list_topics(settings: Settings) -> list[str]:
    """Return the topics that the producer writes."""
    topics, proxy = settings.topics, settings.proxy
    is_written = {
        topics.telemetry: True,
        topics.configs: settings.client_config.enabled,
        topics.wire_configs: proxy.enabled and proxy.wire_configs,
        topics.traffic: proxy.enabled and proxy.traffic_interval_ms > 0,
    }
    return [name for name, is_one in is_written.items() if is_one]


class PublishingPart(QuietPart):
    """Topics and producer of one bridge process."""

    def __init__(
        self,
        settings: Settings,
        kafka: Mapping[str, str],
        outlet: RecordOutlet,
        counters: BridgeCounters,
        *,
        max_value_bytes: int,
        is_needed: bool,
        check_login: Callable[[], Awaitable[None]],
    ) -> None:
        """Connect to nothing yet.

        Args:
            kafka: librdkafka's properties of [kafka]; the values hold secrets.
            outlet: Gets the producer.
            max_value_bytes: Size of the largest record value.
            is_needed: Whether the bridge stops if Kafka is missing.
            check_login: Raises MissingService if there is no login to Kafka.
        """
        self._settings, self._kafka = settings, kafka
        self._outlet, self._counters = outlet, counters
        self._record_bytes = max_record_bytes(max_value_bytes)
        self._is_needed, self._check_login = is_needed, check_login
        self.is_found = False
        """Whether Kafka has answered and has the topics."""
        self.publisher: Publisher | None = None
        """The producer, after prepare."""
        self._answered_s: float | None = None
        self._last_fault = ""

    async def prepare(self) -> None:
        """Find or create the topics, and open the producer.

        Raises: InvalidSetting; MissingService if Kafka is needed.
        """
        await self._find()
        self.publisher = publisher = self._open_publisher()
        if not self.is_found:
            publisher.shut()
        self._outlet.publish = publisher.publish

    async def run(self) -> None:
        """Probe Kafka again and again; find it later if it was missing."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._probe())
            group.create_task(self._find_later())

    async def close(self) -> None:
        """Give Kafka the records that are left, within _FLUSH_S."""
        if self.publisher is not None:
            await self.publisher.close(_FLUSH_S)

    async def wait_for_failure(self) -> None:
        """Wait until the producer can never publish again."""
        if self.publisher is not None:
            await self.publisher.has_failed.wait()

    @property
    def failure(self) -> MissingService | None:
        """Reason why the producer can never publish again."""
        return None if self.publisher is None else self.publisher.failure

    def refuse_waiting(self) -> None:
        """Answer all pushes that still wait for Kafka as refused."""
        if self.publisher is not None:
            self.publisher.refuse_waiting()

    def metrics(self) -> Iterable[Metric]:
        """Return the size of the records that wait, and its limit."""
        yield gauge(
            "unacknowledged_bytes",
            "Bytes of records that Kafka has not acknowledged",
            0 if self.publisher is None else self.publisher.held_bytes,
        )
        yield gauge(
            "unacknowledged_bytes_limit",
            "bridge.max_unacknowledged_bytes",
            self._settings.bridge.max_unacknowledged_bytes,
        )

    def readiness(self) -> Readiness:
        """Return whether Kafka takes pushes now."""
        publisher = self.publisher
        signs = KafkaSigns(
            answered_s=self._answered_s,
            acknowledged_s=publisher.acknowledged_s if publisher else None,
            refused_s=publisher.refused_s if publisher else None,
        )
        return Readiness(why_not_ready(signs, asyncio.get_running_loop().time()))

    async def _probe(self) -> None:
        while self.publisher is not None:
            if await self.publisher.is_answered(PROBE_INTERVAL_S):
                self._answered_s = asyncio.get_running_loop().time()
            await asyncio.sleep(PROBE_INTERVAL_S)

    async def _find(self) -> bool:
        """Find or create the topics; return whether they are there.

        Raises: MissingService if Kafka is needed.
        """
        settings = self._settings
        try:
            await self._check_login()
            await ensure_topics(
                self._kafka,
                list_topics(settings),
                settings.topics,
                bridge_id=settings.bridge.bridge_id,
                max_record_bytes=self._record_bytes,
            )
        except MissingService as error:
            if self._is_needed:
                raise
            if str(error) != self._last_fault:
                self._last_fault = str(error)
                logger.error("telemetry is refused, data passes: %s", error)  # noqa: TRY400 - its text is for operators
            return False
        self.is_found = True
        return True

    async def _find_later(self) -> None:
        if self.is_found or self.publisher is None:
            return
        is_found = False
        while not is_found:
            await asyncio.sleep(RETRY_S)
            is_found = await self._find()
        self.publisher.open()
        logger.info("the telemetry Kafka is there")

    def _open_publisher(self) -> Publisher:
        bridge = self._settings.bridge
        return Publisher(
            producer_config(
                self._kafka,
                bridge_id=bridge.bridge_id,
                publish_timeout_ms=bridge.publish_timeout_ms,
                max_record_bytes=self._record_bytes,
                max_unacknowledged_bytes=bridge.max_unacknowledged_bytes,
            ),
            topic=self._settings.topics.telemetry,
            publish_timeout_ms=bridge.publish_timeout_ms,
            max_unacknowledged_bytes=bridge.max_unacknowledged_bytes,
            counters=self._counters,
            is_revived=not self._is_needed,
        )
