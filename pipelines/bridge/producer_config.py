"""What the bridge's producer is made with."""

from collections.abc import Mapping

_SHORTEST_DELIVERY_TIMEOUT_MS = 1_000


def producer_config(
    connection: Mapping[str, str],
    *,
    bridge_id: str,
    publish_timeout_ms: int,
    max_record_bytes: int,
    max_unacknowledged_bytes: int,
) -> dict[str, str | int | bool]:
    """Return librdkafka's properties; the values of connection hold secrets.

    Source: librdkafka CONFIGURATION.md.
    """
    return {
        **connection,
        "client.id": bridge_id,
        "acks": "all",
        "enable.idempotence": True,
        # A bridge that pushes about itself to itself would never be quiet.
        "enable.metrics.push": False,
        # Java's partitioner, so that other tools find a key where they look for it.
        "partitioner": "murmur2_random",
        "linger.ms": 2,
        "delivery.timeout.ms": max(publish_timeout_ms, _SHORTEST_DELIVERY_TIMEOUT_MS),
        "message.max.bytes": max_record_bytes,
        # The bound is ours and stands before librdkafka's.
        "queue.buffering.max.messages": 0,
        "queue.buffering.max.kbytes": 2 * max_unacknowledged_bytes // 1_024 + 1_024,
    }
