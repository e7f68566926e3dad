"""The tables of a job as a micro-batch sees them: to be read, appended to, merged."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from . import sinks
from .batch_files import BatchFiles
from .setting_records import TableSettings
from .table_files import append_files, has_transaction
from .table_locations import identify_table, locate_table
from .tables import TableContract


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTables:
    """Where the tables are, and who is told of each write."""

    names: Mapping[str, str]
    """Contract name to SQL identifier."""
    locations: Mapping[str, str]
    """Contract name to folder."""
    observer: sinks.Observer

    def read(self, session: SparkSession, contract: TableContract) -> DataFrame:
        """Return a table as it is now."""
        return session.table(self.names[contract.name])

    def has(
        self,
        session: SparkSession,
        contract: TableContract,
        transaction: sinks.Transaction,
    ) -> bool:
        """Say whether a table was merged by this micro-batch already."""
        location = self.locations[contract.name]
        return has_transaction(session, contract, location, transaction, "merge")

    def append(
        self, batch: BatchFiles, contract: TableContract, transaction: sinks.Transaction
    ) -> None:
        """Append the files of a micro-batch."""
        row_count = batch.count_rows(contract.name)
        with self._observed(contract, row_count):
            if row_count:
                location = self.locations[contract.name]
                files = batch.iter_files(contract.name)
                session = batch.encoded.sparkSession
                append_files(session, contract, location, files, transaction)

    def write_changes(
        self,
        rows: DataFrame,
        contract: TableContract,
        transaction: sinks.Transaction,
        row_count: int,
        *,
        is_insert: bool,
        is_gone: str | None = None,
    ) -> None:
        """Merge rows, or append them where the table has none of their keys.

        Args:
            rows: As sinks.merge takes them; they are kept.
            contract: What the table promises.
            transaction: The micro-batch.
            row_count: Of rows; nothing is written for none.
            is_insert: Whether the table has none of their keys.
            is_gone: As sinks.merge takes it.
        """
        with self._observed(contract, row_count):
            if row_count and is_insert:
                location = self.locations[contract.name]
                sinks.append_new(rows, contract, location, transaction)
            elif row_count:
                name = self.names[contract.name]
                sinks.merge(rows, contract, name, transaction, is_gone=is_gone)

    @contextmanager
    def _observed(self, contract: TableContract, row_count: int) -> Iterator[None]:
        """Tell the observer what is about to be written, and that it is."""
        self.observer(f"before {contract.name}", row_count)
        yield
        self.observer(f"after {contract.name}", row_count)


def find_batch_tables(
    spark: SparkSession,
    settings: TableSettings,
    contracts: Sequence[TableContract],
    observer: sinks.Observer,
) -> BatchTables:
    """Look where tables are, which are there."""
    return BatchTables(
        names={c.name: identify_table(spark, settings, c) for c in contracts},
        locations={c.name: locate_table(spark, settings, c) for c in contracts},
        observer=observer,
    )
