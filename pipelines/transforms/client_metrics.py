"""Data points: one row each, with the identity of the connection that pushed them."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.table_columns import CLIENT, RECEIVED, names
from pipelines.tables import CLIENT_METRICS

from .client_pushes import PUSH

_IDENTITY = [name for name in names((*RECEIVED, *CLIENT)) if name not in PUSH]


def explode_points(decoded: DataFrame) -> DataFrame:
    """Make a row of each point; a push without points makes none."""
    points = decoded.select(*PUSH, F.explode("points").alias("point"))
    return points.select(*PUSH, "point.*")


def with_identity(points: DataFrame, envelopes: DataFrame) -> DataFrame:
    """Give each point the identity of its push, which comes from the headers only."""
    # Identities are some hundred bytes a push; the points outnumber them by far.
    identities = envelopes.select(*PUSH, *_IDENTITY)
    return points.join(F.broadcast(identities), PUSH)


def select_client_metrics(points: DataFrame) -> DataFrame:
    """End a chain: the columns of client_metrics."""
    return points.withColumn("event_date", F.to_date("received_at")).select(
        *CLIENT_METRICS.column_names
    )
