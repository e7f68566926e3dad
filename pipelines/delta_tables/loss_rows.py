"""Rows of quarantine that stand for records which a job was told to do without."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from pipelines.settings.records import TableSettings
from pipelines.tables.contract import QUARANTINE

from .direct.delta_transactions import read_table_state
from .locations import identify_table, locate_table

_TRANSACTION = "txnAppId"
_TRANSACTION_VERSION = "txnVersion"


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
    location = locate_table(spark, tables, QUARANTINE)
    if read_table_state(spark, location, transaction)[1] >= 0:
        return False
    schema = spark.table(identify_table(spark, tables, QUARANTINE)).schema
    now = datetime.now(tz=UTC)
    told = {"event_date": now.date(), "kafka_timestamp": now}
    made = [[{**told, **row}.get(name) for name in schema.names] for row in rows]
    (
        spark.createDataFrame(made, schema)
        .coalesce(1)
        .write.format("delta")
        .mode("append")
        .option(_TRANSACTION, transaction)
        .option(_TRANSACTION_VERSION, 0)
        .save(location)
    )
    return True
