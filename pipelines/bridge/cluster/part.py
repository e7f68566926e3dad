"""Part of the bridge that asks the clients' cluster: subscriptions, quotas, admins."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from functools import partial

from prometheus_client.metrics_core import Metric

from pipelines.bridge.core.admins import check_principals
from pipelines.bridge.core.client_identity import KnownCluster
from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import ServedRequest
from pipelines.bridge.core.parts import QuietPart
from pipelines.bridge.exposition.client_labels import ClientLabels
from pipelines.bridge.exposition.quota_metrics import quota_metrics
from pipelines.bridge.telemetry.selections import SubscriptionRegistry
from pipelines.bridge.telemetry.subscriptions import load_subscriptions
from pipelines.bridge.telemetry.unmatchable_selectors import find_unmatchable
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import REQUEST_TIMEOUT_S, ClusterClient
from pipelines.kafka_wire.cluster_ids import read_metadata
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.readiness import Readiness
from pipelines.settings.clients_cluster import find_clients_cluster
from pipelines.settings.records import Settings

from .admin_handlers import AdminHandlers, Outcomes
from .followed_subscriptions import FollowedSubscriptions
from .following import SubscriptionFollower
from .quota_handlers import QuotaHandlers
from .quota_part import NowNs, QuotaPart
from .scram_handlers import ScramHandlers
from .short_intervals import warn_of_short_interval

logger = logging.getLogger(__name__)

CLUSTER_ONLY = "cluster"
CONF_ONLY = "conf"
_FIRST_LOOK_S = 2.0
"""How long a start waits for the id of a cluster, without which it goes on."""
_LOOK_AGAIN_S = 60.0
"""Between two looks for another id; a cluster has one for its whole life."""
_MS = 1_000


class ClusterPart(QuietPart):
    """Requests of one bridge process to its clients' cluster."""

    def __init__(
        self,
        settings: Settings,
        connection: Mapping[str, str],
        counters: BridgeCounters | None = None,
        now_ns: NowNs = lambda: 0,
        labels: ClientLabels | None = None,
    ) -> None:
        """Read the settings; nothing is asked yet.

        Args:
            connection: librdkafka's properties of the clients' cluster; the values
                hold secrets.
            counters: Where it is counted whom quotas have held back.
            now_ns: A clock that never steps back, in nanoseconds.
            labels: Label values that clients choose; None shows no quotas.
        Raises: InvalidSetting.
        """
        bridge, cluster = settings.bridge, find_clients_cluster(settings)
        self.connection = connection
        self._labels = labels
        self.is_apart = cluster.is_apart
        """Whether that is another cluster than the one of [kafka]."""
        self._source = bridge.subscriptions_source
        self._section = cluster.section
        self._place = f"{connection['bootstrap.servers']} ([{cluster.section}])"
        self.registry = SubscriptionRegistry()
        """Subscriptions in force; clients hear of a change at their next request."""
        self.known = KnownCluster()
        """The cluster, once it has said its id; others that ask it may tell, too."""
        self._poll_s = bridge.subscriptions_poll_ms / _MS
        self._client = ClusterClient(
            read_access(connection, key_name=cluster.key_name),
            client_id=bridge.bridge_id,
        )
        own = load_subscriptions(settings.subscriptions)
        for one in own:
            for why in find_unmatchable(one.match):
                logger.warning("subscription %r of conf/: %s", one.name, why)
        followed = FollowedSubscriptions(
            self.registry, [] if self._source == CLUSTER_ONLY else own
        )
        self._follower = SubscriptionFollower(
            self._client,
            followed,
            poll_ms=bridge.subscriptions_poll_ms,
            section=cluster.section,
        )
        self.quotas = QuotaPart(
            settings,
            self._client,
            counters or BridgeCounters(),
            now_ns,
            section=cluster.section,
        )
        admins = check_principals(bridge.admin_principals)
        forward = self._client.forward
        self._handlers = (
            AdminHandlers(
                admin_principals=admins,
                forward=forward,
                note_change=partial(_note_change, "client-metrics subscription"),
            ),
            QuotaHandlers(
                admin_principals=admins,
                forward=forward,
                note_change=partial(_note_change, "quotas of"),
            ),
            ScramHandlers(admin_principals=admins, forward=forward),
        )

    def handlers(self) -> Iterable[ServedRequest]:
        """Return the APIs of admins."""
        return [one for handlers in self._handlers for one in handlers.served()]

    def metrics(self) -> Iterable[Metric]:
        """Return the use of quotas."""
        uses = self.quotas.shown_uses()
        return () if self._labels is None else quota_metrics(uses, self._labels)

    def readiness(self) -> Readiness:
        """Return READY, with a note if quotas are wanted and not enforced."""
        why_not = self.quotas.why_not_enforced()
        return Readiness(note=why_not and f"no quota is enforced: {why_not}")

    @property
    def follower(self) -> SubscriptionFollower | None:
        """Who follows the cluster's subscriptions; None where they do not count."""
        return None if self._source == CONF_ONLY else self._follower

    async def prepare(self) -> None:
        """Look at the cluster once, so that the first clients get what is in force.

        Raises: ClusterFault, when nothing else could say whom to ask for what.
        """
        if self._source == CLUSTER_ONLY:
            await self._read_or_explain()
        elif self._source != CONF_ONLY:
            await self._follower.try_read()
        servers = self.connection["bootstrap.servers"]
        warning = warn_of_short_interval(self.registry, servers, self._section)
        if warning is not None:
            logger.warning(warning)
        await self._learn_id(_FIRST_LOOK_S)
        await self.quotas.prepare(_FIRST_LOOK_S)

    async def run(self) -> None:
        """Look at the cluster again and again, for its subscriptions if they count."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_id())
            group.create_task(self.quotas.run())
            if self._source != CONF_ONLY:
                group.create_task(self._follower.follow())

    async def close(self) -> None:
        """Give up what the cluster has not answered."""
        await self._client.close()

    async def _follow_id(self) -> None:
        while True:
            is_known = self.known.cluster_id is not None
            await asyncio.sleep(_LOOK_AGAIN_S if is_known else self._poll_s)
            await self._learn_id(REQUEST_TIMEOUT_S)

    async def _learn_id(self, timeout_s: float) -> None:
        """Ask the cluster who it is; without an answer it stays what it was.

        Nobody is told of that: who is missed more says why the cluster is away.
        """
        try:
            told = await read_metadata(self._client, timeout_s=timeout_s)
        except ClusterFault:
            return
        self.known.note(told.cluster_id)

    async def _read_or_explain(self) -> None:
        try:
            await self._follower.read()
        except ClusterFault as error:
            raise ClusterFault(
                f"{error}; bridge.subscriptions_source is {CLUSTER_ONLY}, and without "
                f"Kafka at {self._place} no client would be asked for anything: "
                f"correct it, or set {CONF_ONLY} or both"
            ) from None


def _note_change(what: str, principal: str, outcomes: Outcomes) -> None:
    for name, error_code in outcomes.items():
        logger.info(
            "%s changes %s %r: %s",
            principal,
            what,
            name,
            error_code.name,
        )
