"""Wiring of the feed: settings in, one that competes for the topic."""

from collections.abc import Callable, Mapping

from pipelines.bridge.cluster.access import read_access
from pipelines.bridge.cluster.clients_cluster import find_clients_cluster
from pipelines.bridge.cluster.faults import ClusterFault
from pipelines.bridge.cluster.followed_subscriptions import Resources
from pipelines.bridge.cluster.following import SubscriptionFollower
from pipelines.bridge.core.feed_records import FeedCounters, LedTopic
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader
from udfs.cluster.published_records import PublishedRules

from .connections import BrokerLinks
from .looks import AdminLooks
from .running import AdminSource, ClusterFeed


class _Nobody:
    """Who does not follow subscriptions."""

    is_told = False

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
    follower: SubscriptionFollower | None,
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
    cluster, places = find_clients_cluster(settings), settings.cluster
    links = BrokerLinks(
        read_access(connection, key_name=cluster.key_name),
        client_id=settings.bridge.bridge_id,
    )
    told = follower or _Nobody()
    looks = AdminLooks(
        links,
        security_protocol=connection["security.protocol"],
        configs_poll_ms=places.configs_poll_ms,
        subscriptions=told,
        counters=counters,
    )

    def tell(is_told: bool) -> None:  # noqa: FBT001 - of one state
        told.is_told = is_told

    followed_ms = settings.bridge.subscriptions_poll_ms
    source = AdminSource(
        looks,
        rules=rules,
        # One look serves both, so it is as often as the more frequent of them.
        poll_ms=min(places.poll_ms, followed_ms) if follower else places.poll_ms,
        full_set_ms=places.full_set_ms,
        tell=tell,
        close=links.close,
    )
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
