"""What a way of writing does, whichever it is: `spark_writer`, or `files_writer`.

Each write is named by a `Transaction` and does nothing the second time.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from pipelines.tables.contract import TableContract

from .batch_files import BatchFiles
from .transactions import Transaction

if TYPE_CHECKING:
    from .states import StateTable

PLACE = "_clientele_place"
"""Column of a table whose pushes are to be replaced: what part of the table holds a
row, for its writer alone."""
ROWS_PER_FILE = 250_000
"""Of rows that are new: few make one file, many are written side by side."""

Observed = Callable[[TableContract, int], AbstractContextManager[None]]
"""Tells the observer that a number of rows is about to be written, and that it is."""
StoreFile = Callable[[Any], str]
"""Puts a file where its table is, and returns its path below the table's folder."""


class Replacement(Protocol):
    """One table as it is now, and one commit that replaces rows of single pushes."""

    def read(self) -> DataFrame:
        """Return the table at one version, with PLACE."""

    def commit(
        self,
        pushes: DataFrame,
        places: Sequence[str],
        rows: DataFrame,
        *,
        row_count: int,
    ) -> None:
        """Put the rows in the place of all rows of the pushes.

        Args:
            pushes: topic, partition, offset and push_id, once each; thousands.
            places: All that read() says of rows of the pushes.
            rows: The new rows, of these pushes only; columns of the table that they
                lack become null.
            row_count: New rows; decides the number of files.
        Raises: One of retry.CONFLICTS; the table is as it was then.
        """


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
