"""Keeps client_instances: compares each micro-batch with it, and merges what differs.

Nearly every micro-batch says of its client instances what the table says already. It is
enough to remember that, to see it without a plan of Spark. Nothing that is remembered
decides what is written: a client instance that is not, or of which the pushes say
something else, is compared with the table itself.
What is remembered is true of one version of the table only. Whatever makes another one
(somebody else's write, a merge that Delta has skipped) is seen by the version, and all
is forgotten; a new query begins with nothing.
"""

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from pipelines.delta_tables import transactions
from pipelines.delta_tables.retry import JOB_ATTEMPTS, repeat_on_conflict
from pipelines.delta_tables.writers import TableWriter
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_PUSHES
from udfs.envelopes.deciding_pushes import (
    KEY,
    InstanceColumns,
    find_differences,
    reduce_pushes,
)

from .steps import (
    CONNECTION,
    MEMBERSHIP_NAMES,
    compare_instances,
    filter_newer_pushes,
    select_instance_facts,
)

MAX_KNOWN_INSTANCES = 100_000
"""Rows of some 300 bytes, so about 30 MB; five times the pushes of a large micro-batch,
each of which may come from a client instance of its own."""
MAX_KNOWN_BYTES = 64 << 20
"""The same, where rows are larger."""

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


_MICROS = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceChanges:
    """What a micro-batch says of client instances, compared with the table."""

    version: int
    """Of the table, as it was before it was read."""
    compared: pa.Table | None = None
    """From find_changes; null where all is known to be as it is."""

    @property
    def rows(self) -> pa.Table | None:
        """The rows to merge; null where there are none."""
        if self.compared is None:
            return None
        changed = self.compared.filter(self.compared.column("is_changed"))
        columns = list(CLIENT_INSTANCES.column_names)
        return changed.select(columns) if changed.num_rows else None

    @property
    def row_count(self) -> int:
        """The number of rows to merge."""
        rows = self.rows
        return 0 if rows is None else rows.num_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceWriter:
    """Writes client_instances for one query."""

    tables: TableWriter
    known: KnownInstances = field(default_factory=KnownInstances)

    def find_changes(
        self,
        spark: SparkSession,
        deciding: pa.Table | None,
    ) -> InstanceChanges:
        """Compare the pushes of a micro-batch with the table.

        Args:
            deciding: As `udfs.envelopes.deciding_pushes.select_deciding` keeps pushes.
        """
        version = self.tables.read_version(spark, CLIENT_INSTANCES)
        if deciding is None:
            return InstanceChanges(version=version)
        candidates = self.known.select_candidates(deciding, version)
        if not candidates.num_rows:
            return InstanceChanges(version=version)
        compared = find_changes(
            candidates,
            self.tables.read(spark, CLIENT_INSTANCES),
            self.tables.read(spark, CLIENT_PUSHES),
        )
        return InstanceChanges(version=version, compared=compared)

    def merge(
        self,
        spark: SparkSession,
        changes: InstanceChanges,
        transaction: transactions.Transaction,
    ) -> None:
        """Merge the changes of a micro-batch, and remember what the table says then."""
        if changes.compared is None:
            return
        version, is_trusted = changes.version, True
        if changes.rows is not None:
            is_new = self.tables.is_new(spark, CLIENT_INSTANCES, transaction)
            source = spark.createDataFrame(changes.rows)
            # Maintenance may have written the files of these rows anew.
            repeat_on_conflict(
                lambda: self.tables.merge(source, CLIENT_INSTANCES, transaction),
                what=CLIENT_INSTANCES.name,
                attempts=JOB_ATTEMPTS,
            )
            # Delta skips the merge of a micro-batch that it has: then the rows may not
            # be what the table says. Nor may they where somebody else wrote meanwhile.
            version = self.tables.read_version(spark, CLIENT_INSTANCES)
            is_trusted = is_new and version == changes.version + 1
        if is_trusted:
            self.known.remember(changes.compared, version)
        else:
            self.known.forget()


def find_changes(pushes: pa.Table, instances: DataFrame, ledger: DataFrame) -> pa.Table:
    """Compare what pushes say of their client instances with the tables.

    Args:
        pushes: PUSH_COLUMNS.
        instances: The table client_instances.
        ledger: The table client_pushes, which may lack the pushes.
    Returns: From compare_instances; one row a client instance.
    """
    session = instances.sparkSession
    sent = session.createDataFrame(pushes)
    facts = sent.transform(select_instance_facts)
    compared = facts.transform(compare_instances, instances).toArrow()
    changed = compared.filter(compared.column("is_changed"))
    # Of a new client instance the ledger has no push.
    known = changed.filter(changed.column("is_known"))
    if not known.num_rows:
        return compared
    oldest_needed = pc.min(known.column("oldest_needed").cast(_MICROS))
    newer = ledger.transform(
        filter_newer_pushes,
        session.createDataFrame(known.select([KEY])),
        oldest_needed.cast(pa.int64()).as_py(),
    )
    facts = sent.unionByName(newer).transform(select_instance_facts)
    return facts.transform(compare_instances, instances).toArrow()
