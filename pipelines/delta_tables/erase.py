"""Takes rows out of a table for good: from its rows, its files and its old versions.

Delta keeps what a statement replaced: rows that deletion vectors only mark, files of
older versions, files that no commit names because a writer died. `erase_old_files`
deletes them without touching what somebody is writing now: files that commits have
removed go at once, files that no commit names only when they are an hour old.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from pipelines.tables.contract import IS_DELETED

from .session_settings import session_settings

RETENTION_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
IGNORED_RETENTION = "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled"
LISTING_TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
TASKS_PER_CORE = 2
UNCOMMITTED_HOURS = 1
"""No micro-batch takes as long from its first file to its commit."""
_SOURCE = "kafka_clientele_purge"
_DELETE = f"WHEN MATCHED AND source.{IS_DELETED} THEN DELETE\n"


def merge_purged(
    rows: DataFrame, table: str, key: Sequence[str], updated: Sequence[str]
) -> None:
    """Update columns of the rows that there are, by key.

    Args:
        rows: key and updated; and IS_DELETED, if some rows are to be deleted.
        table: SQL identifier of the table.
        key: Columns that name a row.
        updated: Columns that are given their new values.
    """
    delete = _DELETE if IS_DELETED in rows.columns else ""
    _merge(rows, table, key, f"{delete}{_update(updated)}")


def merge_history(
    rows: DataFrame, table: str, key: Sequence[str], columns: Sequence[str]
) -> None:
    """Put and delete whole rows, by key.

    Args:
        rows: columns and IS_DELETED; whoever is to be deleted is there.
        table: SQL identifier of the table.
        key: Columns that name a row.
        columns: All columns.
    """
    names = ", ".join(f"`{name}`" for name in columns)
    sources = ", ".join(f"source.`{name}`" for name in columns)
    insert = f"INSERT ({names}) VALUES ({sources})"  # noqa: S608 - our own columns
    clauses = f"{_DELETE}{_update(columns)}WHEN NOT MATCHED THEN {insert}"
    _merge(rows, table, key, clauses)


def delete_where(spark: SparkSession, table: str, condition: str) -> None:
    """Delete the rows of which a condition is true.

    Args:
        table: SQL identifier of the table.
        condition: SQL of our own.
    """
    spark.sql(f"DELETE FROM {table} WHERE {condition}")  # noqa: S608 - see condition


def delete_by_key(rows: DataFrame, table: str, key: Sequence[str]) -> None:
    """Delete the rows that there are, by key.

    Args:
        rows: key, once each.
        table: SQL identifier of the table.
        key: Columns that name a row.
    """
    _merge(rows, table, key, "WHEN MATCHED THEN DELETE")


def erase_old_files(spark: SparkSession, table: str) -> None:
    """Delete what the newest version of a table does not hold.

    Readers of an older version fail after this, and time travel is gone.
    """
    # Rows that are only marked as deleted, first: their files are in use until then.
    spark.sql(f"REORG TABLE {table} APPLY (PURGE)")
    # Spark's own default of 10,000 listing tasks takes minutes on two cores.
    tasks = TASKS_PER_CORE * spark.sparkContext.defaultParallelism
    settings = {
        RETENTION_CHECK: "false",
        # Otherwise Delta passes over an hour, and takes the table's seven days.
        IGNORED_RETENTION: "false",
        LISTING_TASKS: str(tasks),
    }
    with session_settings(spark, settings):
        # In this order: LITE reads the log, and refuses where there was no VACUUM yet
        # and the log no longer begins with the table.
        spark.sql(f"VACUUM {table} FULL RETAIN {UNCOMMITTED_HOURS} HOURS").collect()
        spark.sql(f"VACUUM {table} LITE RETAIN 0 HOURS").collect()


def _update(columns: Sequence[str]) -> str:
    values = ", ".join(f"target.`{name}` = source.`{name}`" for name in columns)
    return f"WHEN MATCHED THEN UPDATE SET {values}\n"


def _merge(rows: DataFrame, table: str, key: Sequence[str], clauses: str) -> None:
    condition = " AND ".join(f"target.`{name}` = source.`{name}`" for name in key)
    rows.createOrReplaceTempView(_SOURCE)
    rows.sparkSession.sql(
        f"MERGE INTO {table} AS target USING {_SOURCE} AS source "
        f"ON {condition}\n{clauses}"
    )
