"""Whether the tables can be trusted: what was not read, what is late, what is missing.

Reads only.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

ALL_READ = "all was read"
"""In the place of a reason."""
_HUNDRED = 100.0
_SECOND_MS = 1000.0


def select_rejected_share(
    client_pushes: DataFrame, quarantine: DataFrame, *, window_s: int
) -> DataFrame:
    """Return which part of the records of the topics could not be used, over time.

    Args:
        client_pushes: Those of the time.
        quarantine: Those of the time; a push whose body was at fault is in both.
        window_s: Length of a window, in seconds.
    Returns: window_start, reason and percent (of all records of the window).
    Shape: A row a window and reason, 0 where there was none; with no reason at all, a
        row a window with ALL_READ.
    """
    read = client_pushes.where(F.col("decode_status") == "ok").select(
        F.col("received_at").alias("at"), F.lit(None).cast("string").alias("reason")
    )
    rejected = quarantine.select(F.col("kafka_timestamp").alias("at"), "reason")
    start = F.window("at", f"{window_s} seconds").getField("start")
    counted = (
        read.union(rejected)
        .groupBy(start.alias("window_start"), "reason")
        .agg(F.count("*").alias("records"))
    )
    every = counted.groupBy("window_start").agg(F.sum("records").alias("all"))
    reasons = counted.select("reason").where("reason IS NOT NULL").distinct()
    places = every.join(F.broadcast(reasons), how="left")
    return (
        places.join(counted, ["window_start", "reason"], "left")
        .select(
            "window_start",
            F.coalesce("reason", F.lit(ALL_READ)).alias("reason"),
            (F.coalesce("records", F.lit(0)) * _HUNDRED / F.col("all")).alias(
                "percent"
            ),
        )
        .orderBy("window_start", "reason")
    )


def count_rejected(quarantine: DataFrame) -> DataFrame:
    """Return reason, source_job, records, newest and a detail; the most first."""
    return (
        quarantine.groupBy("reason", "source_job")
        .agg(
            F.count("*").alias("records"),
            # Producers choose the timestamps of their records.
            F.least(F.max("kafka_timestamp"), F.current_timestamp()).alias("newest"),
            F.max_by("detail", "kafka_timestamp").alias("detail"),
        )
        .orderBy(F.desc("records"), "reason", "source_job")
    )


def count_coverage(coverage: DataFrame) -> DataFrame:
    """Return for a picture: metric, status and clients; what most owe first.

    Args:
        coverage: client_metric_coverage, or part of it.
    """
    owed = F.sum(F.when(F.col("status") != "delivered", F.col("clients")))
    return (
        coverage.groupBy("metric", "status")
        .agg(F.count("*").alias("clients"))
        .withColumn("owed", owed.over(Window.partitionBy("metric")))
        .orderBy(F.desc_nulls_last("owed"), "metric", "status")
        .select("metric", "status", "clients")
    )


def select_delays(client_metrics: DataFrame, *, window_s: int) -> DataFrame:
    """Return how far clients' clocks are from the bridge's.

    A point is made when its push is; what is more than a moment is a clock that is
    wrong, or a push that had to wait.

    Returns: window_start, clients_within ("half of the pushes", "all"), delay_s.
    """
    delay = (F.unix_millis("received_at") - F.unix_millis("time")) / F.lit(_SECOND_MS)
    of_push = (
        client_metrics.where(F.col("time").isNotNull())
        .groupBy("push_id", "received_at")
        .agg(F.max(F.abs(delay)).alias("delay_s"))
    )
    found = of_push.groupBy(
        F.window("received_at", f"{window_s} seconds")
        .getField("start")
        .alias("window_start")
    ).agg(
        F.percentile_approx("delay_s", 0.5, 10_000).alias("half"),
        F.max("delay_s").alias("most"),
    )
    half, most = (
        found.select(
            "window_start",
            F.lit(name).alias("pushes_within"),
            F.col(column).alias("delay_s"),
        )
        for name, column in (("half of the pushes", "half"), ("all pushes", "most"))
    )
    return half.union(most).orderBy("window_start", "pushes_within")


def select_failures(quality_results: DataFrame) -> DataFrame:
    """Return what the newest run of check_tables found wrong, by table.

    Returns: table, expectation, meaning, failed_rows, observed, checked_at.
    """
    newest = quality_results.agg(F.max("checked_at").alias("checked_at"))
    return (
        quality_results.join(F.broadcast(newest), "checked_at", "left_semi")
        .where(~F.col("success"))
        .select(
            *("table", "expectation", "meaning", "failed_rows", "observed"),
            "checked_at",
        )
        .orderBy("table", "expectation")
    )
