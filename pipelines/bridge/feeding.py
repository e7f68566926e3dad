"""Wiring of the cluster's feed: who is asked, and the topic that it is written to."""

import asyncio
import logging
import time
import uuid
from collections.abc import Mapping

from pipelines.bridge.cluster.part import ClusterPart
from pipelines.bridge.operations.logs import describe_exception
from pipelines.errors import MissingService
from pipelines.feed.led_topic import FeedTopic
from pipelines.feed.part import make_feed
from pipelines.feed.records import FeedCounters
from pipelines.kafka_wire.topics import ensure_feed_topic
from pipelines.settings.cluster_settings import OFF
from pipelines.settings.loading import load_broker_configs, load_config_catalogs
from pipelines.settings.records import Settings
from pipelines.settings.rules import make_published_rules
from pipelines.settings.secret_references import SecretReader

logger = logging.getLogger(__name__)

_NS_PER_MS = 1_000_000
_RETRY_S = 5.0


def read_clock_ms() -> int:
    """Return milliseconds since 1970-01-01T00:00:00Z."""
    return time.time_ns() // _NS_PER_MS


class FeedPart:
    """One bridge's part in the feed; nothing where cluster.source is off."""

    def __init__(
        self,
        settings: Settings,
        secrets: SecretReader,
        kafka: Mapping[str, str],
        cluster: ClusterPart,
        accepted_cluster_id: str | None,
    ) -> None:
        """Read the settings; nothing is asked yet.

        Args:
            kafka: librdkafka's properties of [kafka]; the values hold secrets.
            cluster: The clients' cluster, and who follows its subscriptions.
            accepted_cluster_id: A cluster that may be fed in place of another one.
        Raises: InvalidSetting, UnresolvedSecret.
        """
        self.counters = FeedCounters()
        self.is_off = settings.cluster.source == OFF
        self._settings, self._kafka = settings, kafka
        self._is_ready = asyncio.Event()
        if self.is_off:
            return
        topic = FeedTopic(
            kafka,
            topic=settings.topics.cluster,
            client_id=settings.bridge.bridge_id,
        )
        self._feed = make_feed(
            settings,
            secrets,
            cluster.connection,
            topic,
            follower=cluster.follower,
            rules=make_published_rules(
                settings.sensitive_keys, load_config_catalogs(), load_broker_configs()
            ),
            counters=self.counters,
            accepted_cluster_id=accepted_cluster_id,
            now_ms=read_clock_ms,
            make_set_id=lambda: str(uuid.uuid4()),
        )

    async def prepare(self) -> None:
        """Find or make the topic; a bridge without it does all else.

        Raises: InvalidSetting where the topic cannot be used.
        """
        if self.is_off:
            return
        settings = self._settings
        try:
            await ensure_feed_topic(
                self._kafka,
                settings.topics.cluster,
                settings.topics,
                bridge_id=settings.bridge.bridge_id,
            )
        except MissingService as error:
            self.counters.faults["topic", "refused"] += 1
            logger.warning("the cluster is not fed: %s", error)
        else:
            self._is_ready.set()

    async def run(self) -> None:
        """Compete and feed, for ever; ends at once where nothing is fed."""
        if self.is_off:
            return
        await self._is_ready.wait()
        while True:
            try:
                await self._feed.run()
            except Exception as error:  # noqa: BLE001 - clients must not suffer from it
                self.counters.faults["feed", "unexpected"] += 1
                logger.error(  # noqa: TRY400 - its text may show what is fed
                    "unexpected error of the feed: %s", describe_exception(error)
                )
            await asyncio.sleep(_RETRY_S)

    async def close(self) -> None:
        """Let another bridge feed."""
        if not self.is_off:
            await self._feed.close()
