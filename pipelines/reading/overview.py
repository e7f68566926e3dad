"""First questions of people: who is connected, how slow, how much. Reads only."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .latency import select_newest_latency
from .naming import with_client


def select_clients(clients: DataFrame, points: DataFrame) -> DataFrame:
    """Return one readable row per client instance, newest request latency included.

    Args:
        clients: The view, or part of it.
        points: As read_points returns them.
    """
    latency = points.transform(select_newest_latency)
    software = F.concat_ws(" ", "client_software_name", "client_software_version")
    return (
        clients.join(latency, "client_instance_id", "left")
        .select(
            *("cluster_id", "client_id", "state", "latency_ms", "last_push"),
            *("client_type", software.alias("software"), "principal", "group_id"),
            *("pushes", "points"),
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


def select_busiest_metrics(points: DataFrame) -> DataFrame:
    """Return metrics by points, then size, with clients and spread of values.

    Args:
        points: As read_points returns them.
    Returns: One row per metric that had a value other than zero.
    """
    return (
        points.groupBy("metric", "kind")
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


def select_point_rate_over_time(points: DataFrame, *, window_s: int) -> DataFrame:
    """Return the data points per second of each client instance.

    Args:
        points: As read_points returns them.
        window_s: Window length in seconds.
    Returns: cluster_id, client, window_start, points_s.
    """
    window = F.window("at", f"{window_s} seconds").getField("start")
    return (
        points.groupBy(
            *("cluster_id", "client_instance_id", "client_id"),
            window.alias("window_start"),
        )
        .agg((F.count("*") / F.lit(float(window_s))).alias("points_s"))
        .transform(with_client)
        .select("cluster_id", "client", "window_start", "points_s")
        .orderBy("window_start", "client")
    )
