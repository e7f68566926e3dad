"""What people ask first: who is connected, how slow, how much. Reads only."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

# Java names the producer's and the consumer's request latency alike but for the group;
# librdkafka's consumer reports it per node only.
LATENCY_METRICS = (
    "org.apache.kafka.producer.request.latency.avg",
    "org.apache.kafka.producer.node.request.latency.avg",
    "org.apache.kafka.consumer.request.latency.avg",
    "org.apache.kafka.consumer.node.request.latency.avg",
    "org.apache.kafka.consumer.fetch.manager.fetch.latency.avg",
)
"""Request latencies in milliseconds, in the order of preference."""


def with_value(client_metrics: DataFrame) -> DataFrame:
    """Add `value`: as_double or as_int, as a double; null for NaN and for neither."""
    number = F.coalesce("value_double", F.col("value_long").cast("double"))
    return client_metrics.withColumn("value", F.when(~F.isnan(number), number))


def select_newest_values(client_metrics: DataFrame) -> DataFrame:
    """Return the newest value of each client instance and metric.

    Nulls: points without a value, or with NaN, are passed over.
    """
    newest = F.struct("received_at", "offset", "point_index", "value")
    return (
        client_metrics.transform(with_value)
        .where(F.col("value").isNotNull())
        .groupBy("client_instance_id", "client_id", "metric")
        .agg(F.max(newest).alias("newest"))
        .select(
            "client_instance_id",
            "client_id",
            "metric",
            F.col("newest.value").alias("value"),
            F.col("newest.received_at").alias("received_at"),
        )
    )


def select_newest_latency(client_metrics: DataFrame) -> DataFrame:
    """Return one row per client instance that made a request: its newest latency, ms.

    Nulls: a latency of zero means that there was no request; it is passed over.
    """
    preference = F.array_position(
        F.array(*[F.lit(name) for name in LATENCY_METRICS]), F.col("metric")
    )
    best = F.struct(-preference, "received_at", "offset", "point_index", "value")
    return (
        client_metrics.where(F.col("metric").isin(*LATENCY_METRICS))
        .transform(with_value)
        .where(F.col("value") > 0)
        .groupBy("client_instance_id")
        .agg(F.max(best).getField("value").alias("latency_ms"))
    )


def select_clients(clients: DataFrame, client_metrics: DataFrame) -> DataFrame:
    """Return one readable row per client instance, newest request latency included."""
    latency = client_metrics.transform(select_newest_latency)
    return (
        clients.join(latency, "client_instance_id", "left")
        .select(
            "client_id",
            "client_type",
            F.concat_ws(" ", "client_software_name", "client_software_version").alias(
                "software"
            ),
            "principal",
            "group_id",
            "state",
            "pushes",
            "points",
            "latency_ms",
            "last_push",
        )
        .orderBy("client_type", "client_id", "last_push")
    )


def select_busiest_metrics(client_metrics: DataFrame) -> DataFrame:
    """Return metrics by points, then size, with clients and spread of values.

    Shape: One row per metric that had a value other than zero.
    """
    return (
        client_metrics.transform(with_value)
        .groupBy("metric", "kind")
        .agg(
            F.count("*").alias("points"),
            F.countDistinct("client_instance_id").alias("clients"),
            F.min("value").alias("min"),
            F.avg("value").alias("avg"),
            F.max("value").alias("max"),
        )
        .where((F.col("min") != 0) | (F.col("max") != 0))
        .orderBy(F.desc("points"), F.desc("avg"), "metric")
    )


def select_latency_over_time(client_metrics: DataFrame) -> DataFrame:
    """Return (client, received_at, latency_ms): the mean over a push's points."""
    return (
        client_metrics.where(F.col("metric").isin(*LATENCY_METRICS))
        .transform(with_value)
        .where(F.col("value").isNotNull())
        .groupBy(client_label().alias("client"), "received_at")
        .agg(F.avg("value").alias("latency_ms"))
        .orderBy("received_at", "client")
    )


def select_point_rate_over_time(
    client_pushes: DataFrame, *, window: str = "10 seconds"
) -> DataFrame:
    """Return (client, window_start, points): data points per client and window."""
    return (
        client_pushes.groupBy(
            client_label().alias("client"),
            F.window("received_at", window).getField("start").alias("window_start"),
        )
        .agg(F.sum("point_count").alias("points"))
        .orderBy("window_start", "client")
    )


def client_label() -> Column:
    """Name a client for a legend: its client id, or how its instance id begins."""
    short = F.concat(F.lit("instance "), F.substring("client_instance_id", 1, 6))
    return F.coalesce("client_id", short)
