"""The tables of a job as a micro-batch sees them: to be read, appended to, changed."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession

from pipelines.settings.records import TableSettings
from pipelines.tables.contract import TableContract

from . import transactions
from .batch_files import BatchFiles
from .direct.commits import append_files, discard_files
from .direct.row_changes import RowChanges
from .direct.row_replacement import CONFLICTS
from .locations import identify_table, locate_table

ATTEMPTS = 10
_logger = logging.getLogger(__name__)
Result = TypeVar("Result")


def repeat_change(change: Callable[[], Result]) -> Result:
    """Change a table, anew where somebody else has changed it meanwhile.

    Args:
        change: Takes the table as it is now, and commits.
    Raises: Delta's exception where that happens again and again.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return change()
        except CONFLICTS as conflict:
            _logger.info("a table has changed meanwhile: %s", type(conflict).__name__)
    return change()


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTables:
    """Where the tables are, and who is told of each write."""

    names: Mapping[str, str]
    """Contract name to SQL identifier."""
    locations: Mapping[str, str]
    """Contract name to folder."""
    observer: transactions.Observer

    def read(self, session: SparkSession, contract: TableContract) -> DataFrame:
        """Return a table as it is now."""
        return session.table(self.names[contract.name])

    def begin(
        self,
        session: SparkSession,
        contract: TableContract,
        transaction: transactions.Transaction,
    ) -> RowChanges:
        """Take a table as it is now, to change rows of it."""
        location = self.locations[contract.name]
        return RowChanges(session, contract, location, transaction)

    def append(
        self,
        batch: BatchFiles,
        contract: TableContract,
        transaction: transactions.Transaction,
    ) -> None:
        """Append the files of a micro-batch."""
        row_count = batch.count_rows(contract.name)
        with self.observed(contract, row_count):
            if row_count:
                location = self.locations[contract.name]
                files = batch.iter_files(contract.name)
                session = batch.encoded.sparkSession
                append_files(session, contract, location, files, transaction)

    def discard(self, batch: BatchFiles, contracts: Sequence[TableContract]) -> None:
        """Delete the files of a micro-batch that workers have stored."""
        session = batch.encoded.sparkSession
        for contract in contracts:
            files = batch.iter_files(contract.name)
            discard_files(session, self.locations[contract.name], files)

    def commit(
        self,
        changes: RowChanges,
        contract: TableContract,
        rows: DataFrame,
        row_count: int,
        *,
        is_gone: str | None = None,
    ) -> None:
        """Commit changes, if there are any; the observer is told in any case."""
        with self.observed(contract, row_count):
            if row_count:
                changes.commit(rows, is_gone=is_gone)

    @contextmanager
    def observed(self, contract: TableContract, row_count: int) -> Iterator[None]:
        """Tell the observer what is about to be written, and that it is."""
        self.observer(f"before {contract.name}", row_count)
        yield
        self.observer(f"after {contract.name}", row_count)


def find_batch_tables(
    spark: SparkSession,
    settings: TableSettings,
    contracts: Sequence[TableContract],
    observer: transactions.Observer,
) -> BatchTables:
    """Look where tables are, which are there."""
    return BatchTables(
        names={c.name: identify_table(spark, settings, c) for c in contracts},
        locations={c.name: locate_table(spark, settings, c) for c in contracts},
        observer=observer,
    )
