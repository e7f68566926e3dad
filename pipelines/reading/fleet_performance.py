"""How clients perform in a time: one value per client and metric. Reads only."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .lag import LAG_MAX
from .latency import BROKER
from .rollups import roll_up

_PRODUCER = "org.apache.kafka.producer."
_CONSUMER = "org.apache.kafka.consumer."
QUEUE_TIME = f"{_PRODUCER}record.queue.time.avg"
REQUEST_LATENCY = f"{_PRODUCER}request.latency.avg"
THROTTLE_TIME = f"{_PRODUCER}produce.throttle.time.avg"
IDLE_RATIO = f"{_CONSUMER}poll.idle.ratio.avg"
CONSUMED_RECORDS = f"{_CONSUMER}fetch.manager.records.consumed.rate"
CONSUMED_BYTES = f"{_CONSUMER}fetch.manager.bytes.consumed.rate"
SENT_BYTES = f"{_PRODUCER}outgoing.byte.rate"
ERRORS = f"{_PRODUCER}record.error.rate"
ERRORS_TOTAL = f"{_PRODUCER}record.error.total"
LONGEST_THROTTLES = (
    f"{_PRODUCER}produce.throttle.time.max",
    f"{_CONSUMER}fetch.manager.fetch.throttle.time.max",
)
OF_CLIENTS = (
    *(
        QUEUE_TIME,
        REQUEST_LATENCY,
        THROTTLE_TIME,
        IDLE_RATIO,
        LAG_MAX,
        CONSUMED_RECORDS,
    ),
)
"""Metrics of the pictures of which a client has one value."""
OF_TOTALS = (
    *(SENT_BYTES, CONSUMED_BYTES, LAG_MAX, ERRORS, ERRORS_TOTAL),
    *LONGEST_THROTTLES,
)
"""Metrics that totals are made of."""


def select_client_values(points: DataFrame, instances: DataFrame) -> DataFrame:
    """Return one value per client and metric.

    Args:
        points: From points.read_points, of the time and the metrics.
        instances: row of a client, and client_instance_id.
    Returns: row, metric, value.
    """
    return (
        points.join(_owners(instances), "client_instance_id")
        .transform(roll_up, by=("row",))
        .select("row", "metric", "value")
        .where(F.col("value").isNotNull())
    )


def sum_up(values: DataFrame) -> DataFrame:
    """Return the totals of all clients, as one row.

    Args:
        values: From select_client_values, of OF_TOTALS.
    Returns: sent_bytes, consumed_bytes and errors (sums of rates; of a client without
        a rate of errors the growth of its total per second), lag (of the client
        with most), lag_row (its row), throttled (count of clients), throttling (count
        of clients that report throttle times).
    Nulls: What no client reports.
    """

    def of(*metrics: str) -> Column:
        return F.when(F.col("metric").isin(*metrics), F.col("value"))

    has_rate = F.max(of(ERRORS)).over(Window.partitionBy("row")).isNotNull()
    of_total = F.when(~has_rate, of(ERRORS_TOTAL))
    values = values.withColumn("failed", F.coalesce(of(ERRORS), of_total))
    waits = F.col("metric").isin(*LONGEST_THROTTLES)
    is_held = waits & (F.col("value") > 0)
    return values.agg(
        F.sum(of(SENT_BYTES)).alias("sent_bytes"),
        F.sum(of(CONSUMED_BYTES)).alias("consumed_bytes"),
        F.sum("failed").alias("errors"),
        F.max(of(LAG_MAX)).alias("lag"),
        F.max_by("row", of(LAG_MAX)).alias("lag_row"),
        F.count_distinct(F.when(is_held, F.col("row"))).alias("throttled"),
        F.count_distinct(F.when(waits, F.col("row"))).alias("throttling"),
    )


def select_broker_latency(points: DataFrame, instances: DataFrame) -> DataFrame:
    """Return the latency of requests of each client to each broker.

    Args:
        points: From points.read_points, of NODE_LATENCY_METRICS and the time.
        instances: row of a client, and client_instance_id.
    Returns: row, node_id, latency_ms; brokers without a request are left out. Group
        members' requests to their coordinator are no measure of it.
    """
    return (
        points.where((F.col("node_role") == BROKER) & (F.col("value") > 0))
        .join(_owners(instances), "client_instance_id")
        .transform(roll_up, by=("row", "node_id"))
        .groupBy("row", "node_id")
        .agg(F.avg("value").alias("latency_ms"))
    )


def _owners(instances: DataFrame) -> DataFrame:
    named = instances.where(F.col("client_instance_id").isNotNull())
    return named.select("row", "client_instance_id")
