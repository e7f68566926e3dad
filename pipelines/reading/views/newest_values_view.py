"""`newest_values`: what each client instance reported last, series by series."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.points import with_meaning
from pipelines.reading.semantics import unit_of_point

from .metric_faults import METRICS_FAULT, metrics_fault_sql
from .view import Sources, View

NEWEST_VALUES = "newest_values"
_SERIES = (
    *("client_instance_id", "client_id", "principal", "metric", "kind", "level"),
    *("node_id", "node_role", "topic_name", "topic_partition"),
)
_NEWEST = (
    *("received_at", "offset", "point_index", "value", "unit"),
    *("client_software_name", "client_software_version"),
)
_OTHER = "other_attributes"


def select_newest_values(points: DataFrame) -> DataFrame:
    """Return the newest value of each client instance, metric and attributes.

    Filters on columns of the series reach the files. A value may be older than the
    newest push, because points without a value are skipped.

    Args:
        points: As points.with_meaning returns them.
    Returns: client_instance_id, client_id, principal, metric, kind, level, node_id,
        node_role, topic_name, topic_partition, value, unit, received_at, cluster_id,
        metrics_fault.
    """
    return (
        points.where(F.col("value").isNotNull())
        .withColumn(_OTHER, F.to_json("attributes"))
        .groupBy(*_SERIES, _OTHER)
        .agg(
            F.max_by(F.struct(*_NEWEST), F.struct(*_NEWEST[:3])).alias("newest"),
            F.max("cluster_id").alias("cluster_id"),
        )
        .select(*_SERIES, "cluster_id", "newest.*")
        .withColumn("unit", unit_of_point(is_rate=False))
        .withColumn(METRICS_FAULT, F.expr(metrics_fault_sql()))
        .select(*_SERIES, "value", "unit", "received_at", "cluster_id", METRICS_FAULT)
    )


def _newest_values(sources: Sources) -> DataFrame:
    spark = sources.spark
    newest = select_newest_values(with_meaning(spark.table("client_metrics")))
    # One row per instance and series is joined, not each point.
    owners = spark.table("client_instances").select("client_instance_id", "cluster_id")
    return newest.drop("cluster_id").join(owners, "client_instance_id", "left")


VIEW = View(
    name=NEWEST_VALUES,
    row="A client instance, metric, broker (`node_id`), topic, partition and other "
    "attributes, with the newest `value` that is a number, its `unit`, the `level` of "
    "the point (`client`, `node`, `topic` or `partition`), and `metrics_fault` if the "
    "client's metrics are known to be wrong. The value of a sum is what the client "
    "sent: for a delta the growth in its last interval.",
    sql=_newest_values,
    needs=("client_metrics", "client_instances"),
    made_by="client_telemetry_to_delta",
)
