"""Answers about quotas: use, clients by quota, traffic, and changes. Reads only."""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .naming import name_clients, name_cluster

MOST_BARS = 20
"""Bars of a picture that can be read."""


def select_limits(client_quota_use: DataFrame) -> DataFrame:
    """Return each limit that clients share, the most used first.

    Args:
        client_quota_use: Rows of the view, for the clients that are chosen.
    Returns: cluster_id, entity_path, quota_key, quota_id, used_percent, basis, limit
        (of one broker), live_brokers, used_rate, throttled_ms, shared_by.
    """
    return (
        client_quota_use.where(F.col("limit").isNotNull())
        .withColumn("used_percent", 100 * F.col("use"))
        .select(
            *("cluster_id", "entity_path", "quota_key", "quota_id", "used_percent"),
            *("basis", "limit", "live_brokers", "used_rate", "throttled_ms"),
            "shared_by",
        )
        .distinct()
        .orderBy(
            F.desc_nulls_last("used_percent"),
            F.desc_nulls_last("throttled_ms"),
            *("cluster_id", "quota_id", "quota_key"),
        )
    )


def select_most_used(limits: DataFrame) -> DataFrame:
    """Return for a picture: quota (its name), used_percent; the most used first.

    Args:
        limits: From select_limits.
    """
    name = F.coalesce("quota_id", "entity_path", F.lit("default of the brokers"))
    return (
        limits.where(F.col("used_percent").isNotNull())
        .withColumn("quota", F.concat_ws(" ", name, "quota_key"))
        .transform(name_cluster, "quota")
        .orderBy(F.desc("used_percent"), "quota")
        .select("quota", "used_percent")
        .limit(MOST_BARS)
    )


def select_top(quota_use: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the limits of which clients use a part, the most used first.

    Args:
        quota_use: From quota_use.select_quota_use, of one cluster.
        keys: Quota keys that are wanted.
    Returns: Columns of quota_use.
    Shape: Clients without a limit come last.
    """
    return (
        quota_use.where(F.col("quota_key").isin(*keys))
        .where((F.col("used_rate") > 0) | (F.col("throttled_ms") > 0))
        .orderBy(
            *(F.desc_nulls_last("use"), F.desc("used_rate"), "principal", "client_id"),
            "quota_key",
        )
    )


def select_last_counts(client_traffic: DataFrame) -> DataFrame:
    """Return cluster_id, counted_until: the end of the proxy's newest window."""
    end = F.expr("timestampadd(MILLISECOND, window_ms, window_start)")
    return client_traffic.groupBy("cluster_id").agg(F.max(end).alias("counted_until"))


def read_quotas(spark: SparkSession) -> DataFrame:
    """Return effective_quotas: a row for each observed client and quota key."""
    return spark.table("effective_quotas")


def select_levels(effective_quotas: DataFrame) -> DataFrame:
    """Return which quota applies to how many clients.

    Returns: cluster_id, quota_key, level, entity_path, limit, clients and throttled
        (numbers of clients).
    Nulls: level, entity_path and limit if no quota applies.
    """
    client = F.struct("principal", "client_id")
    is_throttled = F.col("reported_throttle_ms_max") > 0
    return (
        effective_quotas.groupBy(
            "cluster_id", "quota_key", "level", "entity_path", "limit"
        )
        .agg(
            F.count_distinct(client).alias("clients"),
            F.count_distinct(F.when(is_throttled, client)).alias("throttled"),
        )
        .orderBy(
            *("cluster_id", "quota_key", "level", F.desc("clients"), "entity_path")
        )
    )


def select_traffic_over_time(client_traffic: DataFrame) -> DataFrame:
    """Return the bytes that clients of the proxy produced and fetched, at all brokers.

    Args:
        client_traffic: The table, or part of it.
    Returns: window_start, client (its name and the direction), bytes_s (bytes a
        second), throttled_ms (sum of the waits that brokers requested in the window).
    Shape: A direction without any bytes has no rows.
    """
    second = F.col("window_ms") / F.lit(1000.0)
    named = client_traffic.transform(name_clients)
    produced, fetched = (
        named.select(
            "window_start",
            F.concat_ws(" ", "client", F.lit(word)).alias("client"),
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


def select_quota_changes(
    client_quotas: DataFrame, since: datetime | None = None
) -> DataFrame:
    """Return each quota that was set, changed or removed, newest first.

    Args:
        since: First timestamp, with a time zone; None: all changes.
    Returns: at, cluster_id, entity_path, quota_key, before, after, not_before (the
        change came after it; null: at is exact), source.
    Nulls: before and after if the quota was not set.
    """
    quota = ["cluster_id", "entity_path", "quota_key"]
    window = Window.partitionBy(*quota).orderBy("valid_from")
    is_next = F.lag("valid_to").over(window) == F.col("valid_from")
    former = F.when(is_next, F.lag("quota_value").over(window))
    goes_on = F.lead("valid_from").over(window) == F.col("valid_to")
    rows = client_quotas.withColumn("before", former).withColumn(
        "is_followed", F.coalesce(goes_on, F.lit(False))
    )
    begun = rows.withColumn("at", F.col("valid_from")).withColumn(
        "after", F.col("quota_value")
    )
    ended = (
        rows.where("valid_to IS NOT NULL AND NOT is_followed")
        .withColumn("at", F.col("valid_to"))
        .withColumn("before", F.col("quota_value"))
        .withColumns({"after": F.lit(None).cast("double")})
        .withColumn("not_before", F.lit(None).cast("timestamp"))
    )
    columns = ("at", *quota, "before", "after", "not_before", "source")
    found = begun.select(*columns).union(ended.select(*columns))
    if since is not None:
        found = found.where(F.col("at") >= F.lit(since))
    return found.orderBy(F.desc("at"), *quota)
