"""What people ask first: who is connected, how slow, how much. Reads only."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

# Fetch latency is none of them: of a consumer that waits for records it is the wait.
OWN_LATENCY_METRICS = (
    "org.apache.kafka.producer.request.latency.avg",
    "org.apache.kafka.consumer.request.latency.avg",
)
"""Mean time of a client's requests, in milliseconds; consumers do not report it."""
NODE_LATENCY_METRICS = (
    "org.apache.kafka.producer.node.request.latency.avg",
    "org.apache.kafka.consumer.node.request.latency.avg",
)
"""The same for each broker, of all requests to it."""
_SHORT_ID = 6


_MAX_VALUE = 1e19
"""More than any 64-bit integer; means and sums of larger numbers are meaningless."""


def with_value(client_metrics: DataFrame) -> DataFrame:
    """Add `value`: as_double or as_int, as a double.

    The value is null for NaN, for infinity, for numbers beyond any 64-bit integer, and
    if the point has neither.
    """
    number = F.coalesce("value_double", F.col("value_long").cast("double"))
    # Spark orders NaN above all numbers.
    is_usable = F.abs(number) <= _MAX_VALUE
    return client_metrics.withColumn("value", F.when(is_usable, number))


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


def select_request_latency(client_metrics: DataFrame) -> DataFrame:
    """Return the request latency of client instances, push by push.

    It is the client's own metric where the push has it, whatever its value; elsewhere
    the mean over the brokers that it reported, each counting alike, for nobody says how
    many requests each had.

    Returns: client_instance_id, client_id, received_at, latency_ms.
    Nulls: none; a value of zero or NaN means that there was no request, and is left
        out, and so is a push that has no other.
    """
    is_own = F.col("metric").isin(*OWN_LATENCY_METRICS)
    is_told = F.col("value") > 0
    own = F.avg(F.when(is_own & is_told, F.col("value")))
    of_nodes = F.avg(F.when(~is_own & is_told, F.col("value")))
    return (
        client_metrics.where(
            F.col("metric").isin(*OWN_LATENCY_METRICS, *NODE_LATENCY_METRICS)
        )
        .transform(with_value)
        .groupBy("client_instance_id", "client_id", "received_at")
        .agg(F.when(F.max(is_own), own).otherwise(of_nodes).alias("latency_ms"))
        .where(F.col("latency_ms").isNotNull())
    )


def select_newest_latency(client_metrics: DataFrame) -> DataFrame:
    """Return one row per client instance that made a request: its newest latency, ms.

    It is the last one that select_latency_over_time has of it.
    """
    return (
        client_metrics.transform(select_request_latency)
        .groupBy("client_instance_id")
        .agg(F.max_by("latency_ms", "received_at").alias("latency_ms"))
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


def select_software(clients: DataFrame) -> DataFrame:
    """Return for a picture: software, state and clients; the most used first.

    Args:
        clients: The view, or part of it.
    """
    software = F.concat_ws(" ", "client_software_name", "client_software_version")
    every = Window.partitionBy("software")
    return (
        clients.groupBy(software.alias("software"), "state")
        .agg(F.count("*").alias("clients"))
        .withColumn("all", F.sum("clients").over(every))
        .orderBy(F.desc("all"), "software", "state")
        .select("software", "state", "clients")
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
    """Return (client, received_at, latency_ms), as select_request_latency has it."""
    return (
        client_metrics.transform(select_request_latency)
        .transform(with_client)
        .select("client", "received_at", "latency_ms")
        .orderBy("received_at", "client")
    )


def select_point_rate_over_time(
    client_pushes: DataFrame, *, window_s: int
) -> DataFrame:
    """Return (client, window_start, points_s): data points a second of each client.

    Args:
        client_pushes: Those of the time.
        window_s: Length of a window, in seconds.
    """
    return (
        client_pushes.groupBy(
            "client_instance_id",
            "client_id",
            F.window("received_at", f"{window_s} seconds")
            .getField("start")
            .alias("window_start"),
        )
        .agg((F.sum("point_count") / F.lit(float(window_s))).alias("points_s"))
        .transform(with_client)
        .select("client", "window_start", "points_s")
        .orderBy("window_start", "client")
    )


def with_client(rows: DataFrame) -> DataFrame:
    """Add `client`, which names each client instance of the rows for a legend.

    It is the client id, with the beginning of the instance id where several instances
    have one client id, or none has been told.
    """
    short = F.substring("client_instance_id", 1, _SHORT_ID)
    instances = F.collect_set("client_instance_id").over(
        Window.partitionBy("client_id")
    )
    shared = F.concat("client_id", F.lit(" ("), short, F.lit(")"))
    named = F.when(F.size(instances) > 1, shared).otherwise(F.col("client_id"))
    return rows.withColumn(
        "client", F.coalesce(named, F.concat(F.lit("instance "), short))
    )
