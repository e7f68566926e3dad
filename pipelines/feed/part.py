"""Part of a process that exports cluster metadata: settings in, one competitor out."""

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.metrics_core import Metric

from pipelines.errors import InvalidSetting, MissingService, describe_exception
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.cluster_requests import Resources
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.kafka_wire.topics import ensure_feed_topic
from pipelines.readiness import READY, Readiness
from pipelines.settings.clients_cluster import find_clients_cluster
from pipelines.settings.cluster_settings import METADATA_LOG, OFF
from pipelines.settings.kafka import (
    CONTROLLER_PREFIX,
    controller_settings,
    publisher_config,
)
from pipelines.settings.loading import load_broker_configs, load_config_catalogs
from pipelines.settings.records import Settings
from pipelines.settings.rules import make_published_rules
from pipelines.settings.secret_references import SecretReader
from udfs.cluster.published_records import PublishedRules

from .admin_source import AdminSource
from .connections import BrokerLinks, ControllerLinks
from .led_topic import FeedTopic
from .log_source import LogSource
from .looks import AdminLooks, Faults, TakesSubscriptions
from .metrics import feed_metrics
from .records import FeedCounters
from .running import ClusterFeed, FeedSource

logger = logging.getLogger(__name__)

_RETRY_S = 5.0
_KEY_PREFIX = f"cluster.{CONTROLLER_PREFIX}"


class _Nobody:
    """Follower of the subscriptions where there is none."""

    is_told: bool = False

    def take(self, _resources: Resources) -> None:
        """Do nothing with them."""

    def take_fault(self, _fault: ClusterFault) -> None:
        """Do nothing with it."""


class FeedPart:
    """Export of cluster metadata by one process; does nothing if the source is off."""

    def __init__(
        self,
        settings: Settings,
        secrets: SecretReader,
        *,
        kafka: Mapping[str, str],
        connection: Mapping[str, str],
        now_ms: Callable[[], int],
        follower: TakesSubscriptions | None = None,
        accepted_cluster_id: str | None = None,
        is_kafka_found: Callable[[], bool] = lambda: True,
    ) -> None:
        """Read the settings; no request is sent yet.

        Args:
            kafka: librdkafka's properties of [kafka]; the values hold secrets.
            connection: The same of the clients' cluster.
            now_ms: Milliseconds since 1970-01-01T00:00:00Z.
            follower: Follows the subscriptions of that cluster; None if nobody does.
            accepted_cluster_id: Cluster that may replace another one at its address.
            is_kafka_found: Returns whether [kafka] answers; asked by prepare.
        Raises: InvalidSetting, UnresolvedSecret.
        """
        self.counters = FeedCounters()
        self.is_off = settings.cluster.source == OFF
        self._settings, self._kafka = settings, kafka
        self._is_kafka_found = is_kafka_found
        self._has_topic = False
        self._last_fault = ""
        if self.is_off:
            return
        topic = FeedTopic(
            kafka, topic=settings.topics.cluster, client_id=settings.bridge.bridge_id
        )
        self._feed = ClusterFeed(
            self._make_source(secrets, connection, follower),
            topic,
            topic_name=settings.topics.cluster,
            servers=connection["bootstrap.servers"],
            accepted_cluster_id=accepted_cluster_id,
            counters=self.counters,
            now_ms=now_ms,
            make_set_id=lambda: str(uuid.uuid4()),
        )

    async def prepare(self) -> None:
        """Find or create the topic; run repeats this if Kafka does not allow it.

        Raises: InvalidSetting if the topic cannot be used.
        """
        if self.is_off or not self._is_kafka_found():
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
            self._note_refused(error)
        else:
            self._has_topic = True

    async def run(self) -> None:
        """Compete for the topic and export, until cancelled."""
        if self.is_off:
            return
        while not self._has_topic:
            await asyncio.sleep(_RETRY_S)
            try:
                await self.prepare()
            except InvalidSetting as error:
                self._note_refused(error)
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
        """Let another process export."""
        if not self.is_off:
            await self._feed.close()

    def handlers(self) -> tuple[()]:
        """Answer no API."""
        return ()

    def metrics(self) -> Iterator[Metric]:
        """Return the counts of the export."""
        return feed_metrics(self.counters)

    def readiness(self) -> Readiness:
        """Be ready at all times: clients do not depend on the export."""
        return READY

    def _note_refused(self, error: InvalidSetting | MissingService) -> None:
        self.counters.faults["topic", "refused"] += 1
        if str(error) != self._last_fault:
            self._last_fault = str(error)
            logger.warning("the cluster is not fed: %s", error)

    def _make_source(
        self,
        secrets: SecretReader,
        connection: Mapping[str, str],
        follower: TakesSubscriptions | None,
    ) -> FeedSource:
        settings = self._settings
        rules = make_published_rules(
            settings.sensitive_keys, load_config_catalogs(), load_broker_configs()
        )
        links = BrokerLinks(
            read_access(connection, key_name=find_clients_cluster(settings).key_name),
            client_id=settings.bridge.bridge_id,
        )
        if settings.cluster.source == METADATA_LOG:
            return LogSource(
                links,
                _make_controller_links(settings, secrets),
                rules=rules,
                full_set_ms=settings.cluster.full_set_ms,
                faults=Faults(self.counters),
            )
        told = follower or _Nobody()
        looks = AdminLooks(
            links,
            security_protocol=connection["security.protocol"],
            configs_poll_ms=settings.cluster.configs_poll_ms,
            subscriptions=told,
            counters=self.counters,
        )
        return _make_admin_source(settings, looks, told, rules, links.close)


def _make_controller_links(
    settings: Settings, secrets: SecretReader
) -> ControllerLinks:
    if not settings.cluster.controller_servers:
        raise InvalidSetting(
            "cluster.source is metadata_log: it needs cluster.controller_servers"
        )
    connection = publisher_config(
        controller_settings(settings.cluster), secrets, key_prefix=_KEY_PREFIX
    )
    access = read_access(connection, key_name=_name_controller_key)
    return ControllerLinks(access, client_id=settings.bridge.bridge_id)


def _name_controller_key(name: str) -> str:
    """Return the key of conf/ that holds a property of librdkafka."""
    key = name.replace(".", "_").replace("bootstrap_servers", "servers")
    return f"{_KEY_PREFIX}{key}"


def _make_admin_source(
    settings: Settings,
    looks: AdminLooks,
    told: TakesSubscriptions,
    rules: PublishedRules,
    close: Callable[[], None],
) -> AdminSource:
    cluster, followed_ms = settings.cluster, settings.bridge.subscriptions_poll_ms
    is_followed = not isinstance(told, _Nobody)

    def tell(is_told: bool) -> None:  # noqa: FBT001 - of one state
        told.is_told = is_told

    return AdminSource(
        looks,
        rules=rules,
        # One look serves both, so it is as often as the more frequent of them.
        poll_ms=min(cluster.poll_ms, followed_ms) if is_followed else cluster.poll_ms,
        full_set_ms=cluster.full_set_ms,
        tell=tell,
        close=close,
    )
