"""How long clients wait for brokers, over time, by broker and by client. Reads only."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .overview import NODE_LATENCY_METRICS, select_request_latency, with_value

QUANTILES = {"half of the clients": 0.5, "9 of 10": 0.9, "99 of 100": 0.99, "all": 1.0}
"""Name of a line to the share of clients that waits at most so long."""
NODE_MAX_METRICS = tuple(
    metric.replace(".avg", ".max") for metric in NODE_LATENCY_METRICS
)
_PRODUCER = "org.apache.kafka.producer."
_CONSUMER = "org.apache.kafka.consumer."
WAITS = {
    "request": f"{_PRODUCER}request.latency.avg",
    "record to be sent": f"{_PRODUCER}record.queue.time.avg",
    "throttled produce": f"{_PRODUCER}produce.throttle.time.avg",
    "fetch": f"{_CONSUMER}fetch.manager.fetch.latency.avg",
    "commit": f"{_CONSUMER}coordinator.commit.latency.avg",
    "throttled fetch": f"{_CONSUMER}fetch.manager.fetch.throttle.time.avg",
}
"""What a client waits for to the metric that says how long, in milliseconds."""


def select_latency_bands(client_metrics: DataFrame, *, window_s: int) -> DataFrame:
    """Return how long clients wait for an answer, over time.

    Args:
        client_metrics: Points of the clients and times that are wanted.
        window_s: Length of a window, in seconds.
    Returns: window_start, clients_within (a key of QUANTILES), latency_ms: the greatest
        mean of a request among so many clients, the fastest first.
    Nulls: A window in which no client made a request has no row.
    """
    of_client = (
        client_metrics.transform(select_request_latency)
        .groupBy(
            F.window("received_at", f"{window_s} seconds")
            .getField("start")
            .alias("window_start"),
            "client_instance_id",
        )
        .agg(F.avg("latency_ms").alias("latency_ms"))
    )
    shares = F.array(*map(F.lit, QUANTILES.values()))
    found = F.percentile_approx("latency_ms", shares, 10_000)
    names = F.array(*map(F.lit, QUANTILES))
    return (
        of_client.groupBy("window_start")
        .agg(found.alias("found"))
        .select("window_start", F.explode(F.arrays_zip(names, "found")).alias("band"))
        .select(
            "window_start",
            F.col("band")["0"].alias("clients_within"),
            F.col("band")["found"].alias("latency_ms"),
        )
        .orderBy("window_start", "latency_ms")
    )


def select_latency_by_broker(client_metrics: DataFrame) -> DataFrame:
    """Return how long each broker lets clients wait.

    Returns: broker, clients (count), latency_ms (mean of the clients' means),
        latency_ms_max; the slowest first. What clients ask a broker as coordinator of
        their group counts for that broker; a bootstrap address is none.
    """
    is_broker = F.col("node_role").isin("broker", "coordinator")
    is_max = F.col("metric").isin(*NODE_MAX_METRICS)
    return (
        client_metrics.where(
            F.col("metric").isin(*NODE_LATENCY_METRICS, *NODE_MAX_METRICS)
        )
        .transform(with_value)
        .where(F.col("value") > 0)
        .where(is_broker)
        .withColumn("broker", F.col("node_id").try_cast("bigint"))
        .groupBy("broker", "client_instance_id")
        .agg(
            F.avg(F.when(~is_max, F.col("value"))).alias("mean"),
            F.max(F.when(is_max, F.col("value"))).alias("most"),
        )
        .groupBy("broker")
        .agg(
            F.count("*").alias("clients"),
            F.avg("mean").alias("latency_ms"),
            F.max("most").alias("latency_ms_max"),
        )
        .orderBy(F.desc_nulls_last("latency_ms"), "broker")
    )


def select_waits(client_metrics: DataFrame) -> DataFrame:
    """Return what clients wait for, and how long on the mean.

    Returns: wait (a key of WAITS), client_id, clients (instances), wait_ms (mean);
        the longest first.
    """
    names = F.create_map(*(F.lit(one) for pair in WAITS.items() for one in pair[::-1]))
    return (
        client_metrics.where(F.col("metric").isin(*WAITS.values()))
        .where(F.col("topic_name").isNull() & F.col("node_id").isNull())
        .transform(with_value)
        .where(F.col("value").isNotNull())
        .groupBy(names[F.col("metric")].alias("wait"), "client_id")
        .agg(
            F.countDistinct("client_instance_id").alias("clients"),
            F.avg("value").alias("wait_ms"),
        )
        .orderBy(F.desc("wait_ms"), "wait", "client_id")
    )
