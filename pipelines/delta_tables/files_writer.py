"""The writer `files`: appends the files that Python workers wrote, by Delta Kernel.

Spark would make a row of each point and a column of each row again. The workers store
the files on the local file system; elsewhere the driver stores their bytes by Hadoop.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.errors import IncompatibleTable
from pipelines.tables.contract import TableContract

from .batch_files import INLINE_BYTES, BatchFiles
from .kernel import KernelTable
from .local_files import LocalFolders
from .locations import check_is_there, find_local_path
from .new_files import NewFile, discard_files, store_file
from .states import StateTable
from .transactions import Transaction
from .ways import Observed, StoreFile


class FilesWriter:
    """One writer of tables; see ways.Way."""

    name = "files"
    needs_content = True

    def __init__(self, names: Mapping[str, str], locations: Mapping[str, str]) -> None:
        """Take the SQL identifiers and the directories of tables, by contract name."""
        self._names, self._locations = names, locations

    def find_store(
        self, spark: SparkSession, contracts: Sequence[TableContract]
    ) -> StoreFile | None:
        """Return what stores files where tables are, for Python workers that may."""
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
        files = _iter_files(batch, contract.name)
        session = batch.encoded.sparkSession
        append_files(session, contract, location, files, transaction)

    def discard(self, batch: BatchFiles, contract: TableContract) -> None:
        """Delete the files of a micro-batch that workers have stored."""
        files = _iter_files(batch, contract.name)
        location = self._locations[contract.name]
        discard_files(batch.encoded.sparkSession, location, files)

    def open_state(
        self,
        spark: SparkSession,
        contract: TableContract,
        transaction: Transaction,
        observed: Observed,
    ) -> StateTable:
        """Open a state table at its newest version."""
        return StateTable(
            spark,
            contract,
            self._names[contract.name],
            transaction,
            observed,
            location=self._locations[contract.name],
        )

    def read_version(self, spark: SparkSession, contract: TableContract) -> int:
        """Return the number of a table's newest version."""
        location = self._locations[contract.name]
        return KernelTable(spark, contract.name, location).version


def _iter_files(batch: BatchFiles, table: str) -> Iterator[NewFile]:
    """Return the files of a table; large ones are fetched one by one."""
    wanted = [row for row in batch.listed if row["table"] == table]
    for row in wanted:
        if not _is_apart(row):
            yield _read_file(row)
    if not any(map(_is_apart, wanted)):
        return
    is_large = F.octet_length("content") > INLINE_BYTES
    of_table = batch.encoded.where((F.col("table") == table) & is_large)
    for row in of_table.toLocalIterator():
        yield _read_file(row)


def _read_file(row: Row) -> NewFile:
    return NewFile(
        event_date=row["event_date"],
        statistics=row["statistics"],
        size=row["size"],
        path=row["path"],
        content=None if row["content"] is None else bytes(row["content"]),
    )


def _is_apart(row: Row) -> bool:
    """Return whether the bytes of a file are still to be fetched."""
    return row["path"] is None and row["content"] is None


def append_files(
    spark: SparkSession,
    contract: TableContract,
    location: str,
    files: Iterable[NewFile],
    transaction: Transaction,
) -> None:
    """Append the files of a micro-batch to a table, unless it has them already.

    Args:
        contract: Contract of the table; it is partitioned by one date.
        location: URI of the table's directory.
        files: Read once, one at a time.
        transaction: The micro-batch; Delta keeps the newest one with the table.

    Raises:
        IncompatibleTable: if Kernel cannot write the table.
        MissingTable: if the table was deleted.
    """
    check_is_there(spark, contract.name, location)
    table = KernelTable(spark, contract.name, location)
    known = transaction.known_app_ids(contract, "append")
    if any(table.read_transaction(one) >= transaction.batch_id for one in known):
        discard_files(spark, location, files)
        return
    misfit = table.find_misfit()
    if misfit is not None:
        discard_files(spark, location, files)
        raise IncompatibleTable(
            f"table {contract.name} at {location}: the writer `files` does not support "
            f"{misfit}. Remove it, or set tables.writer to spark."
        )
    table.append(
        [store_file(spark, contract, location, file) for file in files],
        app_id=transaction.app_id(contract, "append"),
        version=transaction.batch_id,
    )
