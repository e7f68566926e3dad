"""One metric over a group of clients, window by window. Reads only.

Which clients and which time is the caller's choice of rows: filter client_metrics by
event_date, metric and client first, then hand over what is left. A cumulative series
needs a point before the window to tell what came in it: begin one push earlier.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .overview import with_value

MINUTE_S = 60
SERIES = (
    "client_instance_id",
    "metric",
    "kind",
    "scope_name",
    "topic_name",
    "topic_partition",
    "node_id",
)
"""Columns that, beside the other attributes, tell the series of a client apart."""
_OTHER = "other_attributes"


def with_amounts(client_metrics: DataFrame) -> DataFrame:
    """Say what each point adds to what came before it.

    Args:
        client_metrics: Points; for a cumulative series all of its points.
    Returns: The points with value, amount and observations.
    Units: value and amount have the metric's; observations is a count.
    Nulls: amount is null for a gauge, for a sum that may fall, and for the first point
        of a cumulative series; observations for all but histograms.
    Source: opentelemetry-proto metrics.proto, AggregationTemporality. A cumulative
        value that falls, or whose start time changes, has begun anew at zero.
    """
    points = (
        client_metrics.transform(with_value)
        .withColumn(_OTHER, F.to_json("attributes"))
        .withColumn("at", F.coalesce("time", "received_at"))
    )
    is_histogram = F.col("distribution").isNotNull()
    total = F.when(is_histogram, F.col("distribution.sum")).otherwise(F.col("value"))
    now = F.struct(
        total.alias("total"),
        F.col("distribution.count").alias("count"),
        F.col("start_time_unix_nano").alias("start"),
    )
    order = Window.partitionBy(*SERIES, _OTHER).orderBy("at", "offset", "point_index")
    return (
        points.withColumn("now", now)
        .withColumn("before", F.lag("now").over(order))
        .withColumn("is_anew", F.expr(_IS_ANEW))
        .withColumn("amount", F.expr(_amount("total")))
        .withColumn("observations", F.expr(_amount("count")))
        .drop(_OTHER, "now", "before", "is_anew")
    )


# A distribution's count never falls; its sum does where values are negative.
_IS_ANEW = """
coalesce(now.start <> before.start, false)
OR coalesce(now.count < before.count, false)
OR (now.count IS NULL AND coalesce(now.total < before.total, false))
"""


def _amount(name: str) -> str:
    """Return SQL of what a point adds to a total or a count."""
    return f"""
    CASE
      WHEN kind = 'gauge' OR kind = 'summary' THEN NULL
      WHEN kind = 'sum' AND NOT coalesce(is_monotonic, false)
        AND temporality = 'cumulative' THEN NULL
      WHEN temporality = 'delta' THEN now.{name}
      WHEN temporality <> 'cumulative' OR before IS NULL THEN NULL
      WHEN is_anew THEN now.{name}
      ELSE now.{name} - before.{name}
    END
    """


def select_rollups(
    client_metrics: DataFrame, *, by: Sequence[str] = (), window_s: int = MINUTE_S
) -> DataFrame:
    """Return one row per metric and window, over all clients of the points.

    Args:
        client_metrics: Points of the metrics, clients and times that are wanted.
        by: Columns that rows are told apart by, too, such as client_id or topic_name.
        window_s: Length of a window in seconds.
    Returns: metric, kind, unit, window_start, by, clients and points (counts); avg,
        min, max and last of the values; sum (of amounts), rate (sum by second) and
        observations (of histograms).
    Units: As the metric; rate by second. window_start is UTC, by the points' own times.
    Nulls: Values that are null or NaN are passed over; sum and rate are null where no
        point says an amount, as with gauges.
    """
    window = F.window("at", f"{window_s} seconds").getField("start")
    keys = ["metric", "kind", "unit", "window_start", *by]
    newest = F.struct("at", "offset", "point_index", "value")
    known = F.when(F.col("value").isNotNull(), newest)
    return (
        client_metrics.transform(with_amounts)
        .withColumn("window_start", window)
        .groupBy(*keys)
        .agg(
            F.countDistinct("client_instance_id").alias("clients"),
            F.count("*").alias("points"),
            F.avg("value").alias("avg"),
            F.min("value").alias("min"),
            F.max("value").alias("max"),
            F.max(known).getField("value").alias("last"),
            F.sum("amount").alias("sum"),
            (F.sum("amount") / F.lit(float(window_s))).alias("rate"),
            F.sum("observations").alias("observations"),
        )
        .orderBy(*keys)
    )
