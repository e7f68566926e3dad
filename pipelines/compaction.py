"""Rewrites the files of one date of a table, clustered; the rows stay as they are.

OPTIMIZE changes no data, so that Delta lets it stand beside appends, whoever commits
first. It is told apart from what it would find done: of a date whose files are all
older than its last clustering nothing is rewritten.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.classic.dataframe import DataFrame as JvmDataFrame

from .tables import TableContract

MAX_FILE_BYTES = "spark.databricks.delta.optimize.maxFileSize"
SORT_WITHIN_FILES = "spark.databricks.io.skipping.mdc.sortWithinFiles"
"""Neighbours in a file as in the order of files: pages can be passed over, too."""


@dataclass(frozen=True, slots=True)
class PartitionFiles:
    """The files of one date."""

    count: int
    size_bytes: int
    newest_ms: int
    """When the newest was written, milliseconds since 1970."""


def read_partition_files(spark: SparkSession, table: str) -> dict[date, PartitionFiles]:
    """Return the files of each event_date, from the table's log alone."""
    delta_table: Any = DeltaTable.forName(spark, table)._jdt  # noqa: SLF001 - Delta's Python does not list files
    snapshot = delta_table.deltaLog().startTransaction().snapshot()
    files = JvmDataFrame(snapshot.allFiles().toDF(), spark)
    rows = (
        files.groupBy(F.col("partitionValues")["event_date"].alias("event_date"))
        .agg(F.count("*"), F.sum("size"), F.max("modificationTime"))
        .collect()
    )
    return {date.fromisoformat(row[0]): PartitionFiles(*row[1:]) for row in rows}


def read_clusterings(history: DataFrame, contract: TableContract) -> dict[date, int]:
    """Return when each date was last clustered as the contract says, ms since 1970.

    Args:
        history: DESCRIBE HISTORY of the table.
        contract: Whose cluster_by counts; another one does not.
    """
    order = "[{}]".format(",".join(f'"{name}"' for name in contract.cluster_by))
    parameters = F.col("operationParameters")
    day = F.regexp_extract(parameters["predicate"], r"(\d{4}-\d{2}-\d{2})", 1)
    rows = (
        history.where(F.col("operation") == "OPTIMIZE")
        .where(parameters["zOrderBy"] == order)
        .groupBy(day.alias("event_date"))
        .agg(F.max(F.unix_millis("timestamp")))
        .where(F.col("event_date") != "")
        .collect()
    )
    return {date.fromisoformat(row[0]): row[1] for row in rows}


def compact_date(
    spark: SparkSession,
    contract: TableContract,
    table: str,
    day: date,
    *,
    max_file_bytes: int,
) -> None:
    """Rewrite one date as files of about one size, near rows beside each other.

    Args:
        spark: A session with Delta.
        contract: Whose cluster_by orders the rows.
        table: SQL identifier of the table.
        day: The event_date.
        max_file_bytes: Of a file that is written.
    """
    columns = ", ".join(f"`{name}`" for name in contract.cluster_by)
    settings = {MAX_FILE_BYTES: str(max_file_bytes), SORT_WITHIN_FILES: "true"}
    with _set(spark, settings):
        spark.sql(f"OPTIMIZE {table} WHERE event_date = '{day}' ZORDER BY ({columns})")


@contextmanager
def _set(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)
