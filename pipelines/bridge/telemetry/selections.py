"""Which client instance is asked for which metrics, how often.

Source: Kafka, ClientMetricsManager.java, ClientMetricsInstanceMetadata.java; KIP-714.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.bridge.core.client_identity import (
    MAX_TEXT_BYTES,
    ClientIdentity,
    uuid_text,
)
from udfs.sensitive.bounded_texts import SHORT_CHARACTERS, bound_text
from udfs.subscriptions.properties import DEFAULT_PUSH_INTERVAL_MS, Subscription

from .subscription_ids import (
    crc32c,
    crc_input,
    order_as_concurrent_map,
    order_as_hash_set,
)

ALL_METRICS = "*"
ALL_METRICS_PREFIX = ""
"""What clients are told for `*`: a prefix that every released client understands."""
MAX_KNOWN_VALUES = 10_000
"""Values of one attribute, and sets of subscriptions, whose outcome is kept."""

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
    """The subscriptions in force, and a version that grows with every change.

    Strategy: a set of subscriptions is an integer with one bit for each, in the
    broker's order. What a value of an attribute lets through is kept, so a client of
    known software and name costs a few look-ups, however many subscriptions there are.
    """

    def __init__(self, subscriptions: Iterable[Subscription] = ()) -> None:
        self.version = 0
        self._by_name: dict[str, Subscription] = {}
        self._ordered: list[Subscription] = []
        self._selections: dict[int, Selection] = {}
        self._allowed: dict[str, dict[str | None, int]] = {}
        for subscription in subscriptions:
            self.put(subscription)

    @property
    def shortest(self) -> Subscription | None:
        """The subscription with the shortest push interval; None without any."""
        return min(self._ordered, key=lambda one: one.interval_ms, default=None)

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
        matching = (1 << len(self._ordered)) - 1
        for key, allowed in self._allowed.items():
            value = _SELECTOR_VALUES[key](identity, instance_id)
            # What is kept is bounded; what is matched is what the client said.
            known = value
            if value is not None and len(value) > SHORT_CHARACTERS:
                known = bound_text(value, MAX_TEXT_BYTES)
            bits = allowed.get(known)
            if bits is None:
                bits = allowed[known] = self._judge(key, value)
            matching &= bits
        selection = self._selections.get(matching)
        if selection is None:
            if len(self._selections) >= MAX_KNOWN_VALUES:
                self._selections.clear()
            selection = self._selections[matching] = combine(
                [one for bit, one in enumerate(self._ordered) if matching >> bit & 1]
            )
        return selection

    def _judge(self, key: str, value: str | None) -> int:
        """Find the subscriptions that a value of an attribute lets through."""
        allowed = self._allowed[key]
        if len(allowed) >= MAX_KNOWN_VALUES:
            allowed.clear()
        return sum(
            1 << bit
            for bit, one in enumerate(self._ordered)
            if is_allowed(one, key, value)
        )

    def _change(self) -> None:
        self.version += 1
        self._selections.clear()
        order = order_as_concurrent_map(self._by_name)
        self._ordered = [self._by_name[name] for name in order]
        self._allowed = {key: {} for one in self._ordered for key in one.match}


def is_allowed(subscription: Subscription, key: str, value: str | None) -> bool:
    """Say whether one attribute of a client is what a subscription wants.

    Nulls: An attribute that the client does not have matches no pattern.
    """
    pattern = subscription.match.get(key)
    return pattern is None or (value is not None and pattern.matches(value))


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
