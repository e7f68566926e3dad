"""Push intervals that are meant for a trial on one machine."""

import ipaddress

from pipelines.bridge.telemetry.selections import SubscriptionRegistry
from pipelines.kafka_client.properties import parse_servers

LEAST_INTERVAL_MS = 30_000
"""Shortest push interval of a cluster on other machines without a warning."""
_MS = 1_000


def warn_of_short_interval(
    registry: SubscriptionRegistry, servers: str, section: str
) -> str | None:
    """Return a warning if clients of a remote cluster push very often, else None.

    Args:
        registry: Subscriptions in effect.
        servers: Bootstrap servers of the clients' cluster.
        section: Table of conf/ that names this cluster.
    """
    shortest = registry.shortest
    if shortest is None or shortest.interval_ms >= LEAST_INTERVAL_MS:
        return None
    if all(_is_loopback(host) for host, _ in parse_servers(servers)):
        return None
    return (
        f"subscription {shortest.name!r}: clients of the cluster of [{section}] push "
        f"every {shortest.interval_ms / _MS:g} s, which is meant for trials. Set "
        f"interval_ms to {LEAST_INTERVAL_MS} or more, or start without '--env local'"
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
