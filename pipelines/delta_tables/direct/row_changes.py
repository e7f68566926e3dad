"""Replaces, deletes and adds single rows of a table in one commit, where they stand.

A MERGE looks for its rows twice, by a join of the whole table with what is new: to find
the files, and to write them. Who has compared the rows with the table knows already in
which file and at which place the old ones are. So a `RowChanges` marks those places in
deletion vectors, adds a file with the new rows, and copies no row. The keys of the
table are read once.
"""

import json
import time
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.classic.dataframe import DataFrame as JvmDataFrame
from pyspark.sql.types import StructType

from pipelines.delta_tables.java_classes import find_class
from pipelines.delta_tables.locations import check_is_there
from pipelines.delta_tables.transactions import Transaction
from pipelines.delta_tables.ways import POSITION, ROWS_PER_FILE, join_rows
from pipelines.errors import IncompatibleTable
from pipelines.tables.contract import VECTORS_PROPERTY, TableContract
from udfs.spark_types import arrow_schema

from .deletion_vectors import FILE_PATH, ROW_INDEX, StoredVectors, mark_rows
from .delta_transactions import (
    ARRAY_LIST,
    MILLISECOND_NS,
    as_scala,
    parse_actions,
    read_transaction,
    start_transaction,
    streaming_update,
)
from .fit import has_vectors
from .key_places import can_read, find_rows, find_whole_rows


class RowChanges:
    """One table as it is now, and one commit upon that; see ways.Changes."""

    def __init__(
        self,
        spark: SparkSession,
        contract: TableContract,
        location: str,
        transaction: Transaction,
    ) -> None:
        """Take the newest version of a table.

        Args:
            contract: What the table promises; it has deletion vectors.
            location: Folder of the table.
            transaction: The micro-batch; Delta keeps the newest one with the table.
        Raises: IncompatibleTable where the table's deletion vectors were turned off;
            MissingTable where it was deleted.
        """
        # Without a log Delta takes the folder for a table that has no commit yet.
        check_is_there(spark, contract.name, location)
        self._spark = spark
        self._contract = contract
        self._location = location
        self._transaction = transaction
        self._jvm, self._started = start_transaction(spark, location)
        # Rows are looked for in all of it: an insert of the same key is a conflict.
        self._started.readWholeTable()
        self._snapshot = self._started.snapshot()
        self._vectors = StoredVectors(self._jvm, self._snapshot)
        self._app_id = transaction.merge_app_id(contract)
        known = transaction.known_app_ids(contract, "merge")
        self.is_committed = any(
            read_transaction(self._started, one) >= transaction.batch_id
            for one in known
        )
        self.is_new = not self.is_committed
        metadata = self._started.metadata().json()
        self._schema = StructType.fromJson(
            json.loads(json.loads(metadata)["metaData"]["schemaString"])
        )
        if not has_vectors(metadata):
            raise IncompatibleTable(
                f"table {contract.name} at {location}: the job marks rows in deletion "
                f"vectors; set {VECTORS_PROPERTY} to true, or tables.writer to spark"
            )

    def read(self) -> DataFrame:
        """Return the table at this version; a position is (file_path, row_index)."""
        version = self._snapshot.version()
        rows = (
            self._spark.read.format("delta")
            .option("versionAsOf", version)
            .load(self._location)
        )
        place = F.struct("_metadata.file_path", "_metadata.row_index")
        return rows.select("*", place.alias(POSITION))

    def find(self, rows: DataFrame) -> DataFrame:
        """Return the rows of the table with the merge keys of some others.

        They are read here where that can be, and else by a join with the whole table.
        """
        (key,), order = self._contract.merge_key, self._contract.newest_by
        if not can_read(self._snapshot):
            keys = F.broadcast(rows.select(key))
            # The small side is sent to the table, whose key is read once.
            narrow = self.read().select(key, *order, POSITION)
            return narrow.join(keys, key, "left_semi")
        wanted = rows.select(key, *order).toArrow()
        found = find_rows(self._jvm, self._snapshot, self._vectors, wanted)
        if found is None:
            return self.read().select(key, *order, POSITION).limit(0)
        place = F.struct(FILE_PATH, ROW_INDEX).alias(POSITION)
        frame = self._spark.createDataFrame(found)
        return F.broadcast(frame.select(key, *order, place))

    def find_rows(self, keys: pa.Array) -> pa.Table:
        """Return the rows of the table with some keys, whole.

        They are read here where that can be; what a user added may be of any type.
        """
        (key,) = self._contract.merge_key
        is_ours = set(self._schema.names) == set(self._contract.column_names)
        names = [FILE_PATH, ROW_INDEX]
        if is_ours and can_read(self._snapshot):
            found = find_whole_rows(
                self._jvm,
                self._snapshot,
                self._vectors,
                pa.table({key: keys}),
                arrow_schema(self._schema),
            )
            places = [found.column(name).combine_chunks() for name in names]
            found = found.drop_columns(names)
        else:
            found = join_rows(self.read(), key, keys)
            places = found.column(POSITION).combine_chunks().flatten()
            found = found.drop_columns(POSITION)
        # A new row's place is null, which Arrow refuses of parts that never are: so
        # Spark's own type of places will not do.
        return found.append_column(
            POSITION, pa.StructArray.from_arrays(places, names=names)
        )

    def commit(
        self, rows: DataFrame, *, row_count: int = 0, is_gone: str | None = None
    ) -> bool:
        """Put rows in the places of old ones, or beside them, once.

        Raises: As ways.Changes.commit; MissingTable where the table was deleted.
        """
        if self.is_committed:
            return False
        new = rows if is_gone is None else rows.where(~F.col(is_gone))
        gone = None
        if POSITION in rows.columns:
            marked = rows.where(F.col(POSITION).isNotNull()).select(f"{POSITION}.*")
            gone = marked.toArrow()
        # What follows writes files, and makes the folder for them if need be.
        check_is_there(self._spark, self._contract.name, self._location)
        vectors = (
            ()
            if gone is None
            else mark_rows(self._jvm, self._snapshot, self._vectors, gone)
        )
        actions = find_class(self._jvm, ARRAY_LIST)()
        for action in (self._name_transaction(), *vectors):
            actions.add(action)
        files = 1 + row_count // ROWS_PER_FILE
        names = [name for name in self._schema.names if name in rows.columns]
        written = new.select(*names).coalesce(files)
        assert isinstance(written, JvmDataFrame)  # noqa: S101 - the job has no Connect
        added = self._started.writeFiles(written._jdf)  # noqa: SLF001 - as in start_transaction
        named = self._transaction
        self._started.commit(
            added.concat(as_scala(self._jvm, actions)),
            streaming_update(self._jvm, named.query_id, named.batch_id),
        )
        return True

    def _name_transaction(self) -> Any:  # noqa: ANN401 - an action
        seen = {
            "appId": self._app_id,
            "version": self._transaction.batch_id,
            "lastUpdated": time.time_ns() // MILLISECOND_NS,
        }
        return parse_actions(self._jvm, [{"txn": seen}]).get(0)
