"""State tables: rows by key, read at one version and changed in one commit.

A job reads the rows that its records concern, folds the records into them, and commits
new rows and changed rows. New rows are appended by Delta Kernel. Changed rows need a
MERGE, which also inserts the new ones.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pipelines.tables.contract import IS_DELETED, TableContract
from udfs.files.table_files import FileWriter, TableFile
from udfs.spark_types import arrow_schema

from .kernel import KernelTable
from .layouts import layout_of
from .locations import check_is_there
from .lookups import MAX_ROWS, find_rows, join_rows
from .merging import merge_rows, read_version
from .new_files import NewFile, store_file
from .noted_offsets import read_at
from .retry import StaleVersion
from .transactions import Transaction
from .ways import Observed

MAX_SMALL_FILES = 100
"""Files below SMALL_BYTES; with more, a MERGE starts Delta's auto compaction."""
SMALL_BYTES = 16 << 20


class StateTable:
    """One state table at one version, and one commit upon that version."""

    def __init__(
        self,
        spark: SparkSession,
        contract: TableContract,
        table: str,
        transaction: Transaction,
        observed: Observed,
        *,
        location: str | None = None,
    ) -> None:
        """Open the newest version.

        Args:
            contract: Contract of the table; it has no partitions.
            table: SQL identifier of the table.
            transaction: Names the commit, which Delta makes once.
            observed: Tells the observer of the commit.
            location: URI of the table's directory; None if only Spark may write it.

        Raises:
            MissingTable: if the table was deleted.
        """
        self._spark, self._contract, self._table = spark, contract, table
        self._transaction, self._observed = transaction, observed
        self._location = location
        self._kernel: KernelTable | None = None
        if location is not None:
            self._kernel = KernelTable(spark, contract.name, location)

    @cached_property
    def version(self) -> int:
        """Number of the version."""
        if self._kernel is not None:
            return self._kernel.version
        return read_version(self._spark, self._table)

    @cached_property
    def is_committed(self) -> bool:
        """Whether the table is known to have the transaction already."""
        if self._kernel is None:
            return False
        known = self._transaction.known_app_ids(self._contract, "merge")
        newest = max(map(self._kernel.read_transaction, sorted(known)))
        return newest >= self._transaction.batch_id

    @cached_property
    def schema(self) -> pa.Schema:
        """Arrow schema of the contract's columns."""
        if self._kernel is None:
            stored = self._spark.table(self._table).schema
        else:
            stored = self._kernel.read_schema()
        return arrow_schema(
            StructType([stored[name] for name in self._contract.column_names])
        )

    def read(self) -> DataFrame:
        """Return the table at its version, for plans that need Spark."""
        if self._kernel is None:
            return self._spark.table(self._table)
        return read_at(self._spark, self._table, self.version)

    def find(self, keys: pa.Table, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows that agree with a row of keys in all columns of keys.

        Args:
            keys: Any columns of the table; nulls agree with nulls.
            columns: Columns to return; by default those of the contract.
        """
        names = list(columns or self._contract.column_names)
        schema = pa.schema([self.schema.field(name) for name in names])
        if not keys.num_rows:
            return schema.empty_table()
        if self._kernel is not None:
            found = find_rows(self._kernel, keys, schema, MAX_ROWS)
            if found is not None:
                return found
        return join_rows(self.read(), keys, schema)

    def make_rows(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        """Return rows of Python values as a table of the contract's columns."""
        return pa.Table.from_pylist(list(rows), schema=self.schema)

    def find_version_after(self) -> int | None:
        """Return the version that the commit made; None if there are later ones."""
        if self._kernel is None or self._location is None:
            newest = read_version(self._spark, self._table)
        else:
            name = self._contract.name
            newest = KernelTable(self._spark, name, self._location).version
        return newest if newest == self.version + 1 else None

    def commit(
        self,
        new: pa.Table,
        changed: pa.Table | None = None,
        gone: pa.Table | None = None,
    ) -> bool:
        """Put rows into the table in one commit, once; the observer is told anyway.

        Only new rows are an append as the version after this one. Any changed or gone
        rows are one MERGE by the contract's key, which also inserts the new rows.

        Args:
            new: The contract's columns; no row of the table has one of their keys.
            changed: The contract's columns; each row replaces the one with its key.
            gone: The contract's key, and any other of its columns.

        Returns:
            False if the table had the transaction already.

        Raises:
            Exception: one of retry.CONFLICTS if another writer committed meanwhile.
                The table is unchanged then.
        """
        changed = self.schema.empty_table() if changed is None else changed
        gone = self.schema.empty_table() if gone is None else gone
        count = new.num_rows + changed.num_rows + gone.num_rows
        with self._observed(self._contract, count):
            if not count:
                return True
            self._check_is_there()
            if self.is_committed:
                return False
            is_append = not changed.num_rows and not gone.num_rows
            if is_append and self._kernel is not None and not self._is_crowded():
                self._append(self._kernel, new)
                return True
            return self._merge(self._make_source(new, changed, gone), IS_DELETED)

    def merge(
        self, rows: DataFrame, row_count: int, *, is_gone: str | None = None
    ) -> bool:
        """Put rows of Spark into the table by one MERGE; the observer is told anyway.

        Args:
            rows: The contract's columns, one row per key; read twice, so persist them.
            row_count: Number of rows.
            is_gone: Name of a further column: whether the row is deleted.

        Returns:
            False if the table had the transaction already.

        Raises:
            Exception: as commit.
        """
        with self._observed(self._contract, row_count):
            if not row_count:
                return True
            self._check_is_there()
            return not self.is_committed and self._merge(rows, is_gone)

    def _check_is_there(self) -> None:
        """Refuse a deleted table: a commit would create its directory again."""
        if self._location is not None:
            check_is_there(self._spark, self._contract.name, self._location)

    def _merge(self, rows: DataFrame, is_gone: str | None) -> bool:
        if self._kernel is not None and self._location is not None:
            # Delta detects what is committed after it has read the table. What was
            # committed before that and after this version is detected here.
            newest = KernelTable(self._spark, self._contract.name, self._location)
            if newest.version != self.version:
                raise StaleVersion(self._contract.name)
        return merge_rows(
            rows, self._contract, self._table, self._transaction, is_gone=is_gone
        )

    def _make_source(
        self, new: pa.Table, changed: pa.Table, gone: pa.Table
    ) -> DataFrame:
        """Return the rows of a MERGE, with IS_DELETED."""
        put = pa.concat_tables([self._conform(new), self._conform(changed)])
        rows = pa.concat_tables([put, self._conform(gone)])
        is_gone = [False] * put.num_rows + [True] * gone.num_rows
        # Null in rows that go, which only have a key.
        nullable = pa.schema([field.with_nullable(True) for field in rows.schema])
        source = rows.cast(nullable).append_column(IS_DELETED, pa.array(is_gone))
        return self._spark.createDataFrame(source)

    def _conform(self, rows: pa.Table) -> pa.Table:
        """Return the contract's columns in their order; missing ones are null."""
        there = set(rows.column_names)
        columns = [
            rows.column(field.name).cast(field.type)
            if field.name in there
            else pa.nulls(rows.num_rows, field.type)
            for field in self.schema
        ]
        fields = [field.with_nullable(True) for field in self.schema]
        return pa.table(columns, schema=pa.schema(fields))

    def _is_crowded(self) -> bool:
        """Return whether the table has so many small files that it needs a MERGE."""
        if self._kernel is None or "delta.autoOptimize.autoCompact" not in (
            self._contract.properties
        ):
            return False
        small = [file for file in self._kernel.files if file.size < SMALL_BYTES]
        return len(small) > MAX_SMALL_FILES

    def _append(self, kernel: KernelTable, rows: pa.Table) -> None:
        assert self._location is not None  # noqa: S101 - a table of Kernel has one
        writer = FileWriter(layout_of(self._contract), date.min)
        made: list[TableFile] = []
        for batch in self._conform(rows).to_batches():
            made += writer.write(batch)
        made += writer.end()
        files = [
            NewFile(
                event_date=None,
                statistics=file.statistics,
                size=len(file.content),
                path=None,
                content=file.content,
            )
            for file in made
        ]
        kernel.append(
            [
                store_file(self._spark, self._contract, self._location, file)
                for file in files
            ],
            app_id=self._transaction.merge_app_id(self._contract),
            version=self._transaction.batch_id,
            is_exact=True,
        )
