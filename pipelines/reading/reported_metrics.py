"""What clients reported in a window: points, and one row with all metrics of a client.

Rules of findings read it. A window is never shorter than the time that a client needs
for the fewest pushes that say something.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .client_states import time_sql
from .points import CLIENT, with_meaning, with_rates
from .quota_clients import LONGEST_INTERVAL

MIN_PUSHES = 3
"""Pushes of a client in its window, before its metrics say something."""
PREFIX = "org.apache.kafka."
_INSTANCE = "client_instance_id"
_INTERVALS = MIN_PUSHES + 0.5
"""Push intervals in the shortest window: a push may come half an interval late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportWindow:
    """The times of one evaluation."""

    now: datetime
    """Knows its zone."""
    length: timedelta
    """Of clients that push often; the window of the others is longer."""
    observed: timedelta
    """How long what was seen of a client counts."""

    @property
    def start(self) -> datetime:
        """Return when the window of clients that push often begins."""
        return self.now - self.length

    @property
    def earliest(self) -> datetime:
        """Return when the longest window of a client begins."""
        return self.now - max(self.length, _INTERVALS * LONGEST_INTERVAL)


def window_seconds_sql(length: timedelta, interval: str = "push_interval_ms") -> str:
    """Return the SQL of the length of a client's window, in seconds.

    Args:
        length: Of the shortest window.
        interval: SQL of the push interval in milliseconds; null: not known.
    """
    return (
        f"greatest({length.total_seconds()!r}D, "
        f"{_INTERVALS} * coalesce({interval}, 0) / 1000.0D)"
    )


def select_points(
    spark: SparkSession, metrics: Sequence[str], window: ReportWindow
) -> DataFrame:
    """Return the points of the window of each client.

    Args:
        spark: Session in which client_metrics and client_instances are registered.
        metrics: Names without PREFIX; without one there are no points.
    Returns: The columns of with_meaning, with metric without PREFIX.
    """
    points = spark.table("client_metrics").where(
        F.col("metric").isin(*(f"{PREFIX}{one}" for one in metrics))
        if metrics
        else F.lit(False)
    )
    slow = _select_slow(spark, window)
    longest = _longest_window(slow, window)
    chosen = points.where(_is_between(window.now - longest, window.now))
    if longest > window.length:
        late = chosen.join(slow, _INSTANCE, "left").where(
            F.col("received_at") >= F.coalesce("window_from", F.lit(window.start))
        )
        chosen = late.drop("window_from")
    named = F.expr(f"substring(metric, {len(PREFIX) + 1})")
    return chosen.transform(with_meaning).withColumn("metric", named)


def _select_slow(spark: SparkSession, window: ReportWindow) -> DataFrame:
    """Return instances whose window is longer, with window_from."""
    since = time_sql(window.earliest)
    seconds = window_seconds_sql(window.length)
    is_slow = f"{seconds} > {window.length.total_seconds()!r}D"
    pushing = spark.table("client_pushes").where(
        f"event_date >= date({since}) AND received_at >= {since} AND {is_slow}"
    )
    starts = (
        f"timestampadd(MICROSECOND, bigint(-1e6 * {seconds}), {time_sql(window.now)})"
    )
    return (
        spark.table("client_instances")
        .where(is_slow)
        .join(pushing, _INSTANCE, "left_semi")
        .selectExpr(_INSTANCE, f"{starts} AS window_from")
    )


def _longest_window(slow: DataFrame, window: ReportWindow) -> timedelta:
    ((earliest,),) = slow.agg(F.unix_micros(F.min("window_from"))).collect()
    if earliest is None:
        return window.length
    longest = timedelta(microseconds=window.now.timestamp() * 1e6 - earliest)
    return min(longest, window.now - window.earliest)


def _is_between(earliest: datetime, latest: datetime) -> Column:
    return F.expr(
        f"event_date >= date({time_sql(earliest)}) AND received_at "
        f"BETWEEN {time_sql(earliest)} AND {time_sql(latest)}"
    )


def select_reports(points: DataFrame) -> DataFrame:
    """Return one row a client: `told`, a map from each metric to what it said.

    Args:
        points: From select_points.
    Returns: client_instance_id and told, whose structs have reported_at (the newest
        point, NaN or not), at and newest (of the newest value), total, pushes,
        positive, first, last, min and max. Values of a sum that only grows are its
        growth in each push. Only points of a client as a whole count.
    """
    is_growth = (F.col("kind") == "sum") & (
        (F.col("temporality") == "delta") | F.coalesce("is_monotonic", F.lit(False))
    )
    value = F.when(is_growth, F.col("amount")).otherwise(F.col("value"))
    values = (
        points.where(F.col("level") == CLIENT)
        .transform(with_rates)
        .select(_INSTANCE, "metric", "received_at", value.alias("value"))
    )
    known_at = F.when(F.col("value").isNotNull(), F.col("received_at"))
    each = values.groupBy(_INSTANCE, "metric").agg(
        F.struct(
            F.max("received_at").alias("reported_at"),
            F.max(known_at).alias("at"),
            F.max_by("value", known_at).alias("newest"),
            F.sum("value").alias("total"),
            F.count("value").alias("pushes"),
            F.count_if(F.col("value") > 0).alias("positive"),
            F.min_by("value", known_at).alias("first"),
            F.max_by("value", known_at).alias("last"),
            F.min("value").alias("min"),
            F.max("value").alias("max"),
        ).alias("told")
    )
    pairs = F.collect_list(F.struct("metric", "told"))
    return each.groupBy(_INSTANCE).agg(F.map_from_entries(pairs).alias("told"))


def select_quiet(
    spark: SparkSession,
    metrics: Collection[str],
    families: str,
    window: ReportWindow,
) -> DataFrame:
    """Return which metrics a client leaves out because nothing happened.

    Some clients leave a metric out of their pushes if nothing happened. Such a client
    is known to be asked for a metric if it has delivered it under the subscription
    that it has now.

    Args:
        spark: Session in which client_metrics and client_pushes are registered.
        metrics: Metrics that these clients leave out, without PREFIX.
        families: SQL condition on client_software_name and client_software_version
            that chooses these clients.
        window: How long what was delivered counts is its `observed`.
    Returns: client_instance_id and quiet, an array of metrics.
    """
    nothing = "client_instance_id STRING, quiet ARRAY<STRING>"
    if spark.table("client_instances").where(families).isEmpty():
        # Without such clients, a day of points need not be read.
        return spark.createDataFrame([], nothing)
    names = ", ".join(f"'{PREFIX}{one}'" for one in metrics) or "''"
    since = time_sql(window.now - window.observed)
    is_meant = (
        f"received_at BETWEEN {since} AND {time_sql(window.now)} AND ({families})"
    )
    pushes = (
        spark.table("client_pushes")
        .where(f"event_date >= date({since})")
        .where(is_meant)
    )
    current = pushes.groupBy(_INSTANCE).agg(
        F.max_by("subscription_id", "received_at").alias("subscription_id")
    )
    delivered = (
        spark.table("client_metrics")
        .where(f"event_date >= date({since}) AND metric IN ({names})")
        .where(is_meant)
        .select(
            "push_id", F.expr(f"substring(metric, {len(PREFIX) + 1})").alias("metric")
        )
        .distinct()
    )
    return (
        pushes.select(_INSTANCE, "push_id", "subscription_id")
        .join(delivered, "push_id")
        .join(current, [_INSTANCE, "subscription_id"])
        .groupBy(_INSTANCE)
        .agg(F.collect_set("metric").alias("quiet"))
    )
