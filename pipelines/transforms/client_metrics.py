"""Data points: one row each, with the identity of the connection that pushed them."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.table_columns import CLIENT, RECEIVED, names
from pipelines.tables import CLIENT_METRICS

from .client_pushes import PUSH

OF_THE_PUSH = (*PUSH, *(n for n in names((*RECEIVED, *CLIENT)) if n not in PUSH))
"""What each point has of its push; the identity comes from the headers only."""


def select_client_metrics(points: DataFrame) -> DataFrame:
    """End a chain: the columns of client_metrics."""
    return points.withColumn("event_date", F.to_date("received_at")).select(
        *CLIENT_METRICS.column_names
    )
