"""Writes files that the workers have made, by Delta's own transactions."""

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from pipelines.delta_tables.batch_files import BatchFiles
from pipelines.delta_tables.locations import find_local_path
from pipelines.delta_tables.transactions import Transaction
from pipelines.delta_tables.ways import StoreFile
from pipelines.tables.contract import TableContract

from .commits import append_files, discard_files, iter_files
from .delta_transactions import start_transaction
from .local_files import LocalFolders
from .row_changes import RowChanges
from .row_replacement import FileReplacement


class DirectWriter:
    """One way of writing to tables; see ways.Way."""

    name = "direct"
    needs_content = True

    def __init__(self, names: Mapping[str, str], locations: Mapping[str, str]) -> None:
        """Take the SQL identifiers and the folders of tables, by contract name."""
        self._names, self._locations = names, locations

    def find_store(
        self, spark: SparkSession, contracts: Sequence[TableContract]
    ) -> StoreFile | None:
        """Return what puts files where tables are, for Python workers that may."""
        if not str(spark.sparkContext.master).startswith("local"):
            return None
        paths = {
            contract.name: find_local_path(spark, self._locations[contract.name])
            for contract in contracts
        }
        folders = {name: path for name, path in paths.items() if path is not None}
        if len(folders) < len(paths):
            return None
        return LocalFolders(folders=folders, partition_by=contracts[0].partition_by[0])

    def append(
        self, batch: BatchFiles, contract: TableContract, transaction: Transaction
    ) -> None:
        """Append the files of a micro-batch."""
        location = self._locations[contract.name]
        files = iter_files(batch, contract.name)
        session = batch.encoded.sparkSession
        append_files(session, contract, location, files, transaction)

    def discard(self, batch: BatchFiles, contract: TableContract) -> None:
        """Delete the files of a micro-batch that workers have stored."""
        files = iter_files(batch, contract.name)
        location = self._locations[contract.name]
        discard_files(batch.encoded.sparkSession, location, files)

    def begin(
        self, spark: SparkSession, contract: TableContract, transaction: Transaction
    ) -> RowChanges:
        """Take a table as it is now, to change rows of it by their places."""
        location = self._locations[contract.name]
        return RowChanges(spark, contract, location, transaction)

    def begin_replacement(
        self, spark: SparkSession, contract: TableContract
    ) -> FileReplacement:
        """Take a table as it is now, to replace files of it."""
        return FileReplacement(spark, contract, self._names[contract.name])

    def read_version(self, spark: SparkSession, contract: TableContract) -> int:
        """Return the number of a table's newest version."""
        _, started = start_transaction(spark, self._locations[contract.name])
        return int(started.snapshot().version())
