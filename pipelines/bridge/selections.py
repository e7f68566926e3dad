"""Which client instance is asked for which metrics, how often.

Source: Kafka, ClientMetricsManager.java, ClientMetricsInstanceMetadata.java; KIP-714.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .client_identity import ClientIdentity, uuid_text
from .subscription_ids import (
    crc32c,
    crc_input,
    order_as_concurrent_map,
    order_as_hash_set,
)
from .subscriptions import DEFAULT_PUSH_INTERVAL_MS, Subscription

ALL_METRICS = "*"
ALL_METRICS_PREFIX = ""
"""What clients are told for `*`: a prefix that every released client understands."""

_SELECTOR_VALUES: Mapping[str, Callable[[ClientIdentity, uuid.UUID], str | None]] = {
    "client_instance_id": lambda _identity, instance_id: uuid_text(instance_id),
    "client_id": lambda identity, _: identity.client_id,
    "client_software_name": lambda identity, _: identity.client_software_name,
    "client_software_version": lambda identity, _: identity.client_software_version,
    "client_source_address": lambda identity, _: identity.client_source_address,
    "client_source_port": lambda identity, _: str(identity.client_source_port),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What the matching subscriptions ask of a client together."""

    requested_metrics: tuple[str, ...]
    """As answered to the client: `("",)` for all metrics, empty for none."""
    push_interval_ms: int
    checksum: int
    """CRC-32C that a client instance's SubscriptionId is made from, unsigned."""


class SubscriptionRegistry:
    """The subscriptions in force, and a version that grows with every change."""

    def __init__(self, subscriptions: Iterable[Subscription] = ()) -> None:
        self.version = 0
        self._by_name: dict[str, Subscription] = {}
        self._ordered: list[Subscription] = []
        self._selections: dict[tuple[str, ...], Selection] = {}
        for subscription in subscriptions:
            self.put(subscription)

    def put(self, subscription: Subscription) -> None:
        """Add a subscription or replace the one of its name."""
        self._by_name[subscription.name] = subscription
        self._change()

    def remove(self, name: str) -> None:
        """Remove a subscription; one that is not there changes nothing."""
        if self._by_name.pop(name, None) is not None:
            self._change()

    def select(self, identity: ClientIdentity, instance_id: uuid.UUID) -> Selection:
        """Return what a client instance is asked for."""
        matching = [
            one for one in self._ordered if is_match(one, identity, instance_id)
        ]
        names = tuple(one.name for one in matching)
        selection = self._selections.get(names)
        if selection is None:
            selection = self._selections[names] = combine(matching)
        return selection

    def _change(self) -> None:
        self.version += 1
        self._selections.clear()
        order = order_as_concurrent_map(self._by_name)
        self._ordered = [self._by_name[name] for name in order]


def is_match(
    subscription: Subscription, identity: ClientIdentity, instance_id: uuid.UUID
) -> bool:
    """Say whether all selectors match.

    Nulls: An attribute that the client does not have matches no pattern.
    """
    for key, pattern in subscription.match.items():
        value = _SELECTOR_VALUES[key](identity, instance_id)
        if value is None or not pattern.matches(value):
            return False
    return True


def combine(subscriptions: Sequence[Subscription]) -> Selection:
    """Unite what subscriptions ask for, given in the broker's order.

    Units: The shortest interval in milliseconds, at most Kafka's default.
    """
    is_all = any(ALL_METRICS in one.metrics for one in subscriptions)
    metrics = order_as_hash_set([one.metrics for one in subscriptions])
    interval = min(
        (one.interval_ms for one in subscriptions), default=DEFAULT_PUSH_INTERVAL_MS
    )
    push_interval_ms = min(interval, DEFAULT_PUSH_INTERVAL_MS)
    # The checksum stays Kafka's own for `*`; only the answer differs.
    summed = [ALL_METRICS] if is_all else metrics
    return Selection(
        requested_metrics=(ALL_METRICS_PREFIX,) if is_all else tuple(metrics),
        push_interval_ms=push_interval_ms,
        checksum=crc32c(crc_input(summed, push_interval_ms)),
    )
