"""Data points with their meaning: value, level, time, owner, growth and rate.

All answers about metrics start here. client_metrics stores points as clients sent them;
this module defines once which number a point holds, what the number is of, when it was
true and how fast a sum grew.
"""

from collections.abc import Collection

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.telemetry import IDLE_AFTER_INTERVALS

from .chosen import Chosen
from .semantics import is_never, with_weighing_metrics, with_weights

SERIES = (
    "client_instance_id",
    "metric",
    "kind",
    "scope_name",
    "topic_name",
    "topic_partition",
    "node_id",
)
"""Columns that, with the other attributes, identify a series."""
CLIENT, NODE, TOPIC, PARTITION = "client", "node", "topic", "partition"
"""Levels of a point."""
_OWNER = {"cluster_id": "STRING", "client_type": "STRING", "push_interval_ms": "INT"}
"""Columns of client_instances that points get, with their types."""
_MAX_VALUE = 1e19
"""Greater than any 64-bit integer; means and sums of larger numbers mean nothing."""
_DEFAULT_INTERVAL_MS = 300_000
"""Kafka's default of interval.ms, for clients whose push interval is unknown."""
_SECOND = 1e6
"""In microseconds, as _NANOS in nanoseconds."""
_NANOS = 1e9
_OTHER = "other_attributes"


def read_points(
    spark: SparkSession,
    picked: Chosen | None = None,
    metrics: Collection[str] = (),
    instances: DataFrame | None = None,
) -> DataFrame:
    """Read data points from client_metrics with their meaning.

    Args:
        spark: Session in which client_metrics and client_instances are registered.
        picked: Clients and time range; None: all.
        metrics: Names of metrics; empty: all.
        instances: Rows of known_instances that own the points; None: all instances.
    Returns: The columns of client_metrics and those that with_meaning adds; with
        metrics also weight, which weighted means use.
    """
    points = spark.table("client_metrics")
    if picked is not None:
        points = points.transform(picked.select)
    if instances is None:
        instances = spark.table("client_instances")
    else:
        owned = instances.select("client_instance_id")
        points = points.join(owned, "client_instance_id", "left_semi")
    return choose_metrics(with_meaning(points, instances), metrics)


def choose_metrics(points: DataFrame, metrics: Collection[str]) -> DataFrame:
    """Keep the points of some metrics, and add weight, which needs points of others.

    Args:
        points: As with_meaning returns them.
        metrics: Names; empty: all, then without weight.
    """
    if not metrics or "weight" in points.columns:
        return points.where(F.col("metric").isin(*metrics)) if metrics else points
    needed = with_weighing_metrics(metrics)
    points = points.where(F.col("metric").isin(*sorted(needed)))
    if needed == {*metrics}:
        return points.withColumn("weight", F.lit(None).cast("double"))
    return points.transform(with_weights).where(F.col("metric").isin(*metrics))


def with_meaning(
    client_metrics: DataFrame, instances: DataFrame | None = None
) -> DataFrame:
    """Add what a point means to the rows of client_metrics.

    Args:
        client_metrics: Points.
        instances: Rows with client_instance_id, cluster_id, client_type and
            push_interval_ms; None: the points have these columns, or they are unknown.
    Returns: The points with value, is_nan, level, at, cluster_id, client_type and
        push_interval_ms. value is null for NaN, infinity, numbers beyond any 64-bit
        integer, and the age -1 of an event that never happened. at is the client's
        time, or received_at if the clocks differ by more than three push intervals.
    """
    points = client_metrics
    if instances is not None:
        owners = instances.select("client_instance_id", *_OWNER)
        points = points.drop(*_OWNER).join(owners, "client_instance_id", "left")
    for name, kind in _OWNER.items():
        if name not in points.columns:
            points = points.withColumn(name, F.lit(None).cast(kind))
    number = F.coalesce("value_double", F.col("value_long").cast("double"))
    # Spark orders NaN above all numbers, so the comparison rejects NaN as well.
    value = F.when((F.abs(number) <= _MAX_VALUE) & ~is_never(number), number)
    return points.withColumns(
        {
            "value": value,
            "is_nan": _or_false(F.isnan(number)),
            "level": level_of(),
            "at": _time_of_point(),
        }
    )


