"""Meaning of metrics as Spark columns: how values combine, their units, their weights.

The rows are those of conf/metric_semantics.csv, as settings.metric_semantics reads
them. A query contains them as a constant map from metric to word.
"""

from collections.abc import Collection, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.settings.metric_semantics import (
    ADD,
    ADDED,
    DEFAULTS,
    GAUGE,
    LAST,
    MAX,
    MEAN,
    MIN,
    NUMBER,
    SECONDS,
    SUM,
    WEIGHTED_MEAN,
    load_metric_semantics,
)

OVER_NODES, OVER_PARTS, OVER_INSTANCES, OVER_TIME = (
    *("over_nodes", "over_parts", "over_instances", "over_time"),
)
"""Dimensions over which values combine."""
_PLACE = ("node_id", "node_role", "topic_name", "topic_partition")
"""What a point and its weight have in common, besides the push."""


def combination(dimension: str) -> Column:
    """Return how values of the metric in columns metric and kind combine.

    Args:
        dimension: OVER_NODES, OVER_PARTS, OVER_INSTANCES or OVER_TIME.
    Returns: One of COMBINATIONS; a default for metrics without a row.
    """
    words = {
        one.metric: str(getattr(one, dimension))
        for one in load_metric_semantics()
        if one.kind == GAUGE
    }
    is_time = dimension == OVER_TIME
    default = F.lit(ADDED.over_time if is_time else ADDED.spread)
    for rule in reversed(DEFAULTS):
        word = rule.over_time if is_time else rule.spread
        default = F.when(F.col("metric").rlike(rule.pattern), word).otherwise(default)
    of_gauge = F.coalesce(_find_word(words), default)
    return F.when(F.col("kind") == GAUGE, of_gauge).otherwise(ADD)


def combine(
    word: Column, value: Column, *, at: Column, weight: Column | None = None
) -> Column:
    """Return an aggregate of values by the word of their metric.

    Args:
        word: As combination returns it; metric and kind are grouped by.
        value: Null values are ignored.
        at: Times of the values, for the newest of them.
        weight: Weights of the values. A weighted mean is a plain mean if a value
            lacks its weight, or if all weights are zero.
    """
    mean = F.avg(value)
    weighted = F.lit(None).cast("double")
    if weight is not None:
        used = F.when(value.isNotNull(), weight)
        is_complete = F.count(used) == F.count(value)
        weighted = F.when(is_complete, F.try_divide(F.sum(value * used), F.sum(used)))
    choices = {
        ADD: F.sum(value),
        MAX: F.max(value),
        MIN: F.min(value),
        LAST: F.max_by(value, F.when(value.isNotNull(), at)),
        MEAN: mean,
        WEIGHTED_MEAN: F.coalesce(weighted, mean),
    }
    # One reference to the word: each further one would copy its expression.
    place = F.array_position(F.array(*map(F.lit, choices)), word)
    return F.element_at(F.array(*choices.values()), place.cast("int"))


def with_weights(points: DataFrame) -> DataFrame:
    """Add column weight: the number that weighs a point in a weighted mean.

    Args:
        points: Whole pushes, with value; with_weighing_metrics says which metrics.
    Returns: The points. weight is the value of the weighing metric in the same push,
        for the same node, topic and partition; null if the push does not have it.
    """
    weights_of = {
        one.metric: one.weight for one in load_metric_semantics() if one.weight
    }
    place = ("client_instance_id", "push_id", *_PLACE)
    weights = (
        points.where(
            F.col("metric").isin(*sorted({*weights_of.values()}))
            & F.col("value").isNotNull()
        )
        .groupBy("metric", *place)
        .agg(F.first("value").alias("weight"))
        .alias("weights")
    )
    same = [F.col("weights.metric") == F.col("points.weighing")]
    same += [
        F.col(f"weights.{one}").eqNullSafe(F.col(f"points.{one}")) for one in place
    ]
    # A join and not a window: filters on metric reach the files on both sides.
    return (
        points.withColumn("weighing", _find_word(weights_of))
        .alias("points")
        .join(weights, same, "left")
        .select("points.*", "weights.weight")
        .drop("weighing")
    )


def with_weighing_metrics(metrics: Collection[str]) -> frozenset[str]:
    """Return the metrics, and those that weigh their means."""
    weights = {one.metric: one.weight for one in load_metric_semantics()}
    weighing = (weights.get(metric) for metric in metrics)
    return frozenset(metrics).union(one for one in weighing if one)


def unit_of_point(*, is_rate: bool = True) -> Column:
    """Return the unit of a value, from columns metric, kind and unit.

    The unit that the client sent takes precedence.

    Args:
        is_rate: Whether sums count by their growth per second.
    """
    known = _find_word({one.metric: one.unit for one in load_metric_semantics()})
    unit = F.coalesce(F.nullif("unit", F.lit("")), known, F.lit(NUMBER))
    growth = F.when(unit == NUMBER, "1/s").otherwise(F.concat(unit, F.lit("/s")))
    return F.when((F.col("kind") == SUM) & F.lit(is_rate), growth).otherwise(unit)


def is_never(number: Column) -> Column:
    """Return whether a number of column metric means that nothing happened yet.

    Java's clients write -1 for the age of an event that has not happened.
    """
    ages = [one.metric for one in load_metric_semantics() if one.unit == SECONDS]
    return F.col("metric").isin(*ages) & (number < 0)


def is_quantity() -> Column:
    """Return whether values of column metric may be compared: no clock and no ID."""
    others = [one.metric for one in load_metric_semantics() if not one.is_quantity]
    return ~F.col("metric").isin(*others)


def _find_word(words: Mapping[str, str]) -> Column:
    """Return the word of column metric; null for a metric without one."""
    # Spark computes the map once per query. Conditions on names would be far longer.
    pairs = ",".join(f"{metric}={word}" for metric, word in words.items())
    return F.str_to_map(F.lit(pairs), F.lit(","), F.lit("="))[F.col("metric")]
