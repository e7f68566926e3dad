"""What a way of writing does, whichever it is: `spark_writer`, or `files_writer`.

Each write is named by a `Transaction` and does nothing the second time.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import SparkSession

from pipelines.tables.contract import TableContract

from .batch_files import BatchFiles
from .transactions import Transaction

if TYPE_CHECKING:
    from .states import StateTable

ROWS_PER_FILE = 250_000
"""Of rows that are new: few make one file, many are written side by side."""

Observed = Callable[[TableContract, int], AbstractContextManager[None]]
"""Tells the observer that a number of rows is about to be written, and that it is."""
StoreFile = Callable[[Any], str]
"""Puts a file where its table is, and returns its path below the table's folder."""


class Way(Protocol):
    """Writes to tables."""

    name: str
    """As the setting `tables.writer` names it."""
    needs_content: bool
    """Whether the driver stores the files that workers have made."""

    def find_store(
        self,
        spark: SparkSession,
        contracts: Sequence[TableContract],
        /,
    ) -> StoreFile | None:
        """Return what puts files where tables are, for Python workers that may."""

    def append(
        self,
        batch: BatchFiles,
        contract: TableContract,
        transaction: Transaction,
        /,
    ) -> None:
        """Append the rows that a micro-batch has of a table."""

    def discard(self, batch: BatchFiles, contract: TableContract) -> None:
        """Delete the files of a micro-batch that workers have stored."""

    def open_state(
        self,
        spark: SparkSession,
        contract: TableContract,
        transaction: Transaction,
        observed: Observed,
        /,
    ) -> "StateTable":
        """Open a state table at its newest version."""

    def read_version(self, spark: SparkSession, contract: TableContract) -> int:
        """Return the number of a table's newest version."""
