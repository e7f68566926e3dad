"""Keeps client_instances: compares each micro-batch with it, and changes what differs.

Nearly every micro-batch says of its client instances what the table says already. It is
enough to remember that, to see it without a look at the table. Nothing that is
remembered decides what is written: a client instance that is not, or of which the
pushes say something else, is compared with the table itself. That takes no plan of
Spark where the table's files can be read from here, unless a row is to be changed.
What is remembered is true of one version of the table only. Whatever makes another one
(somebody else's write, a change that Delta has skipped) is seen by the version, and all
is forgotten; a new query begins with nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from pipelines.delta_tables import transactions
from pipelines.delta_tables.retry import JOB_ATTEMPTS, repeat_on_conflict
from pipelines.delta_tables.writers import TableWriter
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_PUSHES
from udfs.envelopes.deciding_pushes import (
    KEY,
    OLDEST_NEEDED,
    InstanceColumns,
    find_differences,
    merge_facts,
    reduce_pushes,
)

from .steps import CONNECTION, MEMBERSHIP_NAMES, filter_newer_pushes

MAX_KNOWN_INSTANCES = 100_000
"""Rows of some 300 bytes, so about 30 MB; five times the pushes of a large micro-batch,
each of which may come from a client instance of its own."""
MAX_KNOWN_BYTES = 64 << 20
"""The same, where rows are larger."""

IS_CHANGED = "is_changed"
_COLUMNS = InstanceColumns(connection=CONNECTION, membership=MEMBERSHIP_NAMES)


class KnownInstances:
    """Rows of client_instances, as they are in one version of the table."""

    def __init__(
        self, max_rows: int = MAX_KNOWN_INSTANCES, max_bytes: int = MAX_KNOWN_BYTES
    ) -> None:
        """Know nothing yet, and never more than so many rows, or bytes."""
        self._max_rows, self._max_bytes = max_rows, max_bytes
        self._rows: pa.Table | None = None
        self._version = -1

    def __len__(self) -> int:
        """Return the number of client instances that are known."""
        return 0 if self._rows is None else self._rows.num_rows

    def select_candidates(self, deciding: pa.Table, version: int) -> pa.Table:
        """Keep the pushes of client instances that may change the table.

        Args:
            deciding: Pushes, as `deciding_pushes.select_deciding` keeps them.
            version: Of the table; of another one nothing is known, and the rows of the
                former one are forgotten.
        """
        if version != self._version:
            self.forget()
        if self._rows is None:
            return deciding
        facts = reduce_pushes(deciding, _COLUMNS)
        places = pc.index_in(facts.column(KEY), value_set=self._rows.column(KEY))
        differs = find_differences(facts, self._rows.take(places), _COLUMNS)
        candidates = facts.column(KEY).filter(pa.array(differs))
        is_candidate = pc.is_in(deciding.column(KEY), value_set=candidates)
        return deciding.filter(is_candidate)

    def remember(self, rows: pa.Table, version: int) -> None:
        """Take rows that the table has in a version; all others are the same in it.

        Args:
            rows: The table's columns; one row a client instance.
            version: Of the table, and from now on the only one that is known.
        """
        fresh = rows.select(list(CLIENT_INSTANCES.column_names))
        kept = [fresh]
        if self._rows is not None:
            is_old = pc.is_in(self._rows.column(KEY), value_set=fresh.column(KEY))
            kept.insert(0, self._rows.filter(pc.invert(is_old)))
        # Those that were taken first go first. One that still pushes comes back.
        every = pa.concat_tables(kept)
        newest = every.slice(max(0, every.num_rows - self._max_rows))
        while newest.nbytes > self._max_bytes and newest.num_rows > 1:
            newest = newest.slice(newest.num_rows // 2)
        self._rows, self._version = newest.combine_chunks(), version

    def forget(self) -> None:
        """Know nothing again."""
        self._rows, self._version = None, -1


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceWriter:
    """Writes client_instances for one query."""

    tables: TableWriter
    known: KnownInstances = field(default_factory=KnownInstances)

    def write(
        self,
        spark: SparkSession,
        deciding: pa.Table | None,
        transaction: transactions.Transaction,
    ) -> None:
        """Change what the pushes of a micro-batch say otherwise than the table.

        Args:
            deciding: As `udfs.envelopes.deciding_pushes.select_deciding` keeps pushes.
        """
        repeat_on_conflict(
            partial(self._write, spark, deciding, transaction),
            what=CLIENT_INSTANCES.name,
            attempts=JOB_ATTEMPTS,
        )

    def _write(
        self,
        spark: SparkSession,
        deciding: pa.Table | None,
        transaction: transactions.Transaction,
    ) -> None:
        state = self.tables.open_state(spark, CLIENT_INSTANCES, transaction)
        if deciding is not None:
            deciding = self.known.select_candidates(deciding, state.version)
        if deciding is None or not deciding.num_rows:
            with self.tables.observed(CLIENT_INSTANCES, 0):
                return
        stored = state.find(pa.table({KEY: pc.unique(deciding.column(KEY))}))
        compared = find_changes(
            deciding, stored, lambda: self.tables.read(spark, CLIENT_PUSHES)
        )
        rows = compared.filter(compared.column(IS_CHANGED)).drop_columns(IS_CHANGED)
        is_stored = pc.is_in(rows.column(KEY), value_set=stored.column(KEY))
        is_written = state.commit(
            rows.filter(pc.invert(is_stored)), rows.filter(is_stored)
        )
        version = state.find_version_after() if rows.num_rows else state.version
        # If Delta skipped the commit, or another writer committed as well, the rows
        # may not be those of the table.
        if is_written and version is not None:
            self.known.remember(compared, version)
        else:
            self.known.forget()


def find_changes(
    pushes: pa.Table, known: pa.Table, read_ledger: Callable[[], DataFrame]
) -> pa.Table:
    """Compare what pushes say of their client instances with the tables.

    Args:
        pushes: PUSH_COLUMNS.
        known: The rows of client_instances with their keys; at least its columns.
        read_ledger: Returns the table client_pushes, which may lack the pushes.
    Returns: The columns of known and IS_CHANGED.
    Shape: One row a client instance.
    """
    facts = reduce_pushes(pushes, _COLUMNS)
    beside, differs = _put_beside(facts, known)
    # Of a new client instance the ledger has no push.
    is_late = pc.and_(differs, beside.column(KEY).is_valid())
    if pc.any(is_late).as_py():
        newer = _read_newer(facts.filter(is_late), read_ledger())
        types = {one.name: one.type for one in pushes.schema}
        both = pa.concat_tables([pushes, _cast(newer.select(list(types)), types)])
        facts = reduce_pushes(both, _COLUMNS)
        beside, differs = _put_beside(facts, known)
    # What the table has beyond its contract stays as it is.
    merged = {name: beside.column(name) for name in known.column_names}
    merged |= merge_facts(facts, beside, _COLUMNS)
    return pa.table(merged | {IS_CHANGED: differs})


def _put_beside(facts: pa.Table, known: pa.Table) -> tuple[pa.Table, pa.ChunkedArray]:
    """Return the row of the table beside each fact, and whether it says otherwise."""
    stated = {one.name: one.type for one in facts.schema}
    places = pc.index_in(facts.column(KEY), value_set=known.column(KEY))
    beside = _cast(known.take(places), stated)
    return beside, pa.chunked_array([find_differences(facts, beside, _COLUMNS)])


def _read_newer(late: pa.Table, ledger: DataFrame) -> pa.Table:
    """Return the pushes of client instances that may be newer than what is known."""
    oldest_needed = pc.min(late.column(OLDEST_NEEDED))
    newer = ledger.transform(
        filter_newer_pushes,
        ledger.sparkSession.createDataFrame(late.select([KEY])),
        oldest_needed.cast(pa.int64()).as_py(),
    )
    return newer.toArrow()


def _cast(rows: pa.Table, types: dict[str, pa.DataType]) -> pa.Table:
    """Give columns the types of others with their names; a session has its own zone."""
    for place, name in enumerate(rows.column_names):
        column = rows.column(place)
        rows = rows.set_column(place, name, column.cast(types.get(name, column.type)))
    return rows
