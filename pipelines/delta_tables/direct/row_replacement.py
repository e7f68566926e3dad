"""Replaces the rows of single pushes in one commit, beside a stream that appends.

Delta's own statements that delete (DELETE, MERGE, replaceWhere) read whole partitions,
and open-source Delta fails their commit where anything was appended to those meanwhile:
beside a stream that commits every two seconds they hardly ever come through. A
`Replacement` names the files that it removes, and reads nothing else. So appends to a
table with partitions do not concern it, whoever removed one of its files makes it fail,
and it makes no append fail.
"""

from collections.abc import Sequence
from typing import Any

from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    MetadataChangedException,
    ProtocolChangedException,
)
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.classic.dataframe import DataFrame as JvmDataFrame

from pipelines.delta_tables.digests import FILE_NAME
from pipelines.tables.contract import PUSH, TableContract

from .commits import EncodeRows, check_writable, store_files
from .delta_transactions import as_scala, companion, find_files, parse_actions

ROWS_PER_FILE = 250_000
"""Of rows that are new: few make one file, many are written side by side."""
BYTES_PER_FILE = 32 * 2**20
"""Of files that are written anew."""
CONFLICTS = (
    # Of a table without partitions Delta takes any removal for a read of all of it.
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    MetadataChangedException,
    ProtocolChangedException,
)
"""Raised by a commit where somebody else has changed what it stands on: look again."""


class Replacement:
    """One table as it is now, and one commit upon that."""

    def __init__(
        self, spark: SparkSession, contract: TableContract, table: str
    ) -> None:
        """Take the newest version of a table.

        Args:
            contract: What the table promises; it is partitioned by event_date.
            table: SQL identifier of the table.
        """
        self._spark = spark
        self._contract = contract
        self._table = table
        # Delta's Python knows no transactions, so all of this is its Scala.
        self._jvm: Any = spark._jvm  # noqa: SLF001 - see above
        self._log: Any = DeltaTable.forName(spark, table)._jdt.deltaLog()  # noqa: SLF001 - see above
        self._transaction = self._log.startTransaction()
        self._snapshot = self._transaction.snapshot()

    def read(self) -> DataFrame:
        """Return the table at this version, with file_name.

        Delta names data files by UUIDs, so that the name is enough.
        """
        version = self._snapshot.version()
        rows = self._spark.sql(f"SELECT * FROM {self._table} VERSION AS OF {version}")  # noqa: S608 - an identifier of ours
        return rows.select("*", F.col("_metadata.file_name").alias(FILE_NAME))

    def commit(
        self,
        pushes: DataFrame,
        file_names: Sequence[str],
        rows: DataFrame,
        *,
        row_count: int,
        encode: EncodeRows,
    ) -> None:
        """Put the rows in the place of all rows of the pushes.

        Args:
            pushes: topic, partition, offset and push_id, once each; thousands.
            file_names: All files that hold rows of the pushes.
            rows: The new rows, of these pushes only; columns of the table that they
                lack become null.
            row_count: New rows; decides the number of files.
            encode: Makes the new files. Spark's writer would make one of all NaNs.
        Raises: CONFLICTS; the table is as it was then. IncompatibleTable where the
            table asks for what such files cannot have; MissingTable where it was
            deleted.
        """
        location = self._log.dataPath().toString()
        metadata = self._transaction.metadata().json()
        check_writable(self._contract, location, metadata)
        removed = (
            find_files(self._jvm, self._snapshot, file_names)
            if file_names
            else self._jvm.java.util.ArrayList()
        )
        # The files as they are listed: no predicate that an append could meet.
        old = self._log.createDataFrame(
            self._snapshot,
            as_scala(self._jvm, removed),
            False,
            self._jvm.scala.Option.empty(),
        )
        stored = JvmDataFrame(old, self._spark)
        kept = stored.join(F.broadcast(pushes.select(*PUSH)), PUSH, "left_anti")
        merged = kept.unionByName(rows, allowMissingColumns=True)
        old_bytes = sum(file.size() for file in removed)
        file_count = 1 + row_count // ROWS_PER_FILE + old_bytes // BYTES_PER_FILE
        written = merged.select(*stored.columns).coalesce(file_count)
        added = store_files(self._spark, self._contract, location, encode(written))
        actions = parse_actions(self._jvm, added)
        for file in removed:
            actions.add(file.remove())
        manual_update = companion(
            self._jvm.org.apache.spark.sql.delta, "DeltaOperations$ManualUpdate"
        )
        self._transaction.commit(as_scala(self._jvm, actions), manual_update)
