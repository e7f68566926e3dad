"""Rewrites the files of one date of a table, clustered; the rows stay as they are.

Delta's OPTIMIZE orders a date anew each time it is told to, so it is told apart from
what it would find done: of a date whose files are all older than its last clustering
nothing is rewritten.
"""

from dataclasses import dataclass
from datetime import date

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.contract import TableContract

from .session_settings import session_settings

FILE_BYTES = "spark.databricks.delta.optimize.maxFileSize"
SORT_WITHIN_FILES = "spark.databricks.io.skipping.mdc.sortWithinFiles"
"""Neighbours in a file as in the order of files: pages can be passed over, too."""


@dataclass(frozen=True, slots=True)
class PartitionFiles:
    """The files of one date."""

    count: int
    size_bytes: int
    newest_ms: int
    """When the newest was written, milliseconds since 1970."""


def read_partition_files(
    spark: SparkSession, table: str, first: date = date.min, last: date = date.max
) -> dict[date, PartitionFiles]:
    """Return the files of dates that hold rows, without reading a column of these."""
    # As texts: pyspark does not write the years before 1000 as Java reads them.
    ends = [F.lit(day.isoformat()).cast("date") for day in (first, last)]
    files = (
        spark.table(table)
        .where(F.col("event_date").between(*ends))
        .groupBy("event_date", "_metadata.file_path")
        .agg(
            F.max("_metadata.file_size").alias("size"),
            F.max(F.unix_millis("_metadata.file_modification_time")).alias("written"),
        )
    )
    rows = (
        files.groupBy("event_date")
        .agg(F.count("*"), F.sum("size"), F.max("written"))
        .collect()
    )
    return {row[0]: PartitionFiles(*row[1:]) for row in rows}


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
    file_bytes: int,
) -> None:
    """Rewrite one date as files of about one size, near rows beside each other.

    Args:
        contract: Whose cluster_by orders the rows; it is partitioned by event_date.
        table: SQL identifier of the table.
        day: The event_date.
        file_bytes: Of a file that is written, about.
    Raises: Delta's ConcurrentModificationException where somebody else has removed one
        of the files meanwhile. The table is as it was then.
    """
    order = ", ".join(f"`{name}`" for name in contract.cluster_by)
    settings = {FILE_BYTES: str(file_bytes), SORT_WITHIN_FILES: "true"}
    with session_settings(spark, settings):
        spark.sql(
            f"OPTIMIZE {table} WHERE event_date = DATE'{day}' ZORDER BY ({order})"
        ).collect()
