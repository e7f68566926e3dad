"""Rows of quarantine that stand for records which a job was told to do without."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.settings.records import TableSettings
from pipelines.tables.telemetry import QUARANTINE

from .locations import identify_table

_TRANSACTION = "txnAppId"
_TRANSACTION_VERSION = "txnVersion"
_TOLD = ("topic", "partition", "offset", "source_job", "reason", "detail")


def write_loss_rows(
    spark: SparkSession,
    tables: TableSettings,
    rows: Sequence[Mapping[str, Any]],
    *,
    transaction: str,
) -> bool:
    """Append rows to quarantine, once.

    Args:
        tables: Where they are.
        rows: topic, partition, offset, source_job, reason and detail of each.
        transaction: What names these rows; Delta skips what it has by that name.
    Returns: Whether they are new.
    """
    table = identify_table(spark, tables, QUARANTINE)
    stored = spark.table(table)
    schema = stored.schema
    reasons = {row["reason"] for row in rows}
    losses = stored.where(F.col("reason").isin(list(reasons)))
    there = {tuple(row) for row in losses.select(*_TOLD).collect()}
    if all(tuple(row[name] for name in _TOLD) in there for row in rows):
        return False
    now = datetime.now(tz=UTC)
    told = {"event_date": now.date(), "kafka_timestamp": now}
    made = [[{**told, **row}.get(name) for name in schema.names] for row in rows]
    (
        spark.createDataFrame(made, schema)
        .coalesce(1)
        .writeTo(table)
        .option(_TRANSACTION, transaction)
        .option(_TRANSACTION_VERSION, "0")
        .append()
    )
    return True
