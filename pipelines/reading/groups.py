"""Consumer groups: who rebalances, how long, and who falls behind. Reads only.

Members report these values themselves: a group whose members push no telemetry is
missing. Groups of two clusters are two groups, even if their IDs are equal.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .lag import LAG_MAX, select_lag
from .naming import with_client
from .points import choose_metrics
from .rollups import instance_values

_COORDINATOR = "org.apache.kafka.consumer.coordinator."
REBALANCES = f"{_COORDINATOR}rebalance.total"
FAILED_REBALANCES = f"{_COORDINATOR}failed.rebalance.total"
REBALANCE_LATENCY = f"{_COORDINATOR}rebalance.latency.total"
REBALANCE_LATENCY_MAX = f"{_COORDINATOR}rebalance.latency.max"
ASSIGNED = f"{_COORDINATOR}assigned.partitions"
POLL_IDLE = "org.apache.kafka.consumer.poll.idle.ratio.avg"
POLL_GAP_MAX = "org.apache.kafka.consumer.time.between.poll.max"
_GROUP = ("cluster_id", "group_id")
_MEMBER = ("group_id", "client_instance_id")
"""An instance belongs to one cluster."""
_SUMS = (REBALANCES, FAILED_REBALANCES, REBALANCE_LATENCY)
_GAUGES = (REBALANCE_LATENCY_MAX, ASSIGNED, LAG_MAX, POLL_IDLE, POLL_GAP_MAX)


def select_rebalances(points: DataFrame, *, window_s: int) -> DataFrame:
    """Return how often the members of groups took part in a rebalance.

    All members take part in a rebalance, so the member with the most rebalances counts.
    For a client that counts none, such as librdkafka, the pushes that report time in
    rebalances count.

    Args:
        points: As read_points returns them.
        window_s: Window length in seconds.
    Returns: cluster_id, group_id, window_start, rebalances.
    """
    window = F.window("at", f"{window_s} seconds").getField("start")
    return (
        _of_members(points, REBALANCES, REBALANCE_LATENCY)
        .groupBy(*_GROUP, window.alias("window_start"), "client_instance_id")
        .agg(_count_rebalances().alias("own"))
        .groupBy(*_GROUP, "window_start")
        .agg(F.max("own").alias("rebalances"))
        .where(F.col("rebalances").isNotNull())
        .orderBy("window_start", *_GROUP)
    )


def select_groups(points: DataFrame) -> DataFrame:
    """Return the state of each consumer group.

    Args:
        points: As read_points returns them.
    Returns: cluster_id, group_id, members (instances that pushed), partitions (newest
        assignment of all members), lag_max (records), rebalances and failed_rebalances
        (of the member with the most), rebalance_s (that it spent in them, seconds),
        longest_rebalance_ms, poll_idle (mean share of the time that members wait in
        poll), poll_gap_ms_max; the group that rebalances most is first. Null: no member
        reports the value.
    """
    # franz-go reports none of these metrics, but its members form groups as well.
    members = points.where(F.col("group_id").isNotNull()).select(*_GROUP, *_MEMBER[1:])
    reported = (
        _of_members(points, *_SUMS, *_GAUGES)
        .groupBy(*_MEMBER)
        .agg(
            _count_rebalances().alias("rebalances"),
            F.sum(_amount_of(FAILED_REBALANCES)).alias("failed_rebalances"),
            F.sum(_amount_of(REBALANCE_LATENCY)).alias("rebalance_ms"),
            F.max(_value_of(REBALANCE_LATENCY_MAX)).alias("longest_rebalance_ms"),
            F.max_by(_value_of(ASSIGNED), _time_of(ASSIGNED)).alias("partitions"),
            F.max(_value_of(LAG_MAX)).alias("lag_max"),
            F.avg(_value_of(POLL_IDLE)).alias("poll_idle"),
            F.max(_value_of(POLL_GAP_MAX)).alias("poll_gap_ms_max"),
        )
    )
    counts = ("lag_max", "rebalances", "failed_rebalances")
    return (
        members.distinct()
        .join(reported, [*_MEMBER], "left")
        .groupBy(*_GROUP)
        .agg(
            F.count("*").alias("members"),
            F.sum("partitions").cast("bigint").alias("partitions"),
            *(F.max(name).cast("bigint").alias(name) for name in counts),
            (F.max("rebalance_ms") / F.lit(1000.0)).alias("rebalance_s"),
            F.max("longest_rebalance_ms").alias("longest_rebalance_ms"),
            F.avg("poll_idle").alias("poll_idle"),
            F.max("poll_gap_ms_max").alias("poll_gap_ms_max"),
        )
        .orderBy(F.desc_nulls_last("rebalances"), *_GROUP)
    )


def select_lag_over_time(points: DataFrame, *, window_s: int) -> DataFrame:
    """Return cluster_id, group_id, window_start and lag of the worst member."""
    return (
        points.where(F.col("group_id").isNotNull())
        .transform(select_lag, by=_GROUP, window_s=window_s)
        .orderBy("window_start", *_GROUP)
    )


def select_assignments(points: DataFrame) -> DataFrame:
    """Return the partitions of each member over time.

    Returns: cluster_id, member (group and client), at, partitions.
    """
    return (
        _of_members(points, ASSIGNED)
        .where(F.col("value").isNotNull())
        .transform(with_client)
        .select(
            "cluster_id",
            F.concat_ws(", ", "group_id", "client").alias("member"),
            "at",
            F.col("value").cast("bigint").alias("partitions"),
        )
        .orderBy("at", "member")
    )


def _of_members(points: DataFrame, *metrics: str) -> DataFrame:
    """Return the values of group members, push by push."""
    return (
        points.transform(choose_metrics, metrics)
        .where(F.col("group_id").isNotNull())
        .transform(instance_values, by=("group_id",))
    )


def _count_rebalances() -> Column:
    counted = F.sum(_amount_of(REBALANCES))
    time = _amount_of(REBALANCE_LATENCY)
    noticed = F.sum(F.when(time.isNotNull(), (time > 0).cast("double")))
    return F.coalesce(counted, noticed)


def _amount_of(metric: str) -> Column:
    return F.when(F.col("metric") == metric, F.col("amount"))


def _value_of(metric: str) -> Column:
    return F.when(F.col("metric") == metric, F.col("value"))


def _time_of(metric: str) -> Column:
    return F.when(F.col("metric") == metric, F.col("at"))
