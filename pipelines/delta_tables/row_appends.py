"""Rows that the driver knows, appended to a table of the product's own records."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from .retry import repeat_on_conflict


def append_rows(
    spark: SparkSession, table: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Append rows in one commit.

    Args:
        table: SQL identifier.
        rows: Column to value; what is missing becomes null.
    """
    schema = spark.table(table).schema
    made = [[row.get(name) for name in schema.names] for row in rows]
    frame = spark.createDataFrame(made, schema).coalesce(1)
    repeat_on_conflict(lambda: frame.writeTo(table).append(), what=f"table {table}")
