"""One look of the admin_api feed after another: who is asked what, and what fails.

Strategy: each part of the cluster is looked at by itself. One that does not answer, or
refuses, is said once and counted each time, and the others go on; what it said last
stays. A broker's own configs are asked for in two ways: what is in force at each look,
which is only read where it has changed; and with all synonyms then, when the broker is
new, comes back or moves, and after a longer time.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from kio.schema.describe_configs.v4.response import DescribeConfigsResponse

from pipelines.kafka_wire.cluster_requests import Resources
from pipelines.kafka_wire.faults import (
    ClusterFault,
    ClusterRefusal,
    MissingApi,
    MissingRight,
)
from udfs.cluster.record_keys import CLIENT_METRICS_RESOURCE, GROUP_RESOURCE

from .answers import (
    DYNAMIC_DEFAULT,
    SeenBroker,
    read_broker_configs,
    read_brokers,
    read_quotas,
    read_resources,
    read_set_configs,
)
from .connections import BrokerLinks
from .observed import (
    CLUSTER_WIDE,
    DESCRIBED,
    GROUPS,
    REFUSED,
    UNREACHABLE,
    Seen,
    part_of_broker,
)
from .records import FeedCounters
from .state import BROKERS, QUOTAS, SUBSCRIPTIONS

logger = logging.getLogger(__name__)

_LISTED = (CLIENT_METRICS_RESOURCE, GROUP_RESOURCE)
_KINDS = {MissingApi: "missing", MissingRight: "refused", ClusterRefusal: "refused"}


class TakesSubscriptions(Protocol):
    """Follower of the subscriptions; while it is told of them it does not ask."""

    is_told: bool

    def take(self, resources: Resources) -> None:
        """Put in force what the cluster says."""

    def take_fault(self, fault: ClusterFault) -> None:
        """Hear why there is nothing new."""


class Faults:
    """What does not answer, by part: said once, counted each time."""

    def __init__(self, counters: FeedCounters) -> None:
        self._counters = counters
        self._said: dict[str, str] = {}

    def note(self, part: str, fault: ClusterFault) -> None:
        """Say a fault, each time that it is another one."""
        kind = _KINDS.get(type(fault), "unreachable")
        self._counters.faults[part.partition("/")[0], kind] += 1
        if self._said.get(part) != str(fault):
            self._said[part] = str(fault)
            logger.warning("the feed of the cluster lacks %s: %s", part, fault)

    def clear(self, part: str) -> None:
        """Say that a part answers again."""
        if self._said.pop(part, None) is not None:
            logger.info("the feed of the cluster has %s again", part)


class AdminLooks:
    """Looks at the brokers of one cluster; knows what they said last."""

    def __init__(
        self,
        links: BrokerLinks,
        *,
        security_protocol: str,
        configs_poll_ms: int,
        subscriptions: TakesSubscriptions,
        counters: FeedCounters,
    ) -> None:
        self._links = links
        self._configs_poll_ms = configs_poll_ms
        self._subscriptions = subscriptions
        self._counters = counters
        self._faults = Faults(counters)
        self.seen = Seen(security_protocol=security_protocol)
        self.cluster_id: str | None = None
        """Of whoever answered last."""
        self._described_ms: dict[int, int] = {}
        self._due: set[int] = set()
        self._names: dict[int, tuple[str, ...]] = {}
        self._has_changed = False

    def forget(self) -> None:
        """Look at everything anew: what was seen is not what the topic says."""
        self._links.forget()
        self.seen = Seen(security_protocol=self.seen.security_protocol)
        self._described_ms.clear()
        self._due.clear()

    async def find_cluster(self) -> str:
        """Return the id of the cluster that answers.

        Raises: ClusterFault.
        """
        answer = await self._links.describe_cluster()
        if answer is not None:
            self.cluster_id = answer.cluster_id
            self._take_brokers(read_brokers(answer))
        return self.cluster_id or ""

    async def look(self, now_ms: int) -> bool:
        """Look at everything; return whether anything is new.

        Raises: ClusterFault where nobody answers.
        """
        self._counters.looks += 1
        self._has_changed = False
        await self.find_cluster()
        self.seen.looked_ms[BROKERS] = now_ms
        for part, look in (
            (QUOTAS, self._look_at_quotas),
            (CLUSTER_WIDE, self._look_at_cluster_wide),
        ):
            await self._try(part, look, now_ms)
        await self._look_at_resources(now_ms)
        brokers = (self.seen.brokers or {}).values()
        await asyncio.gather(*(self._look_at_broker(one, now_ms) for one in brokers))
        return self._has_changed

    async def _try(
        self, part: str, look: Callable[[], Awaitable[None]], now_ms: int
    ) -> ClusterFault | None:
        try:
            await look()
        except ClusterFault as fault:
            self._faults.note(part, fault)
            return fault
        self._faults.clear(part)
        self.seen.looked_ms[part] = now_ms
        return None

    def _take_brokers(self, brokers: Mapping[int, SeenBroker]) -> None:
        before = self.seen.brokers or {}
        # Each answer names another broker as the controller, for nothing.
        self._has_changed |= brokers != self.seen.brokers
        for broker_id, one in brokers.items():
            known = before.get(broker_id)
            is_same_place = known is not None and known[1:3] == one[1:3]
            is_back = known is not None and known.is_fenced and not one.is_fenced
            if not is_same_place or is_back:
                self._due.add(broker_id)
        for broker_id in before.keys() - brokers.keys():
            self._links.forget_broker(broker_id)
            self.seen.configs.pop(broker_id, None)
            self.seen.static_configs.pop(broker_id, None)
            self._described_ms.pop(broker_id, None)
        self.seen.brokers = brokers

    async def _look_at_quotas(self) -> None:
        answer = await self._links.describe_quotas()
        if answer is not None:
            self.seen.quotas = read_quotas(answer)
            self._has_changed = True

    async def _look_at_cluster_wide(self) -> None:
        answer = await self._links.describe_cluster_wide()
        if answer is not None:
            (result,) = answer.results
            self.seen.cluster_wide = read_set_configs(result, DYNAMIC_DEFAULT)
            self._has_changed = True

    async def _look_at_resources(self, now_ms: int) -> None:
        fault = await self._try(SUBSCRIPTIONS, self._list_resources, now_ms)
        if fault is None:
            fault = await self._try(SUBSCRIPTIONS, self._look_at_subscriptions, now_ms)
        if fault is not None:
            self._subscriptions.take_fault(fault)
            return
        self._subscriptions.take(self._followed())
        await self._try(GROUPS, self._look_at_groups, now_ms)

    async def _list_resources(self) -> None:
        answer = await self._links.list_resources(_LISTED)
        if answer is not None:
            for kind in _LISTED:
                self._names[kind] = tuple(
                    one.resource_name
                    for one in answer.config_resources
                    if one.resource_type == kind
                )

    async def _look_at_subscriptions(self) -> None:
        answer, is_empty = await self._describe(CLIENT_METRICS_RESOURCE)
        if is_empty:
            self._has_changed |= bool(self.seen.subscriptions)
            self.seen.subscriptions = {}
        elif answer is not None:
            self.seen.subscriptions = read_resources(answer.results)
            self._has_changed = True

    async def _look_at_groups(self) -> None:
        answer, is_empty = await self._describe(GROUP_RESOURCE)
        if is_empty:
            self._has_changed |= bool(self.seen.groups)
            self.seen.groups = {}
        elif answer is not None:
            self.seen.groups = read_resources(answer.results)
            self._has_changed = True

    async def _describe(self, kind: int) -> tuple[DescribeConfigsResponse | None, bool]:
        """Return the answer, None where it is as before, and whether there is none."""
        names = self._names.get(kind, ())
        if not names:
            self._links.forget_resources(kind)
            return None, True
        return await self._links.describe_resources(kind, names), False

    def _followed(self) -> Resources:
        """Return the subscriptions as those know them who follow them."""
        return {
            name: {one.name: one.value for one in found if one.value is not None}
            for (_, name), found in (self.seen.subscriptions or {}).items()
        }

    async def _look_at_broker(self, broker: SeenBroker, now_ms: int) -> None:
        if broker.is_fenced and broker.broker_id in self.seen.static_configs:
            return  # It may be down, and is looked at when it is back.
        part = part_of_broker(broker.broker_id)
        fault = await self._try(
            part, lambda: self._describe_broker(broker, now_ms), now_ms
        )
        if fault is None:
            return
        is_refused = isinstance(fault, MissingRight)
        status = REFUSED if is_refused else UNREACHABLE
        if is_refused:
            self._has_changed |= (
                self.seen.configs.pop(broker.broker_id, None) is not None
            )
        if broker.broker_id not in self.seen.configs:
            before = self.seen.static_configs.get(broker.broker_id)
            self._has_changed |= before != status
            self.seen.static_configs[broker.broker_id] = status

    async def _describe_broker(self, broker: SeenBroker, now_ms: int) -> None:
        broker_id, address = broker.broker_id, (broker.host, broker.port)
        known = self.seen.configs.get(broker_id)
        described_ms = self._described_ms.get(broker_id, 0)
        is_due = (
            known is None
            or broker_id in self._due
            or now_ms - described_ms >= self._configs_poll_ms
        )
        if known is not None:
            # Asked before the others: what is set in between shows at the next look.
            changed = await self._links.describe_effective(broker_id, address)
            is_due = is_due or changed is not None
        if not is_due:
            return
        answer = await self._links.describe_broker(broker_id, address)
        if answer is None:
            return
        (result,) = answer.results
        configs = read_broker_configs(result)
        self._has_changed |= configs != known
        self.seen.configs[broker_id] = configs
        self.seen.static_configs[broker_id] = DESCRIBED
        self._described_ms[broker_id] = now_ms
        self._due.discard(broker_id)
