"""What people ask first of quotas: who uses how much of what, and what changed.

Reads only.
"""

from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

MOST_BARS = 20
"""Bars of a picture that can be read."""


def select_quota_use(effective_quotas: DataFrame) -> DataFrame:
    """Return one row a principal and quota key: what it may, and what it does.

    Returns: principal, quota_key, clients, limit (the least that one broker allows any
        of its clients), cluster_limit (the same of all brokers), entity_paths, use (sum
        of the rates that its clients report), used_percent (of the whole that its
        quota-ids may), throttle_ms_max.
    Nulls: use is null where no client reports it, limit where nothing limits.
    """
    rows = effective_quotas.where(F.col("quota_key") != "connection_creation_rate")
    # Clients share what their quota-id may: it counts once.
    by_id = rows.groupBy("cluster_id", "principal", "quota_key", "quota_id").agg(
        F.count("*").alias("clients"),
        F.min("limit").alias("limit"),
        F.min("cluster_limit").alias("cluster_limit"),
        F.collect_set("entity_path").alias("entity_paths"),
        F.sum("reported_rate").alias("use"),
        F.max("reported_throttle_ms_max").alias("throttle_ms_max"),
    )
    allowed = F.sum(F.when(F.col("use").isNotNull(), F.col("cluster_limit")))
    used = F.sum(F.when(F.col("cluster_limit").isNotNull(), F.col("use")))
    return (
        by_id.groupBy("principal", "quota_key")
        .agg(
            F.sum("clients").alias("clients"),
            F.min("limit").alias("limit"),
            F.min("cluster_limit").alias("cluster_limit"),
            F.concat_ws(
                ", ",
                F.sort_array(
                    F.array_distinct(F.flatten(F.collect_list("entity_paths")))
                ),
            ).alias("entity_paths"),
            F.sum("use").alias("use"),
            F.round(100 * used / allowed, 1).alias("used_percent"),
            F.max("throttle_ms_max").alias("throttle_ms_max"),
        )
        .orderBy(F.desc_nulls_last("used_percent"), "principal", "quota_key")
    )


def select_most_used(effective_quotas: DataFrame) -> DataFrame:
    """Return for a picture: quota (principal and key), used_percent; the most first."""
    return (
        effective_quotas.transform(select_quota_use)
        .where(F.col("used_percent").isNotNull())
        .select(
            F.concat_ws(" ", "principal", "quota_key").alias("quota"), "used_percent"
        )
        .limit(MOST_BARS)
    )


def select_levels(effective_quotas: DataFrame) -> DataFrame:
    """Return what applies to whom.

    Returns: quota_key, level, entity_path, limit, clients and throttled (counts).
    Nulls: level, entity_path and limit of clients that nothing limits.
    """
    throttled = F.count_if(F.col("reported_throttle_ms_max") > 0)
    return (
        effective_quotas.groupBy("quota_key", "level", "entity_path", "limit")
        .agg(F.count("*").alias("clients"), throttled.alias("throttled"))
        .orderBy("quota_key", "level", F.desc("clients"), "entity_path")
    )


def select_traffic_over_time(client_traffic: DataFrame) -> DataFrame:
    """Return what clients behind the proxy produced and fetched, at all brokers.

    Args:
        client_traffic: The table, or part of it.
    Returns: window_start, client (client id and direction), bytes_s (bytes a second),
        throttled_ms (that brokers have told it to wait, in the whole window).
    Shape: A direction that a client has nothing in has no rows.
    """
    second = F.col("window_ms") / F.lit(1000.0)
    produced, fetched = (
        client_traffic.select(
            "window_start",
            F.concat_ws(" ", F.coalesce("client_id", "principal"), F.lit(word)).alias(
                "client"
            ),
            (F.col(size) / second).alias("bytes_s"),
            wait.alias("throttled_ms"),
        )
        for word, size, wait in (
            ("produced", "produced_bytes", F.col("produce_throttle_ms_sum")),
            (
                "fetched",
                "fetched_bytes",
                F.col("throttle_ms_sum") - F.col("produce_throttle_ms_sum"),
            ),
        )
    )
    return (
        produced.union(fetched)
        .groupBy("window_start", "client")
        .agg(
            F.sum("bytes_s").alias("bytes_s"),
            F.sum("throttled_ms").alias("throttled_ms"),
        )
        .withColumn("most", F.max("bytes_s").over(Window.partitionBy("client")))
        .where(F.col("most") > 0)
        .drop("most")
        .orderBy("window_start", "client")
    )


def select_quota_changes(client_quotas: DataFrame, since: datetime) -> DataFrame:
    """Return what was set, changed and removed since a moment, newest first.

    Args:
        since: The moment; knows its zone.
    Returns: at, entity_path, quota_key, before, after.
    Nulls: before and after are null where nothing was set.
    """
    quota = ["cluster_id", "entity_path", "quota_key"]
    window = Window.partitionBy(*quota).orderBy("valid_from")
    is_next = F.lag("valid_to").over(window) == F.col("valid_from")
    former = F.when(is_next, F.lag("quota_value").over(window))
    goes_on = F.lead("valid_from").over(window) == F.col("valid_to")
    rows = client_quotas.withColumn("before", former).withColumn(
        "is_followed", F.coalesce(goes_on, F.lit(False))
    )
    columns = ("at", *quota[1:], "before", "after")
    begun = rows.withColumn("at", F.col("valid_from")).withColumn(
        "after", F.col("quota_value")
    )
    ended = (
        rows.where("valid_to IS NOT NULL AND NOT is_followed")
        .withColumn("at", F.col("valid_to"))
        .withColumn("before", F.col("quota_value"))
        .withColumn("after", F.lit(None).cast("double"))
    )
    return (
        begun.select(*columns)
        .union(ended.select(*columns))
        .where(F.col("at") >= F.lit(since))
        .orderBy(F.desc("at"), "entity_path", "quota_key")
    )
