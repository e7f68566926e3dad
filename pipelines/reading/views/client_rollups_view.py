"""`client_rollups`: the current value of each client and metric."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.client_states import CLIENT_KEY
from pipelines.reading.rollups import read_current, roll_up

from .view import Sources, View

CLIENT_ROLLUPS = "client_rollups"


def _client_rollups(sources: Sources) -> DataFrame:
    # The longest push interval is an hour: no active instance is older than six.
    recent = sources.spark.table("client_metrics").where(
        F.col("event_date") >= F.date_sub(F.expr(sources.now).cast("date"), 1)
    )
    known = sources.spark.table("known_instances")
    return recent.transform(read_current, known).transform(roll_up, by=CLIENT_KEY)


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
