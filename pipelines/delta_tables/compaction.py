"""Rewrites the files of a date, or of a whole table; the rows stay as they are.

Delta's OPTIMIZE orders rows anew each time that it is told to, so it is told only where
that was judged to be needed. Its commits change no data: appends and it do not concern
each other, and no reader of changes sees them.
"""

from dataclasses import dataclass
from datetime import date

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.contract import TableContract

from .session_settings import session_settings
from .stored_files import WHOLE

FILE_BYTES = "spark.databricks.delta.optimize.maxFileSize"
SORT_WITHIN_FILES = "spark.databricks.io.skipping.mdc.sortWithinFiles"
"""Neighbours in a file as in the order of files: pages can be passed over, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusterings:
    """What the history of a table says of its order."""

    ordered: frozenset[str]
    """Dates that were clustered as the contract says."""
    since_ms: int
    """The oldest entry, milliseconds since 1970: nothing is known of before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """What one OPTIMIZE has done."""

    files_removed: int
    bytes_removed: int
    files_added: int
    bytes_added: int


def read_clusterings(
    spark: SparkSession, table: str, contract: TableContract
) -> Clusterings:
    """Return which dates were clustered as the contract says; another order counts not.

    Args:
        table: SQL identifier of the table.
        contract: Whose cluster_by counts.
    """
    history = spark.sql(f"DESCRIBE HISTORY {table}")
    order = "[{}]".format(",".join(f'"{name}"' for name in contract.cluster_by))
    parameters = F.col("operationParameters")
    is_ordered = (F.col("operation") == "OPTIMIZE") & (parameters["zOrderBy"] == order)
    day = F.regexp_extract(parameters["predicate"], r"(\d{4}-\d{2}-\d{2})", 1)
    (row,) = history.agg(
        F.collect_set(F.when(is_ordered, day)).alias("days"),
        F.min(F.unix_millis("timestamp")).alias("since"),
    ).collect()
    return Clusterings(ordered=frozenset(row["days"]), since_ms=row["since"])


def is_liquid(spark: SparkSession, table: str) -> bool:
    """Say whether the table's owner has told Delta by what to cluster it."""
    described: DataFrame = spark.sql(f"DESCRIBE DETAIL {table}")
    if "clusteringColumns" not in described.columns:
        return False
    (row,) = described.select("clusteringColumns").collect()
    return bool(row["clusteringColumns"])


def compact(
    spark: SparkSession,
    contract: TableContract,
    table: str,
    day: str,
    *,
    file_bytes: int,
) -> Rewritten:
    """Rewrite one date as files of about one size, near rows beside each other.

    Args:
        contract: Whose cluster_by orders the rows.
        table: SQL identifier of the table.
        day: Of its partition; WHOLE where it has none.
        file_bytes: Of a file that is written, about.
    Raises: Delta's ConcurrentModificationException where somebody else has removed one
        of the files meanwhile. The table is as it was then.
    """
    where = order = ""
    if day != WHOLE:
        (column,) = contract.partition_by
        where = f" WHERE `{column}` = DATE'{date.fromisoformat(day)}'"
    if contract.cluster_by and not is_liquid(spark, table):
        order = f" ZORDER BY ({', '.join(f'`{name}`' for name in contract.cluster_by)})"
    settings = {FILE_BYTES: str(file_bytes), SORT_WITHIN_FILES: "true"}
    with session_settings(spark, settings):
        (row,) = spark.sql(f"OPTIMIZE {table}{where}{order}").collect()
    metrics = row["metrics"]
    return Rewritten(
        files_removed=metrics["numFilesRemoved"],
        bytes_removed=metrics["filesRemoved"]["totalSize"] or 0,
        files_added=metrics["numFilesAdded"],
        bytes_added=metrics["filesAdded"]["totalSize"] or 0,
    )
