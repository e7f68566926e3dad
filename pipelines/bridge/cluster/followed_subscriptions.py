"""The subscriptions of the cluster and those of conf/, together in one registry.

A resource of the cluster stands before a subscription of conf/ that has its name, also
where the bridge cannot use it. Only what has changed touches the registry: each of its
changes starts every client instance afresh.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.bridge.telemetry.selections import SubscriptionRegistry
from pipelines.bridge.telemetry.subscriptions import (
    InvalidRule,
    Subscription,
    parse_subscription,
)
from pipelines.bridge.telemetry.unmatchable_selectors import find_unmatchable
from pipelines.kafka_wire.cluster_requests import Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionChanges:
    """What one look at the cluster has changed; names in alphabetical order."""

    put: tuple[str, ...]
    removed: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    """Name of a resource that cannot be used, and why; no values."""
    unmatchable: tuple[tuple[str, str], ...] = ()
    """Name of a resource that nobody can match, and why."""


class FollowedSubscriptions:
    """What is in force, after the newest answer of the cluster."""

    def __init__(
        self, registry: SubscriptionRegistry, own: Iterable[Subscription]
    ) -> None:
        """Put our own subscriptions in force.

        Args:
            registry: Filled here and nowhere else.
            own: The subscriptions of conf/, as far as they count.
        """
        self._registry = registry
        self._own = {one.name: one for one in own}
        self._resources: Resources = {}
        for one in self._own.values():
            registry.put(one)

    def update(self, resources: Resources) -> SubscriptionChanges:
        """Put the resources of the cluster in force in place of those before.

        Nulls: A resource without properties is none, as for a broker.
        """
        wanted = {name: one for name, one in resources.items() if one}
        names = sorted(wanted.keys() | self._resources.keys())
        changed = [
            name for name in names if wanted.get(name) != self._resources.get(name)
        ]
        self._resources = wanted
        put, removed, refused, unmatchable = [], [], [], []
        for name in changed:
            try:
                subscription = self._find(name)
            except InvalidRule as error:
                subscription = None
                refused.append((name, error.fault))
            if subscription is None:
                self._registry.remove(name)
                removed.append(name)
            else:
                self._registry.put(subscription)
                put.append(name)
                if name in wanted:
                    found = find_unmatchable(subscription.match)
                    unmatchable += [(name, one) for one in found]
        return SubscriptionChanges(
            put=tuple(put),
            removed=tuple(removed),
            refused=tuple(refused),
            unmatchable=tuple(unmatchable),
        )

    def _find(self, name: str) -> Subscription | None:
        properties = self._resources.get(name)
        if properties is None:
            return self._own.get(name)
        return parse_subscription(name, properties)
