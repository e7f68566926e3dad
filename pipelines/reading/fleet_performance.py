"""How clients perform in a time: one value per client and metric. Reads only."""

from collections.abc import Collection

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.telemetry import CLIENT_METRICS

from .chosen import Chosen
from .lag import LAG_MAX
from .latency import BROKER, NODE_LATENCY_METRICS
from .points import choose_metrics, read_points, with_rates
from .rollups import roll_up
from .throttling import PRODUCE_AVG, THROTTLE_METRICS

_PRODUCER = "org.apache.kafka.producer."
_CONSUMER = "org.apache.kafka.consumer."
QUEUE_TIME = f"{_PRODUCER}record.queue.time.avg"
REQUEST_LATENCY = f"{_PRODUCER}request.latency.avg"
IDLE_RATIO = f"{_CONSUMER}poll.idle.ratio.avg"
CONSUMED_RECORDS = f"{_CONSUMER}fetch.manager.records.consumed.rate"
CONSUMED_BYTES = f"{_CONSUMER}fetch.manager.bytes.consumed.rate"
SENT_BYTES = f"{_PRODUCER}outgoing.byte.rate"
ERRORS = f"{_PRODUCER}record.error.rate"
ERRORS_TOTAL = f"{_PRODUCER}record.error.total"
OF_CLIENTS = (
    *(
        QUEUE_TIME,
        REQUEST_LATENCY,
        PRODUCE_AVG,
        IDLE_RATIO,
        LAG_MAX,
        CONSUMED_RECORDS,
    ),
)
"""Metrics of the pictures of which a client has one value."""
OF_TOTALS = (SENT_BYTES, CONSUMED_BYTES, LAG_MAX, ERRORS, ERRORS_TOTAL)
"""Metrics that totals are made of."""
OF_FLEET = frozenset(
    (*OF_CLIENTS, *OF_TOTALS, *NODE_LATENCY_METRICS, *THROTTLE_METRICS)
)
"""Metrics of all answers about the fleet."""
_UNUSED = frozenset(CLIENT_METRICS.column_names) - {
    *("client_instance_id", "client_id", "principal", "cluster_id", "client_type"),
    *("push_id", "received_at", "metric", "kind", "unit"),
    *("node_id", "node_role", "topic_name", "topic_partition"),
}
"""Columns of client_metrics that no roll-up reads once the growth is known."""


def select_fleet_points(
    spark: SparkSession, picked: Chosen, known_instances: DataFrame
) -> DataFrame:
    """Return the points that all answers about the fleet are made of, with rates.

    Args:
        spark: Has client_metrics.
        picked: The time.
        known_instances: The view; owner of the points.
    """
    named = known_instances.where(F.col("client_instance_id").isNotNull())
    points = read_points(spark, picked, OF_FLEET, named)
    return points.transform(with_rates).drop(*_UNUSED)


def select_client_values(
    points: DataFrame, instances: DataFrame, metrics: Collection[str]
) -> DataFrame:
    """Return one value per client and metric.

    Args:
        points: From select_fleet_points, of the time.
        instances: row of a client, and client_instance_id.
        metrics: Names of metrics.
    Returns: row, metric, value.
    """
    return (
        points.transform(choose_metrics, metrics)
        .join(_owners(instances), "client_instance_id")
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
        with most), lag_row (its row).
    Nulls: What no client reports.
    """

    def of(*metrics: str) -> Column:
        return F.when(F.col("metric").isin(*metrics), F.col("value"))

    has_rate = F.max(of(ERRORS)).over(Window.partitionBy("row")).isNotNull()
    of_total = F.when(~has_rate, of(ERRORS_TOTAL))
    values = values.withColumn("failed", F.coalesce(of(ERRORS), of_total))
    return values.agg(
        F.sum(of(SENT_BYTES)).alias("sent_bytes"),
        F.sum(of(CONSUMED_BYTES)).alias("consumed_bytes"),
        F.sum("failed").alias("errors"),
        F.max(of(LAG_MAX)).alias("lag"),
        F.max_by("row", of(LAG_MAX)).alias("lag_row"),
    )


def select_broker_latency(points: DataFrame, instances: DataFrame) -> DataFrame:
    """Return the latency of requests of each client to each broker.

    Args:
        points: From select_fleet_points, of the time.
        instances: row of a client, and client_instance_id.
    Returns: row, node_id, latency_ms; brokers without a request are left out. Group
        members' requests to their coordinator are no measure of it.
    """
    return (
        points.transform(choose_metrics, NODE_LATENCY_METRICS)
        .where((F.col("node_role") == BROKER) & (F.col("value") > 0))
        .join(_owners(instances), "client_instance_id")
        .transform(roll_up, by=("row", "node_id"))
        .groupBy("row", "node_id")
        .agg(F.avg("value").alias("latency_ms"))
    )


def _owners(instances: DataFrame) -> DataFrame:
    named = instances.where(F.col("client_instance_id").isNotNull())
    return named.select("row", "client_instance_id")
