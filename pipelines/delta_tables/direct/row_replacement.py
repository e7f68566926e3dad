"""Replaces the rows of single pushes in one commit, beside a stream that appends.

Delta's own statements that delete (DELETE, MERGE, replaceWhere) read whole partitions,
and open-source Delta fails their commit where anything was appended to those meanwhile:
beside a stream that commits every two seconds they hardly ever come through. A
`FileReplacement` names the files that it removes, and reads nothing else. So appends to
a table with partitions do not concern it, whoever removed one of its files makes it
fail, and it makes no append fail.
"""

from collections.abc import Sequence
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.classic.dataframe import DataFrame as JvmDataFrame

from pipelines.delta_tables.java_classes import find_class, find_object
from pipelines.delta_tables.locations import check_is_there
from pipelines.delta_tables.ways import PLACE, ROWS_PER_FILE
from pipelines.tables.contract import PUSH, TableContract

from .commits import check_writable
from .delta_transactions import ARRAY_LIST, DELTA, as_scala, find_files

BYTES_PER_FILE = 32 * 2**20
"""Of files that are written anew."""


class FileReplacement:
    """One table as it is now, and one commit upon that; see ways.Replacement."""

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
        """Return the table at this version; a place is a file.

        Delta names data files by UUIDs, so that the name is enough.
        """
        version = self._snapshot.version()
        rows = self._spark.sql(f"SELECT * FROM {self._table} VERSION AS OF {version}")  # noqa: S608 - an identifier of ours
        return rows.select("*", F.col("_metadata.file_name").alias(PLACE))

    def commit(
        self,
        pushes: DataFrame,
        places: Sequence[str],
        rows: DataFrame,
        *,
        row_count: int,
    ) -> None:
        """Put the rows in the place of all rows of the pushes.

        Raises: As ways.Replacement.commit; IncompatibleTable where the table asks for
            what only other writers can do.
        """
        location = self._log.dataPath().toString()
        metadata = self._transaction.metadata().json()
        check_writable(self._contract, location, metadata)
        removed = (
            find_files(self._jvm, self._snapshot, places)
            if places
            else find_class(self._jvm, ARRAY_LIST)()
        )
        # The files as they are listed: no predicate that an append could meet.
        old = self._log.createDataFrame(
            self._snapshot,
            as_scala(self._jvm, removed),
            False,
            find_class(self._jvm, "scala.Option").empty(),
        )
        stored = JvmDataFrame(old, self._spark)
        kept = stored.join(F.broadcast(pushes.select(*PUSH)), PUSH, "left_anti")
        merged = kept.unionByName(rows, allowMissingColumns=True)
        old_bytes = sum(file.size() for file in removed)
        file_count = 1 + row_count // ROWS_PER_FILE + old_bytes // BYTES_PER_FILE
        written = merged.select(*stored.columns).coalesce(file_count)
        assert isinstance(written, JvmDataFrame)  # noqa: S101 - the job has no Connect
        check_is_there(self._spark, self._contract.name, location)
        added = self._transaction.writeFiles(written._jdf)  # noqa: SLF001 - see above
        actions = find_class(self._jvm, ARRAY_LIST)()
        for file in removed:
            actions.add(file.remove())
        manual_update = find_object(self._jvm, f"{DELTA}.DeltaOperations$ManualUpdate")
        self._transaction.commit(
            added.concat(as_scala(self._jvm, actions)), manual_update
        )
