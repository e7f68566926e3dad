"""Answers about the quality of the tables: rejected, late and missing data."""

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .chosen import Chosen

LEDGERS = {
    "client_pushes": "received_at",
    "client_config_pushes": "received_at",
    "cluster_changes": "observed_at",
}
"""Tables with one row for each record that was read, and the column of its time."""
_OF_CLUSTER = "cluster_changes"
_HUNDRED = 100.0
_SECOND_MS = 1000.0
_RIGHT = ("delivered", "nothing_happened", "not_supported")
"""Statuses of client_metric_coverage that are no problem."""


def select_records(
    quarantine: DataFrame, ledgers: Mapping[str, DataFrame]
) -> DataFrame:
    """Return the records of each topic with the result of reading them.

    Args:
        quarantine: Rows of the table, for the clients and the time that are chosen.
        ledgers: Of LEDGERS, the tables that exist, with the same choice.
    Returns: topic, at (time of the record), reason (null: the record was read).
    Shape: One row for each record. Topics whose job keeps no record of what it read
        have rejected records only.
    """
    parts = [
        quarantine.select("topic", F.col("kafka_timestamp").alias("at"), "reason"),
        *(
            rows.where(F.col("decode_status") == "ok").select(
                "topic",
                F.col(LEDGERS[name]).alias("at"),
                F.lit(None).cast("string").alias("reason"),
            )
            for name, rows in ledgers.items()
        ),
    ]
    return reduce(DataFrame.union, parts)


def count_records(records: DataFrame) -> DataFrame:
    """Return topic, read, rejected (counts) and rejected_percent; the worst first.

    Args:
        records: From select_records.
    Nulls: read and rejected_percent of a topic of which the number of records that
        were read is unknown.
    """
    read = F.nullif(F.count_if(F.col("reason").isNull()), F.lit(0))
    counted = records.groupBy("topic").agg(
        read.alias("read"), F.count("reason").alias("rejected")
    )
    percent = _HUNDRED * F.col("rejected") / (F.col("read") + F.col("rejected"))
    return counted.withColumn("rejected_percent", F.round(percent, 3)).orderBy(
        F.desc_nulls_last("rejected_percent"), F.desc("rejected"), "topic"
    )


def select_rejected_share(records: DataFrame, *, window_s: int) -> DataFrame:
    """Return the part of the records of each topic that was rejected, over time.

    Args:
        records: From select_records.
        window_s: Length of a window, in seconds.
    Returns: window_start, topic and percent (of the records of the topic in the
        window).
    Shape: No row of a topic without rejected records, or without records that were
        read.
    """
    start = F.window("at", f"{window_s} seconds").getField("start")
    every = Window.partitionBy("topic")
    return (
        records.groupBy(start.alias("window_start"), "topic")
        .agg(F.count("*").alias("all"), F.count("reason").alias("rejected"))
        .withColumn("all_rejected", F.sum("rejected").over(every))
        .withColumn("all_read", F.sum(F.col("all") - F.col("rejected")).over(every))
        .where((F.col("all_rejected") > 0) & (F.col("all_read") > 0))
        .select(
            "window_start",
            "topic",
            (_HUNDRED * F.col("rejected") / F.col("all")).alias("percent"),
        )
        .orderBy("window_start", "topic")
    )


def read_records(spark: SparkSession, picked: Chosen) -> DataFrame:
    """Return select_records for the clients and the time that are chosen.

    Records about the cluster belong to no client.
    """
    quarantine = spark.table("quarantine").transform(picked.of_clients)
    ledgers = {}
    for name, column in LEDGERS.items():
        if not spark.catalog.tableExists(name):
            continue
        rows = spark.table(name)
        if name == _OF_CLUSTER:
            rows = rows.where(F.lit(not picked.is_narrow))
        else:
            rows = rows.transform(picked.of_clients)
        ledgers[name] = picked.in_time(rows, column)
    return select_records(picked.in_time(quarantine, "kafka_timestamp"), ledgers)


def count_rejected(spark: SparkSession, picked: Chosen) -> DataFrame:
    """Return reason, source_job, records, newest and a detail; the most first."""
    quarantine = spark.table("quarantine").transform(picked.of_clients)
    return (
        picked.in_time(quarantine, "kafka_timestamp")
        .groupBy("reason", "source_job")
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
    owed = F.sum(F.when(~F.col("status").isin(*_RIGHT), F.col("clients")))
    return (
        coverage.groupBy("metric", "status")
        .agg(F.count("*").alias("clients"))
        .withColumn("owed", owed.over(Window.partitionBy("metric")))
        .orderBy(F.desc_nulls_last("owed"), "metric", "status")
        .select("metric", "status", "clients")
    )


def count_uncovered(coverage: DataFrame) -> DataFrame:
    """Return the metrics that some clients do not deliver, with clients by status.

    Args:
        coverage: client_metric_coverage, or part of it.
    Returns: metric, delivered, not_asked, missing, wrong_kind (counts of clients);
        the metric that most clients miss first.
    """
    statuses = ("delivered", "not_asked", "missing", "wrong_kind")
    return (
        coverage.groupBy("metric")
        .agg(*(F.count_if(F.col("status") == one).alias(one) for one in statuses))
        .where(F.col("not_asked") + F.col("missing") + F.col("wrong_kind") > 0)
        .orderBy(F.desc("missing"), F.desc("not_asked"), "metric")
    )


def select_delays(points: DataFrame, *, window_s: int) -> DataFrame:
    """Return the time between the points of a push and its arrival.

    Clients create points when they push. A long time means that the clock of a client
    is wrong, or that the push had to wait.

    Args:
        points: From points.read_points.
    Returns: window_start, pushes_within ("half of the pushes", "all pushes"), delay_s.
    """
    delay = (F.unix_millis("received_at") - F.unix_millis("time")) / F.lit(_SECOND_MS)
    of_push = (
        points.where(F.col("time").isNotNull())
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
