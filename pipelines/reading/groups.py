"""Consumer groups: who rebalances, how long, and who falls behind. Reads only.

What consumers say of themselves: a group whose members push no telemetry is not here.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .overview import with_client, with_value
from .rollups import with_amounts

_COORDINATOR = "org.apache.kafka.consumer.coordinator."
REBALANCES = f"{_COORDINATOR}rebalance.total"
FAILED_REBALANCES = f"{_COORDINATOR}failed.rebalance.total"
REBALANCE_LATENCY = f"{_COORDINATOR}rebalance.latency.total"
REBALANCE_LATENCY_MAX = f"{_COORDINATOR}rebalance.latency.max"
ASSIGNED = f"{_COORDINATOR}assigned.partitions"
LAG_MAX = "org.apache.kafka.consumer.fetch.manager.records.lag.max"
POLL_IDLE = "org.apache.kafka.consumer.poll.idle.ratio.avg"
POLL_GAP_MAX = "org.apache.kafka.consumer.time.between.poll.max"
_SUMS = (REBALANCES, FAILED_REBALANCES, REBALANCE_LATENCY)
_GAUGES = (REBALANCE_LATENCY_MAX, ASSIGNED, LAG_MAX, POLL_IDLE, POLL_GAP_MAX)


def select_rebalances(client_metrics: DataFrame, *, window_s: int) -> DataFrame:
    """Return how often members of groups took part in a rebalance.

    A rebalance has all members take part, so that those of the member with most count.
    Of a client that counts none, as librdkafka, pushes with time in rebalances do.

    Args:
        client_metrics: Points of the clients and times that are wanted.
        window_s: Length of a window, in seconds.
    Returns: window_start, group_id, rebalances.
    """
    return (
        client_metrics.where(F.col("metric").isin(REBALANCES, REBALANCE_LATENCY))
        .where(F.col("group_id").isNotNull())
        .transform(with_amounts)
        .groupBy(
            F.window("at", f"{window_s} seconds")
            .getField("start")
            .alias("window_start"),
            "group_id",
            "client_instance_id",
        )
        .agg(_count_rebalances().alias("own"))
        .groupBy("window_start", "group_id")
        .agg(F.max("own").alias("rebalances"))
        .where(F.col("rebalances").isNotNull())
        .orderBy("window_start", "group_id")
    )


def select_groups(client_metrics: DataFrame) -> DataFrame:
    """Return how each group is.

    Returns: group_id, members (instances that were seen), rebalances and
        failed_rebalances (of the member with most), rebalance_s (that it was in them,
        seconds), longest_rebalance_ms, partitions (newest, of all members), lag_max
        (records), poll_idle (mean share of the time that members wait in poll),
        poll_gap_ms_max; the group that rebalances most is first.
    Nulls: Null is what no member of a group reports.
    """
    points = client_metrics.where(
        F.col("metric").isin(*_SUMS, *_GAUGES) & F.col("group_id").isNotNull()
    ).where(F.col("topic_name").isNull() & F.col("node_id").isNull())
    amounts = {
        name: F.sum(F.when(F.col("metric") == metric, F.col("amount"))).alias(name)
        for name, metric in zip(
            ("failed_rebalances", "rebalance_ms"), _SUMS[1:], strict=True
        )
    }
    of_member = (
        points.transform(with_amounts)
        .groupBy("group_id", "client_instance_id")
        .agg(
            _count_rebalances().alias("rebalances"),
            *amounts.values(),
            F.max(_value_of(REBALANCE_LATENCY_MAX)).alias("longest_rebalance_ms"),
            F.max_by(_value_of(ASSIGNED), _time_of(ASSIGNED)).alias("partitions"),
            F.max(_value_of(LAG_MAX)).alias("lag_max"),
            F.avg(_value_of(POLL_IDLE)).alias("poll_idle"),
            F.max(_value_of(POLL_GAP_MAX)).alias("poll_gap_ms_max"),
        )
    )
    return (
        of_member.groupBy("group_id")
        .agg(
            F.count("*").alias("members"),
            F.max("rebalances").alias("rebalances"),
            F.max("failed_rebalances").alias("failed_rebalances"),
            (F.max("rebalance_ms") / F.lit(1000.0)).alias("rebalance_s"),
            F.max("longest_rebalance_ms").alias("longest_rebalance_ms"),
            F.sum("partitions").cast("bigint").alias("partitions"),
            F.max("lag_max").alias("lag_max"),
            F.avg("poll_idle").alias("poll_idle"),
            F.max("poll_gap_ms_max").alias("poll_gap_ms_max"),
        )
        .orderBy(F.desc_nulls_last("rebalances"), "group_id")
    )


def select_lag_over_time(client_metrics: DataFrame, *, window_s: int) -> DataFrame:
    """Return window_start, group_id and lag: records the worst member is behind."""
    return (
        client_metrics.where(F.col("metric") == LAG_MAX)
        .where(F.col("topic_name").isNull() & F.col("group_id").isNotNull())
        .transform(with_value)
        .groupBy(
            F.window("received_at", f"{window_s} seconds")
            .getField("start")
            .alias("window_start"),
            "group_id",
        )
        .agg(F.max("value").alias("lag"))
        .where(F.col("lag").isNotNull())
        .orderBy("window_start", "group_id")
    )


def select_assignments(client_metrics: DataFrame) -> DataFrame:
    """Return received_at, member and partitions: what each member was assigned."""
    return (
        client_metrics.where(F.col("metric") == ASSIGNED)
        .transform(with_value)
        .where(F.col("value").isNotNull())
        .transform(with_client)
        .select(
            "received_at",
            F.concat_ws(", ", "group_id", "client").alias("member"),
            F.col("value").alias("partitions"),
        )
        .orderBy("received_at", "member")
    )


def _count_rebalances() -> Column:
    counted = F.sum(F.when(F.col("metric") == REBALANCES, F.col("amount")))
    is_told = (F.col("metric") == REBALANCE_LATENCY) & F.col("amount").isNotNull()
    noticed = F.sum(F.when(is_told, (F.col("amount") > 0).cast("double")))
    return F.coalesce(counted, noticed)


def _value_of(metric: str) -> Column:
    return F.when(F.col("metric") == metric, F.col("value"))


def _time_of(metric: str) -> Column:
    return F.when(F.col("metric") == metric, F.col("at"))
