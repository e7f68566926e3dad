"""Tables of states as they are before some records of a topic, and rows back into them.

For jobs whose rows are made on the driver, from what stood there before and from
records in the order of a topic of one partition. See `noted_offsets`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from pipelines.tables.contract import TableContract
from udfs.spark_types import arrow_schema

from . import transactions
from .lookups import join_rows
from .noted_offsets import Note, noting, read_at, read_noted_state, take_back
from .retry import JOB_ATTEMPTS, repeat_on_conflict
from .writers import TableWriter

Rows = Sequence[dict[str, Any]]
"""By the columns of their table, times in microseconds since 1970."""
_MICROS = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The records of a micro-batch, or of a slice of it."""

    note: Note
    """Of its last record."""
    first: int
    """Offset of its first record."""
    earliest_us: int
    """The earliest of their times."""


@dataclass(slots=True)
class NotedTables:
    """The tables whose rows records change; only one run writes to them at a time."""

    tables: TableWriter
    _known: dict[str, int] = field(default_factory=dict)
    """Table to the last record that it is known to have."""

    def read(
        self,
        session: SparkSession,
        contract: TableContract,
        extent: Extent,
        keys: pa.Table,
    ) -> Rows:
        """Return the rows that records may concern, as before the first record.

        Args:
            keys: Columns that rows must agree with; see StateTable.find.

        Returns:
            The rows that agree with keys; of a type-2 table, the newest row of each
            thing that is current, or ended after the earliest record.
        """
        version = None
        if self._known.get(contract.name, extent.first) >= extent.first:
            version = self._find_version(session, contract, extent)
        names = contract.column_names
        if version is None:
            found = self.tables.find_rows(session, contract, keys, names)
        else:
            frame = read_at(session, self.tables.names[contract.name], version)
            schema = arrow_schema(frame.select(*names).schema)
            found = join_rows(frame, keys, schema)
        if contract.merge_key[-1] == "valid_from":
            return _filter_newest(found, contract, extent.earliest_us)
        return _as_rows(found)

    def _find_version(
        self, session: SparkSession, contract: TableContract, extent: Extent
    ) -> int | None:
        """Return the version before the first record; null: the newest one."""
        table, note = self.tables.names[contract.name], extent.note
        found = read_noted_state(
            session,
            table,
            topic=note.topic,
            topic_id=note.topic_id,
            first=extent.first,
        )
        version = found.version_before
        self._known[contract.name] = -1
        if version is None or found.newest is None:
            return None
        if found.newest.query_id == note.query_id:
            self._known[contract.name] = found.newest.offset
            return version
        before = Note(
            topic=note.topic,
            topic_id=note.topic_id,
            offset=extent.first - 1,
            query_id=note.query_id,
        )
        take_back(session, table, version, before)
        return None

    def write(
        self,
        session: SparkSession,
        contract: TableContract,
        rows: Rows,
        extent: Extent,
        transaction: transactions.Transaction,
    ) -> None:
        """Put rows by their key, unless the table has the records already."""
        is_known = self._known.get(contract.name, -1) >= extent.note.offset
        if is_known or not rows:
            with self.tables.observed(contract, 0):
                return
        repeat_on_conflict(
            lambda: self._write(session, contract, rows, extent, transaction),
            what=contract.name,
            attempts=JOB_ATTEMPTS,
        )
        self._known[contract.name] = extent.note.offset

    def _write(
        self,
        session: SparkSession,
        contract: TableContract,
        rows: Rows,
        extent: Extent,
        transaction: transactions.Transaction,
    ) -> None:
        state = self.tables.open_state(session, contract, transaction)
        made = state.make_rows(rows)
        # By Spark even if all rows are new: Kernel's commits bear no note.
        with noting(session, extent.note):
            state.merge(session.createDataFrame(made), len(rows))


def _filter_newest(rows: pa.Table, contract: TableContract, earliest_us: int) -> Rows:
    """Return the newest row of each thing that is current or ended after a time.

    Args:
        contract: Of a type-2 table, whose key ends with valid_from.
        earliest_us: The time, in microseconds since 1970.
    """
    earliest = pa.scalar(earliest_us, pa.int64()).cast(_MICROS)
    is_late = pc.greater(rows.column("valid_to").cast(_MICROS), earliest)
    is_known = pc.or_(rows.column("is_current"), pc.fill_null(is_late, False))
    *thing, valid_from = contract.merge_key
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in _as_rows(rows.filter(is_known)):
        key = tuple(row[name] for name in thing)
        if key not in newest or newest[key][valid_from] < row[valid_from]:
            newest[key] = row
    return list(newest.values())


def _as_rows(table: pa.Table) -> Rows:
    for place, one in enumerate(table.schema):
        if pa.types.is_timestamp(one.type):
            micros = table.column(place).cast(pa.timestamp("us", "UTC"))
            table = table.set_column(place, one.name, micros.cast(pa.int64()))
    rows: Rows = table.to_pylist()
    return rows