def level_of() -> Column:
    """Return the level of a point: client, node, topic or partition."""
    return (
        F.when(F.col("topic_partition").isNotNull(), PARTITION)
        .when(F.col("topic_name").isNotNull(), TOPIC)
        .when(F.col("node_id").isNotNull(), NODE)
        .otherwise(CLIENT)
    )


def _or_false(condition: Column) -> Column:
    return F.coalesce(condition, F.lit(False))


def _time_of_point() -> Column:
    interval_ms = F.coalesce("push_interval_ms", F.lit(_DEFAULT_INTERVAL_MS))
    limit = interval_ms.cast("bigint") * F.lit(IDLE_AFTER_INTERVALS * 1000)
    apart = F.abs(F.unix_micros("time") - F.unix_micros("received_at"))
    return F.when(apart <= limit, F.col("time")).otherwise(F.col("received_at"))


def with_rates(points: DataFrame) -> DataFrame:
    """Add the growth of sums and histograms, and the time in which they grew.

    Args:
        points: As with_meaning returns them; of a cumulative series all points, from
            one push before the time range on.
    Returns: The points with amount (unit of the metric), observations (count of a
        histogram), span_s (seconds) and rate (amount per second). amount is null for
        gauges, for sums that may fall, and for the first point of a cumulative series.
        span_s is the interval of a delta if the client sent its start; otherwise the
        time since the previous point of the series, or the push interval.
    References: opentelemetry-proto metrics.proto, AggregationTemporality. A cumulative
        value that falls, or whose start time changes, has restarted at zero.
    """
    totals = points.withColumns(
        {
            "total": F.coalesce("distribution.sum", "value"),
            "count": F.col("distribution.count"),
        }
    )
    sent_span = F.col("time_unix_nano") - F.col("start_time_unix_nano")
    has_growth = ~F.col("kind").isin("gauge", "summary")
    has_span = _or_false((F.col("temporality") == "delta") & (sent_span > 0))
    # Only series that depend on their previous point are sorted. The condition on kind
    # stands alone, so that it reaches the files.
    whole = totals.where(~has_growth | has_span).withColumns(
        {
            "amount": F.when(has_growth, F.col("total")),
            "observations": F.when(has_growth, F.col("count")),
            "span_s": F.when(has_growth, sent_span / F.lit(_NANOS)),
        }
    )
    rest = totals.where(has_growth).where(~has_span)
    return (
        whole.unionByName(rest.transform(_compare_with_previous))
        .withColumn(
            "rate", F.when(F.col("span_s") > 0, F.col("amount") / F.col("span_s"))
        )
        .drop("total", "count")
    )


def _compare_with_previous(totals: DataFrame) -> DataFrame:
    order = Window.partitionBy(*SERIES, _OTHER).orderBy("at", "offset", "point_index")
    previous = F.struct("total", "count", "start_time_unix_nano", "at")
    since_s = (F.unix_micros("at") - F.unix_micros("previous.at")) / F.lit(_SECOND)
    interval_s = F.col("push_interval_ms") / F.lit(1000.0)
    is_delta = F.col("temporality") == "delta"
    return (
        totals.withColumn(_OTHER, F.to_json("attributes"))
        .withColumn("previous", F.lag(previous).over(order))
        .withColumn("is_reset", F.expr(_IS_RESET))
        .withColumns(
            {
                "amount": F.expr(_growth("total")),
                "observations": F.expr(_growth("count")),
                "span_s": F.coalesce(since_s, F.when(is_delta, interval_s)),
            }
        )
        .drop(_OTHER, "previous", "is_reset")
    )


# A distribution's count never falls; its sum does if values are negative.
_IS_RESET = """
coalesce(start_time_unix_nano <> previous.start_time_unix_nano, false)
OR coalesce(count < previous.count, false)
OR (count IS NULL AND coalesce(total < previous.total, false))
"""


def _growth(name: str) -> str:
    """Return the SQL of the growth since the previous point of the series."""
    return f"""
    CASE
      WHEN temporality = 'delta' THEN {name}
      WHEN kind = 'sum' AND NOT coalesce(is_monotonic, false) THEN NULL
      WHEN temporality <> 'cumulative' OR previous IS NULL THEN NULL
      WHEN is_reset THEN {name}
      ELSE {name} - previous.{name}
    END
    """
