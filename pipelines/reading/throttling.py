"""How long brokers make clients wait because of quotas: one definition. Reads only."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .client_states import CLIENT_KEY
from .points import choose_metrics
from .rollups import roll_up

_PRODUCER = "org.apache.kafka.producer."
_CONSUMER = "org.apache.kafka.consumer."
PRODUCE_MAX = f"{_PRODUCER}produce.throttle.time.max"
PRODUCE_AVG = f"{_PRODUCER}produce.throttle.time.avg"
FETCH_MAX = f"{_CONSUMER}fetch.manager.fetch.throttle.time.max"
FETCH_AVG = f"{_CONSUMER}fetch.manager.fetch.throttle.time.avg"
THROTTLE_METRICS = (PRODUCE_MAX, FETCH_MAX, PRODUCE_AVG, FETCH_AVG)
"""Throttle times that clients report, in milliseconds."""
_WIRE_KEY = ("cluster_id", "principal", "client_id")


def select_throttling(points: DataFrame, traffic: DataFrame | None = None) -> DataFrame:
    """Return the longest throttle time of each client.

    Args:
        points: As read_points returns them.
        traffic: From quota_use.select_recent_traffic; None: unknown.
    Returns: CLIENT_KEY, reported_ms (by the client's telemetry), seen_ms (in responses
        that the proxy forwarded) and throttle_ms (the longer one). A client without
        either has no row.
    """
    reported = (
        points.transform(choose_metrics, THROTTLE_METRICS)
        .transform(roll_up, by=CLIENT_KEY)
        .groupBy(*CLIENT_KEY)
        .agg(F.max("value").alias("reported_ms"))
    )
    if traffic is None:
        return reported.select(
            *CLIENT_KEY,
            "reported_ms",
            F.lit(None).cast("double").alias("seen_ms"),
            F.col("reported_ms").alias("throttle_ms"),
        )
    longest = F.greatest("produce_throttled_ms", "fetch_throttled_ms")
    seen = traffic.groupBy(*_WIRE_KEY).agg(F.max(longest).alias("seen_ms"))
    joined = reported.alias("r").join(seen.alias("s"), _same_client(), "full")
    return joined.select(
        *(F.coalesce(f"r.{one}", f"s.{one}").alias(one) for one in _WIRE_KEY[:2]),
        # The proxy writes an empty client ID where a client has none.
        F.coalesce("r.client_id", F.nullif("s.client_id", F.lit(""))).alias(
            "client_id"
        ),
        "r.client_type",
        "r.reported_ms",
        "s.seen_ms",
        F.greatest("r.reported_ms", "s.seen_ms").alias("throttle_ms"),
    ).select(*CLIENT_KEY, "reported_ms", "seen_ms", "throttle_ms")


def _same_client() -> Column:
    client_id = F.coalesce(F.col("r.client_id"), F.lit(""))
    return (
        F.col("r.cluster_id").eqNullSafe(F.col("s.cluster_id"))
        & (F.col("r.principal") == F.col("s.principal"))
        & (client_id == F.col("s.client_id"))
    )
