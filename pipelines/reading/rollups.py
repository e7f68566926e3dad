"""Roll-ups of metrics: one value per client, group of clients and time window.

conf/metric_semantics.csv defines how values combine: over nodes, over topics and
partitions, over the pushes of an instance, and over instances. A sum counts by what it
grew; a growth is divided by its own time, never by the window in which it arrived.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .client_states import ACTIVE, current_from_sql
from .points import CLIENT, NODE, with_meaning, with_rates
from .semantics import (
    OVER_INSTANCES,
    OVER_NODES,
    OVER_PARTS,
    OVER_TIME,
    combination,
    combine,
    unit_of_point,
    with_weights,
)

LABELS = ("node_id", "node_role", "topic_name", "topic_partition")
"""Columns of points that `by` may contain: only points with the label are used then."""
_IDENTITY = (
    "cluster_id",
    "client_instance_id",
    "client_id",
    "principal",
    "client_type",
)
_PUSH = ("push_id", "received_at")
_SUMS = ("weight", "amount", "observations", "rate")
_THOUSAND = 1000


def read_current(client_metrics: DataFrame, known_instances: DataFrame) -> DataFrame:
    """Read the points of current values, with their meaning and rates.

    Args:
        client_metrics: Points since one push interval before the current ones.
        known_instances: The view.
    Returns: As with_rates; the points that select_current keeps.
    """
    active = _list_active(known_instances)
    recent = client_metrics.join(active, "client_instance_id").where(
        F.col("received_at") > F.col("previous_from")
    )
    return (
        recent.transform(with_meaning)
        .transform(with_rates)
        .where(F.col("received_at") > F.col("current_from"))
        .drop("current_from", "previous_from")
    )


def select_current(points: DataFrame, known_instances: DataFrame) -> DataFrame:
    """Keep the points of active instances from their last three push intervals.

    No current value is older than the state active allows.

    Args:
        points: As with_rates returns them, so that the first growth in the time counts.
        known_instances: The view, or part of it.
    """
    active = _list_active(known_instances).select("client_instance_id", "current_from")
    return (
        points.join(active, "client_instance_id")
        .where(F.col("received_at") > F.col("current_from"))
        .drop("current_from")
    )


def _list_active(known_instances: DataFrame) -> DataFrame:
    return known_instances.where(
        (F.col("state") == ACTIVE) & F.col("last_push").isNotNull()
    ).select(
        *("client_instance_id", "cluster_id", "client_type", "push_interval_ms"),
        F.expr(current_from_sql()).alias("current_from"),
        F.expr(current_from_sql(more_intervals=1)).alias("previous_from"),
    )


def instance_values(points: DataFrame, *, by: Sequence[str] = ()) -> DataFrame:
    """Return one row per push and metric: the value of the client instance.

    It is the client-level point if the push has one, whatever its value; otherwise the
    node-level points combined over nodes; otherwise those of topics and partitions.

    Args:
        points: As read_points returns them.
        by: More columns to keep apart; with one of LABELS, the points without that
            label are left out.
    Returns: cluster_id, client_instance_id, client_id, principal, client_type, by,
        push_id, received_at, at, metric, kind, unit, value and weight (of a gauge),
        amount, observations, span_s and rate (of a sum or histogram).
    """
    if "weight" not in points.columns:
        points = points.transform(with_weights)
    if "amount" not in points.columns:
        points = points.transform(with_rates)
    for label in by:
        if label in LABELS:
            points = points.where(F.col(label).isNotNull())
    keys = dict.fromkeys((*_IDENTITY, *by, *_PUSH, "metric", "kind"))
    over_parts = combination(OVER_PARTS)
    # With a label given, the points of one node, topic or partition are the whole.
    levels = {
        CLIENT: (F.col("level") == CLIENT, over_parts),
        NODE: (F.col("level") == NODE, combination(OVER_NODES)),
        "part": (~F.col("level").isin(CLIENT, NODE), over_parts),
    }
    found = []
    for name, (is_level, word) in levels.items():
        value, weight = (F.when(is_level, F.col(one)) for one in ("value", "weight"))
        combined = combine(word, value, at=F.col("at"), weight=weight)
        sums = (F.sum(F.when(is_level, F.col(one))).alias(one) for one in _SUMS)
        count = F.count(F.when(is_level, 1)).alias("points")
        found.append(
            F.struct(count, combined.alias("value"), *sums).alias(f"of_{name}")
        )
    whole = F.coalesce(
        *(F.when(F.col(f"of_{one}.points") > 0, F.col(f"of_{one}")) for one in levels)
    )
    return (
        points.groupBy(*keys)
        .agg(
            F.max("at").alias("at"),
            F.max("unit").alias("unit"),
            F.max("span_s").alias("span_s"),
            *found,
        )
        .withColumn("whole", whole)
        .select(
            *keys,
            "at",
            unit_of_point().alias("unit"),
            F.when(F.col("kind") == "gauge", F.col("whole.value")).alias("value"),
            *(F.col(f"whole.{one}").alias(one) for one in _SUMS),
            "span_s",
        )
    )


def roll_up(
    points: DataFrame, *, by: Sequence[str] = (), window_s: int | None = None
) -> DataFrame:
    """Return one value per metric, group and window, by the semantics of the metric.

    Args:
        points: As read_points returns them.
        by: Columns of a group, such as cluster_id, client_id or topic_name; instances
            whose values are null here are one group.
        window_s: Window length in seconds, by `at`; raised to the longest push interval
            of the points, because an instance without a push in a window would be
            missing from a sum. None: no windows.
    Returns: metric, kind, unit, by, window_start (with windows), value (of a gauge; of
        a sum the growth per second; of a histogram the mean of its observations),
        amount (growth), instances and points (counts). Groups without a value or an
        amount are left out.
    """
    values = points.transform(instance_values, by=by)
    keys = ["metric", "kind", *by]
    if window_s is not None:
        length_s = max(window_s, longest_interval_s(points))
        window = F.window("at", f"{length_s} seconds").getField("start")
        values = values.withColumn("window_start", window)
        keys.append("window_start")
    of_instance = values.groupBy(*dict.fromkeys((*keys, "client_instance_id"))).agg(
        combine(combination(OVER_TIME), F.col("value"), at=F.col("at")).alias("value"),
        F.avg("weight").alias("weight"),
        F.max("at").alias("at"),
        F.max("unit").alias("unit"),
        F.sum("amount").alias("amount"),
        F.sum("observations").alias("observations"),
        _rate_over_time().alias("rate"),
        F.count("*").alias("points"),
    )
    word = combination(OVER_INSTANCES)
    return (
        of_instance.groupBy(*keys)
        .agg(
            combine(word, F.col("value"), at=F.col("at"), weight=F.col("weight")).alias(
                "of_gauges"
            ),
            F.sum("rate").alias("rate"),
            F.sum("amount").alias("amount"),
            F.sum("observations").alias("observations"),
            F.max("unit").alias("unit"),
            F.count("*").alias("instances"),
            F.sum("points").alias("points"),
        )
        .withColumn("value", _value_of_group())
        .where(F.col("value").isNotNull() | F.col("amount").isNotNull())
        .select(
            *("metric", "kind", "unit", *keys[2:]),
            *("value", "amount", "instances", "points"),
        )
    )


def _rate_over_time() -> Column:
    """Return the growth of an instance per second, over all time that is known."""
    seconds = F.when(F.col("rate").isNotNull(), F.col("span_s"))
    return F.sum(F.col("rate") * seconds) / F.sum(seconds)


def _value_of_group() -> Column:
    return (
        F.when(F.col("kind") == "gauge", F.col("of_gauges"))
        .when(F.col("kind") == "sum", F.col("rate"))
        .when(F.col("observations") > 0, F.col("amount") / F.col("observations"))
    )


def longest_interval_s(points: DataFrame) -> int:
    """Return the longest push interval of the points, in whole seconds; 0: unknown."""
    longest = points.agg(F.max("push_interval_ms")).collect()[0][0] or 0
    return int(-(-longest // _THOUSAND))
