"""Writes of jobs to their tables: appends, state tables, replacements.

Two writers leave the same rows: `files_writer` appends files of our workers by Delta
Kernel, `spark_writer` writes DataFrames. `open_writer` chooses one when a job starts.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from pipelines.errors import IncompatibleTable
from pipelines.settings.records import TableSettings
from pipelines.tables.contract import TableContract

from . import transactions
from .batch_files import BatchFiles, read_batch_files
from .damaged_logs import gone_table
from .files_writer import FilesWriter
from .kernel import KernelTable, is_available
from .locations import (
    check_is_there,
    find_table_folder,
    has_table,
    identify_table,
)
from .log_stores import find_limit
from .retry import JOB_ATTEMPTS, repeat_on_conflict
from .spark_writer import (
    BegunBatches,
    MergedReplacement,
    SparkWriter,
)
from .states import StateTable
from .ways import StoreFile, Way

KNOWN_SCHEMES = frozenset({"file", "hdfs", "s3a", "abfs", "abfss", "gs"})
"""Local file system, HDFS and object stores that Kernel commits to."""
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
    begun: BegunBatches = field(default_factory=BegunBatches)

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

    def open_state(
        self,
        session: SparkSession,
        contract: TableContract,
        transaction: transactions.Transaction,
    ) -> StateTable:
        """Open a state table at its newest version, for one commit upon that."""
        return self.way.open_state(session, contract, transaction, self.observed)

    def find_rows(
        self,
        session: SparkSession,
        contract: TableContract,
        keys: pa.Table,
        columns: Sequence[str],
    ) -> pa.Table:
        """Return rows of a table that agree with keys; see StateTable.find."""
        unused = transactions.Transaction(query_id="", batch_id=0)
        return self.open_state(session, contract, unused).find(keys, columns)

    def begin_replacement(
        self, spark: SparkSession, contract: TableContract
    ) -> MergedReplacement:
        """Take a table as it is now, to replace the rows of single pushes."""
        return MergedReplacement(spark, contract, self.names[contract.name])

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
    """Locate the tables and choose how they are written.

    Raises:
        IncompatibleTable: if a table cannot be written as the settings require.
    """
    names = {c.name: identify_table(spark, settings, c) for c in contracts}
    is_spark = settings.writer == SparkWriter.name
    reason = "tables.writer is spark" if is_spark else _find_missing(spark)
    folders: dict[str, str] = {}
    # A catalog may not tell where its tables are.
    if reason is None or not settings.catalog_schema:
        found = {c.name: find_table_folder(spark, settings, c) for c in contracts}
        folders = {name: folder for name, folder in found.items() if folder}
    if limit := find_limit(spark, folders.values()):
        _logger.warning("%s", limit)
    if reason is None:
        reason = _find_misfit(spark, contracts, folders)
    if reason is None:
        _logger.info("Using writer=files (Spark %s)", spark.version)
        way: Way = FilesWriter(names, folders)
    elif settings.writer == FilesWriter.name:
        raise IncompatibleTable(
            f"tables.writer is files, but {reason}. Set it to auto or spark."
        )
    else:
        _logger.info("Using writer=spark: %s", reason)
        way = SparkWriter(names)
        if settings.catalog_schema:
            folders = {}
    return TableWriter(names=names, folders=folders, observer=observer, way=way)


def _find_missing(spark: SparkSession) -> str | None:
    """Return what the session lacks for the writer `files`; None if nothing."""
    return None if is_available(spark) else "the session has no Delta Kernel"


def _find_misfit(
    spark: SparkSession,
    contracts: Sequence[TableContract],
    locations: Mapping[str, str],
) -> str | None:
    """Return why Kernel cannot write one of the tables; None if it can.

    Args:
        locations: Directories of the tables whose location is known.
    """
    for contract in contracts:
        location = locations.get(contract.name)
        if location is None:
            return f"the catalog does not tell the location of table {contract.name}"
        scheme = urlsplit(location).scheme or "file"
        if scheme not in KNOWN_SCHEMES:
            return f"table {contract.name} is on the unknown file system {scheme}"
        try:
            misfit = KernelTable(spark, contract.name, location).find_misfit()
        except Py4JJavaError as error:
            kind = error.java_exception.getClass().getSimpleName()
            return f"Delta Kernel cannot read table {contract.name} ({kind})"
        if misfit is not None:
            return f"table {contract.name} has {misfit}"
    return None
