"""Rewrites the files of one date of a table, clustered; the rows stay as they are.

Delta's OPTIMIZE would write them with Spark's writer, which makes one of all NaNs. So
the rows are ordered by Delta's own ZORDER and committed as its OPTIMIZE, but the files
are made by `udfs.files`. Such a commit changes no data, so that Delta lets it stand
beside appends, whoever commits first. It is told apart from what it would find
done: of a date whose files are all older than its last clustering nothing is rewritten.
"""

import time
from dataclasses import dataclass
from datetime import date
from typing import Any

from delta.tables import DeltaTable
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.classic.dataframe import DataFrame as JvmDataFrame

from pipelines.tables.contract import TableContract

from .direct.commits import EncodeRows, check_writable, store_files
from .direct.delta_transactions import (
    MILLISECOND_NS,
    as_scala,
    companion,
    parse_actions,
)
from .session_settings import session_settings

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
    file_bytes: int,
    encode: EncodeRows,
) -> None:
    """Rewrite one date as files of about one size, near rows beside each other.

    Args:
        contract: Whose cluster_by orders the rows; it is partitioned by event_date.
        table: SQL identifier of the table.
        day: The event_date.
        file_bytes: Of a file that is written, about.
        encode: Makes the new files.
    Raises: IncompatibleTable where the table asks for what such files cannot have;
        MissingTable where it was deleted; Delta's ConcurrentModificationException where
        somebody else has removed one of the files meanwhile. The table is as it was
        then.
    """
    # Delta's Python knows no transactions, so all of this is its Scala.
    jvm: Any = spark._jvm  # noqa: SLF001 - see above
    delta = jvm.org.apache.spark.sql.delta
    log: Any = DeltaTable.forName(spark, table)._jdt.deltaLog()  # noqa: SLF001 - see above
    transaction = log.startTransaction()
    location = log.dataPath().toString()
    check_writable(contract, location, transaction.metadata().json())
    predicate = f"event_date = '{day}'"
    snapshot = transaction.snapshot()
    is_of_day = f"partitionValues['event_date'] = '{day}'"
    files = snapshot.allFiles().where(is_of_day).collectAsList()
    nothing = companion(jvm.scala, "None")
    stored = log.createDataFrame(snapshot, as_scala(jvm, files), False, nothing)
    count = max(1, round(sum(file.size() for file in files) / file_bytes))
    order = jvm.java.util.ArrayList()
    for name in contract.cluster_by:
        order.add(name)
    with session_settings(spark, {SORT_WITHIN_FILES: "true"}):
        cluster = companion(delta.skipping, "MultiDimClustering").cluster
        ordered = JvmDataFrame(
            cluster(stored, count, as_scala(jvm, order), "zorder"), spark
        )
        added = store_files(spark, contract, location, encode(ordered))
    actions = parse_actions(
        jvm, ({"add": {**one["add"], "dataChange": False}} for one in added)
    )
    now_ms = time.time_ns() // MILLISECOND_NS
    for file in files:
        actions.add(file.removeWithTimestamp(now_ms, False))
    predicates = as_scala(jvm, _parse(spark, jvm, predicate))
    operation = delta.DeltaOperations.Optimize(
        predicates, as_scala(jvm, order), False, nothing, False
    )
    transaction.commit(as_scala(jvm, actions), operation)


def _parse(spark: SparkSession, jvm: Any, predicate: str) -> JavaObject:  # noqa: ANN401 - objects of the JVM
    """Return a predicate in a Java list, as the history of the table tells it."""
    session: Any = spark._jsparkSession  # noqa: SLF001 - pyspark has no expressions
    parsed = jvm.java.util.ArrayList()
    parsed.add(session.sessionState().sqlParser().parseExpression(predicate))
    return parsed
