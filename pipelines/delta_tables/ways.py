"""What a way of writing does, whichever it is: `spark_writer`, or `files_writer`.

Each write is named by a `Transaction` and does nothing the second time.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.contract import TableContract

from .batch_files import BatchFiles
from .transactions import Transaction

if TYPE_CHECKING:
    from .states import StateTable

POSITION = "position"
"""Column of a table that is read to be changed: where a row is, for its writer alone.
Of a row that is new it is null."""
PLACE = "_clientele_place"
"""Column of a table whose pushes are to be replaced: what part of the table holds a
row, for its writer alone."""
ROWS_PER_FILE = 250_000
"""Of rows that are new: few make one file, many are written side by side."""

Observed = Callable[[TableContract, int], AbstractContextManager[None]]
"""Tells the observer that a number of rows is about to be written, and that it is."""
StoreFile = Callable[[Any], str]
"""Puts a file where its table is, and returns its path below the table's folder."""


class Changes(Protocol):
    """One table as it is now, and one change of rows upon that."""

    is_committed: bool
    """Whether the table is known to have the micro-batch already."""
    is_new: bool
    """Whether the table is known to lack it."""

    def read(self) -> DataFrame:
        """Return the table, with POSITION."""

    def find(self, rows: DataFrame) -> DataFrame:
        """Return the rows of the table with the merge keys of some others.

        Args:
            rows: The merge key, one column, each once, and the columns by which the
                contract says what is newest; some ten thousand.
        Returns: The merge key, those columns and POSITION.
        Nulls: Columns behind the first of those by which rows are compared may be null
            where that one differs.
        """

    def find_rows(self, keys: pa.Array) -> pa.Table:
        """Return the rows of the table with some keys, whole.

        Args:
            keys: Of the merge key, one column, each once; some ten thousand.
        Returns: The columns of the table and POSITION.
        """

    def commit(
        self, rows: DataFrame, *, row_count: int = 0, is_gone: str | None = None
    ) -> bool:
        """Put rows in the places of old ones, or beside them, once.

        Args:
            rows: The contract's columns and POSITION, that of the row with their merge
                key in read(), if there is one; kept, for they are read twice. Without
                that column none of their keys is there. A column that a user added
                keeps its value where they have it.
            row_count: Of rows, about; many go to several files.
            is_gone: Name of a column of rows: whether nothing comes in its place.
        Returns: Whether rows were written; not if the table has the transaction.
        Raises: One of retry.CONFLICTS; the table is as it was then.
        """


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


def join_rows(table: DataFrame, key: str, keys: pa.Array) -> pa.Table:
    """Return the rows of a table with some keys, by a join with all of it."""
    wanted = table.sparkSession.createDataFrame(pa.table({key: keys}))
    found = table.join(F.broadcast(wanted), key, "left_semi")
    return found.select(*table.columns).toArrow()
