"""`client_rollups`: the current value of each client and metric."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.client_states import ACTIVE, CLIENT_KEY
from pipelines.reading.points import with_meaning
from pipelines.reading.rollups import roll_up
from pipelines.tables.telemetry import IDLE_AFTER_INTERVALS

from .view import Sources, View

CLIENT_ROLLUPS = "client_rollups"


def select_client_rollups(
    client_metrics: DataFrame, known_instances: DataFrame
) -> DataFrame:
    """Return one value per client and metric, over its active instances.

    The pushes of the last three push intervals of each instance count, so that no value
    is older than the state active allows.

    Args:
        client_metrics: Points of the last two days at least.
        known_instances: The view.
    """
    interval_ms = F.col("push_interval_ms").cast("bigint")
    since = F.timestamp_millis(
        F.unix_millis("last_push") - F.lit(IDLE_AFTER_INTERVALS) * interval_ms
    )
    active = known_instances.where(
        (F.col("state") == ACTIVE) & F.col("last_push").isNotNull()
    ).select(
        *("client_instance_id", "cluster_id", "client_type", "push_interval_ms"),
        since.alias("since"),
    )
    return (
        client_metrics.join(active, "client_instance_id")
        .where(F.col("received_at") > F.col("since"))
        .drop("since")
        .transform(with_meaning)
        .transform(roll_up, by=CLIENT_KEY)
    )


def _client_rollups(sources: Sources) -> DataFrame:
    # The longest push interval is an hour: no active instance is older than six.
    recent = sources.spark.table("client_metrics").where(
        F.col("event_date") >= F.date_sub(F.expr(sources.now).cast("date"), 1)
    )
    known = sources.spark.table("known_instances")
    return select_client_rollups(recent, known)


VIEW = View(
    name=CLIENT_ROLLUPS,
    row="A client (cluster, principal, client ID, client type) with an active "
    "instance, and a metric, over the last three push intervals of each instance: "
    "`value` combined by the metric's row in `metric_semantics` (of a sum the growth "
    "per second), `amount` (growth of a sum), `unit`, `instances` and `points`.",
    sql=_client_rollups,
    needs=("client_metrics", "known_instances"),
    made_by="client_telemetry_to_delta",
)
