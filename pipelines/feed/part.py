"""Wiring of the feed: settings in, one that competes for the topic."""

from collections.abc import Callable, Mapping

from pipelines.errors import InvalidSetting
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.cluster_requests import Resources
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.settings.clients_cluster import find_clients_cluster
from pipelines.settings.cluster_settings import METADATA_LOG
from pipelines.settings.kafka import (
    CONTROLLER_PREFIX,
    controller_settings,
    publisher_config,
)
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader
from udfs.cluster.published_records import PublishedRules

from .admin_source import AdminSource
from .connections import BrokerLinks, ControllerLinks
from .log_source import LogSource
from .looks import AdminLooks, Faults, TakesSubscriptions
from .records import FeedCounters, LedTopic
from .running import ClusterFeed, FeedSource

_KEY_PREFIX = f"cluster.{CONTROLLER_PREFIX}"


class _Nobody:
    """Who does not follow subscriptions."""

    is_told: bool = False

    def take(self, _resources: Resources) -> None:
        """Nothing is done with them."""

    def take_fault(self, _fault: ClusterFault) -> None:
        """Nothing is done with it."""


def make_feed(
    settings: Settings,
    secrets: SecretReader,
    connection: Mapping[str, str],
    topic: LedTopic,
    *,
    follower: TakesSubscriptions | None,
    rules: PublishedRules,
    counters: FeedCounters,
    accepted_cluster_id: str | None,
    now_ms: Callable[[], int],
    make_set_id: Callable[[], str],
) -> ClusterFeed:
    """Return a feed that asks nothing yet.

    Args:
        connection: librdkafka's properties of the clients' cluster; the values hold
            secrets.
        follower: Follows the subscriptions of that cluster; None: nobody does.
    Raises: InvalidSetting.
    """
    cluster = find_clients_cluster(settings)
    links = BrokerLinks(
        read_access(connection, key_name=cluster.key_name),
        client_id=settings.bridge.bridge_id,
    )
    source: FeedSource
    if settings.cluster.source == METADATA_LOG:
        source = LogSource(
            links,
            _make_controller_links(settings, secrets),
            rules=rules,
            full_set_ms=settings.cluster.full_set_ms,
            faults=Faults(counters),
        )
    else:
        told = follower or _Nobody()
        looks = AdminLooks(
            links,
            security_protocol=connection["security.protocol"],
            configs_poll_ms=settings.cluster.configs_poll_ms,
            subscriptions=told,
            counters=counters,
        )
        source = _make_admin_source(settings, looks, told, rules, links.close)
    return ClusterFeed(
        source,
        topic,
        topic_name=settings.topics.cluster,
        servers=connection["bootstrap.servers"],
        accepted_cluster_id=accepted_cluster_id,
        counters=counters,
        now_ms=now_ms,
        make_set_id=make_set_id,
    )


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
