"""The one door into the tables of jobs: appended to, changed, replaced.

Behind it stand two ways of writing (see `ways`): `spark_writer` has public APIs alone
and holds every promise, `direct` may be faster, never different. Which one it is, is
decided where a job begins.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from pipelines.errors import IncompatibleTable
from pipelines.settings.records import TableSettings
from pipelines.tables.contract import TableContract

from . import transactions
from .batch_files import BatchFiles, read_batch_files
from .damaged_logs import gone_table
from .direct.fit import find_misfit, find_strange_version
from .direct.writer import DirectWriter
from .locations import (
    check_is_there,
    find_table_folder,
    has_table,
    identify_table,
)
from .log_stores import find_limit
from .retry import JOB_ATTEMPTS, LostRace, repeat_on_conflict
from .spark_writer import SparkWriter
from .ways import Changes, Replacement, StoreFile, Way

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWriter:
    """The tables of one run of a job."""

    names: Mapping[str, str]
    """Contract name to SQL identifier."""
    folders: Mapping[str, str]
    """Contract name to folder, but of tables that only their catalog knows."""
    observer: transactions.Observer
    """Told of each write."""
    way: Way

    def check_are_there(self, session: SparkSession) -> None:
        """Refuse to go on where a table was deleted.

        Raises: MissingTable.
        """
        for name, table in self.names.items():
            if name in self.folders:
                check_is_there(session, name, self.folders[name])
            elif not has_table(session, table):
                raise gone_table(name, table)

    def read(self, session: SparkSession, contract: TableContract) -> DataFrame:
        """Return a table as it is now."""
        return session.table(self.names[contract.name])

    def read_version(self, session: SparkSession, contract: TableContract) -> int:
        """Return the number of a table's newest version."""
        return self.way.read_version(session, contract)

    def find_store(
        self, spark: SparkSession, contracts: Sequence[TableContract]
    ) -> StoreFile | None:
        """Return what Python workers may put files into tables' folders with."""
        return self.way.find_store(spark, contracts)

    def decode(self, encoded: DataFrame) -> BatchFiles:
        """Run the decode of a micro-batch and learn what came of it.

        Args:
            encoded: From encode_push_files; persisted, unless workers store the files.
        """
        return read_batch_files(encoded, with_content=self.way.needs_content)

    def append(
        self,
        batch: BatchFiles,
        contract: TableContract,
        transaction: transactions.Transaction,
    ) -> None:
        """Append what a micro-batch has of a table, if there is anything.

        Nothing but a change of the table itself, such as one of its properties, is in
        an append's way.
        """
        row_count = batch.count_rows(contract.name)
        with self.observed(contract, row_count):
            if row_count:
                repeat_on_conflict(
                    lambda: self.way.append(batch, contract, transaction),
                    what=contract.name,
                    attempts=JOB_ATTEMPTS,
                )

    def discard(self, batch: BatchFiles, contracts: Sequence[TableContract]) -> None:
        """Delete the files of a micro-batch that workers have stored."""
        for contract in contracts:
            self.way.discard(batch, contract)

    def begin(
        self,
        session: SparkSession,
        contract: TableContract,
        transaction: transactions.Transaction,
    ) -> Changes:
        """Take a table as it is now, to change rows of it."""
        return self.way.begin(session, contract, transaction)

    def change(
        self,
        changes: Changes,
        contract: TableContract,
        rows: DataFrame,
        row_count: int,
        *,
        is_gone: str | None = None,
    ) -> bool:
        """Change rows by their key, if there are any; the observer is told anyway.

        Args:
            changes: From begin.
            rows: As ways.Changes.commit takes them, and is_gone.
        Returns: False if the table has the transaction already.
        """
        with self.observed(contract, row_count):
            if not row_count:
                return True
            return changes.commit(rows, row_count=row_count, is_gone=is_gone)

    def change_version(
        self,
        changes: Changes,
        contract: TableContract,
        rows: DataFrame,
        row_count: int,
        *,
        is_gone: str | None = None,
    ) -> None:
        """Change rows of the version that names the transaction of a run.

        Two runs that read one version have one transaction, of which Delta skips the
        second without an error.

        Raises: LostRace for the second run, which must read the table again; else as
            ways.Changes.commit.
        """
        if not self.change(changes, contract, rows, row_count, is_gone=is_gone):
            raise LostRace(contract.name)

    def begin_replacement(
        self, spark: SparkSession, contract: TableContract
    ) -> Replacement:
        """Take a table as it is now, to replace the rows of single pushes."""
        return self.way.begin_replacement(spark, contract)

    @contextmanager
    def observed(self, contract: TableContract, row_count: int) -> Iterator[None]:
        """Tell the observer what is about to be written, and that it is."""
        self.observer(f"before {contract.name}", row_count)
        yield
        self.observer(f"after {contract.name}", row_count)


def open_writer(
    spark: SparkSession,
    settings: TableSettings,
    contracts: Sequence[TableContract],
    observer: transactions.Observer = transactions.log_progress,
) -> TableWriter:
    """Look where tables are, which are there, and decide how they are written.

    Raises: IncompatibleTable where a table cannot be written as the settings say.
    """
    names = {c.name: identify_table(spark, settings, c) for c in contracts}
    is_asked = settings.writer == SparkWriter.name
    reason = "the settings say so" if is_asked else find_strange_version(spark)
    folders: dict[str, str] = {}
    # A catalog may keep to itself where its tables are.
    if reason is None or not settings.catalog_schema:
        found = {c.name: find_table_folder(spark, settings, c) for c in contracts}
        folders = {name: folder for name, folder in found.items() if folder}
    if limit := find_limit(spark, folders.values()):
        _logger.warning("%s", limit)
    if reason is None:
        reason = find_misfit(spark, contracts, names, folders)
    if reason is None:
        _logger.info("tables are written by direct: all is known that is found")
        way: Way = DirectWriter(names, folders)
    elif settings.writer == DirectWriter.name:
        raise IncompatibleTable(
            f"tables.writer is direct, and {reason}; say auto or spark"
        )
    else:
        _logger.info("tables are written by spark: %s", reason)
        way = SparkWriter(names)
        if settings.catalog_schema:
            folders = {}
    return TableWriter(names=names, folders=folders, observer=observer, way=way)
