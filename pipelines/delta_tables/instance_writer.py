"""Keeps client_instances: compares each micro-batch with it, and merges what differs.

What the table says is remembered, so that a micro-batch that changes nothing makes no
plan of Spark. What is remembered is true of one version of the table only. Whatever
makes another one (somebody else's write, a merge that Delta has skipped) is seen by the
version, and all is forgotten; a new query begins with nothing.
"""

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from pipelines import sinks
from pipelines.tables import CLIENT_INSTANCES
from pipelines.transforms.client_instances import (
    KEY,
    compare_instances,
    filter_newer_pushes,
    select_instance_facts,
)

from .delta_transactions import read_table_state
from .known_instances import KnownInstances

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

    table: str
    """SQL identifier of client_instances."""
    location: str
    """Its folder."""
    ledger: str
    """SQL identifier of client_pushes."""
    known: KnownInstances = field(default_factory=KnownInstances)

    def find_changes(
        self,
        spark: SparkSession,
        deciding: pa.Table | None,
        transaction: sinks.Transaction,
    ) -> InstanceChanges:
        """Compare the pushes of a micro-batch with the table.

        Args:
            spark: The session of the query.
            deciding: As `udfs.envelopes.deciding_pushes.select_deciding` keeps pushes.
            transaction: The micro-batch.
        """
        version, _ = self._read_state(spark, transaction)
        if deciding is None:
            return InstanceChanges(version=version)
        candidates = self.known.select_candidates(deciding, version)
        if not candidates.num_rows:
            return InstanceChanges(version=version)
        compared = find_changes(
            candidates, spark.table(self.table), spark.table(self.ledger)
        )
        return InstanceChanges(version=version, compared=compared)

    def merge(
        self,
        spark: SparkSession,
        changes: InstanceChanges,
        transaction: sinks.Transaction,
    ) -> None:
        """Merge the changes of a micro-batch, and remember what the table says then."""
        if changes.compared is None:
            return
        version, is_trusted = changes.version, True
        if changes.rows is not None:
            _, merged = self._read_state(spark, transaction)
            source = spark.createDataFrame(changes.rows)
            sinks.merge(source, CLIENT_INSTANCES, self.table, transaction)
            # Delta skips the merge of a micro-batch that it has: then the rows may not
            # be what the table says. Nor may they where somebody else wrote meanwhile.
            version, _ = self._read_state(spark, transaction)
            is_trusted = (
                merged < transaction.batch_id and version == changes.version + 1
            )
        if is_trusted:
            self.known.remember(changes.compared, version)
        else:
            self.known.forget()

    def _read_state(
        self, spark: SparkSession, transaction: sinks.Transaction
    ) -> tuple[int, int]:
        app_id = transaction.merge_app_id(CLIENT_INSTANCES)
        return read_table_state(spark, self.location, app_id)


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
