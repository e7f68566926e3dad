"""Tables of states as they are before some records of a topic, and rows back into them.

For jobs whose rows are made on the driver, from what stood there before and from
records in the order of a topic of one partition. See `noted_offsets`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.contract import TableContract
from udfs.spark_types import arrow_schema

from . import transactions
from .noted_offsets import Note, noting, read_at, read_noted_state, take_back
from .retry import JOB_ATTEMPTS, repeat_on_conflict
from .ways import POSITION
from .writers import TableWriter

Rows = Sequence[dict[str, Any]]
"""By the columns of their table, times in microseconds since 1970."""
Narrow = Callable[[DataFrame], DataFrame]
"""Keeps the rows of a table that records may concern."""


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
        narrow: Narrow,
    ) -> Rows:
        """Return the rows of a table that records may concern, as before the first."""
        table = self.tables.names[contract.name]
        version = None
        if self._known.get(contract.name, extent.first) >= extent.first:
            version = self._find_version(session, contract, extent)
        frame = narrow(read_at(session, table, version))
        return _as_rows(frame.select(*contract.column_names).toArrow())

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
        changes = self.tables.begin(session, contract, transaction)
        table = changes.read()
        schema = arrow_schema(table.select(*contract.column_names).schema)
        made = session.createDataFrame(pa.Table.from_pylist(list(rows), schema=schema))
        placed = _with_positions(made, table, contract.merge_key)
        with (
            transactions.persisted(placed) as kept,
            noting(session, extent.note),
        ):
            self.tables.change(changes, contract, kept, len(rows))


def filter_newest(
    rows: DataFrame, contract: TableContract, earliest_us: int
) -> DataFrame:
    """Keep of each thing what is so, or was so last and until after a moment.

    Args:
        contract: Of a type-2 table, whose key ends with valid_from.
        earliest_us: The moment, in microseconds since 1970.
    """
    earliest = F.timestamp_micros(F.lit(earliest_us))
    known = rows.where(F.col("is_current") | (F.col("valid_to") > earliest))
    *thing, valid_from = contract.merge_key
    newest = F.max_by(F.struct(*contract.column_names), valid_from).alias("newest")
    return known.groupBy(*thing).agg(newest).select("newest.*")


def _with_positions(rows: DataFrame, table: DataFrame, key: Sequence[str]) -> DataFrame:
    """Put beside rows where the table has the one with their key."""
    keys = F.broadcast(rows.select(*key))
    known = table.select(*key, POSITION).join(keys, [*key], "left_semi")
    return rows.join(known, [*key], "left").select(*rows.columns, POSITION)


def _as_rows(table: pa.Table) -> Rows:
    for place, one in enumerate(table.schema):
        if pa.types.is_timestamp(one.type):
            micros = table.column(place).cast(pa.timestamp("us", "UTC"))
            table = table.set_column(place, one.name, micros.cast(pa.int64()))
    rows: Rows = table.to_pylist()
    return rows
