"""What becomes of a micro-batch of the cluster's feed.

It writes quarantine, the tables of states and, last, the ledger cluster_changes. All
rows are made at once, from the states before the first record, so that no table's rows
depend on how far another one is; see `noted_tables`.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables import transactions
from pipelines.delta_tables.batch_files import (
    BatchCounts,
    BatchFiles,
    select_pushes,
    without_pushes,
)
from pipelines.delta_tables.layouts import layout_of
from pipelines.delta_tables.noted_offsets import Note
from pipelines.delta_tables.noted_tables import NotedTables
from pipelines.delta_tables.writers import TableWriter
from pipelines.tables.cluster import CLUSTER_CHANGES, CLUSTER_STATES
from pipelines.tables.telemetry import QUARANTINE
from udfs.cluster.cluster_records import FULL_SET, OK, ClusterRecord, iter_records
from udfs.cluster.histories import ChangedRows, TableStates, fold_records
from udfs.files.daily_files import DailyFiles
from udfs.spark import ENCODED_TYPE, file_row
from udfs.spark_cluster import REASONS, ClusterTables, encode_cluster_files
from udfs.spark_types import arrow_schema

from .states import NEEDED, Extent, read_states

OnChange = Callable[[SparkSession, frozenset[str]], None]
"""Told which tables have changed, when all of a micro-batch is written."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBatchWriter:
    """Writes micro-batches; what it needs beside them stays the same for a query."""

    tables: TableWriter
    states: NotedTables
    layouts: ClusterTables
    config_types: Mapping[str, str]
    """Name of a broker's config to the name of its type."""
    topic_id: str | None
    on_change: OnChange

    def write(
        self, records: DataFrame, transaction: transactions.Transaction
    ) -> BatchCounts:
        """Write a micro-batch, or a slice of it, the ledger last."""
        session = records.sparkSession
        encoded = records.transform(encode_cluster_files, self.layouts)
        with transactions.persisted(encoded):
            batch = self.tables.decode(encoded.transform(without_pushes))
            self.tables.append(batch, QUARANTINE, transaction)
            decoded = list(iter_records(encoded.transform(select_pushes).toArrow()))
        changes = 0
        if decoded:
            changes = self._write_changes(session, decoded, transaction)
        return BatchCounts(batch.records, changes, batch.count_rows(QUARANTINE.name))

    def _write_changes(
        self,
        session: SparkSession,
        records: Sequence[ClusterRecord],
        transaction: transactions.Transaction,
    ) -> int:
        """Write what records change; return how many of them change anything."""
        _tell_unknown(records)
        extent = self._find_extent(records, transaction)
        made = self._fold(session, records, extent)
        for contract in CLUSTER_STATES:
            rows = made.rows[contract.name]
            self.states.write(session, contract, rows, extent, transaction)
        ledger = _encode_ledger(session, self.tables, made.ledger)
        self.tables.append(ledger, CLUSTER_CHANGES, transaction)
        changed = frozenset(name for name, rows in made.rows.items() if rows)
        if changed:
            self.on_change(session, changed)
        return sum(row["change"] is not None for row in made.ledger)

    def _find_extent(
        self,
        records: Sequence[ClusterRecord],
        transaction: transactions.Transaction,
    ) -> Extent:
        return Extent(
            note=Note(
                topic=records[0].topic,
                topic_id=self.topic_id,
                offset=records[-1].offset,
                query_id=transaction.query_id,
            ),
            first=records[0].offset,
            earliest_us=min(one.at for one in records),
            cluster_ids=sorted({one.cluster_id for one in records}),
        )

    def _fold(
        self, session: SparkSession, records: Sequence[ClusterRecord], extent: Extent
    ) -> ChangedRows:
        """Return the rows that records make of the tables as they were before."""
        needed = frozenset[str]().union(
            *(NEEDED.get(one.record_type or "", frozenset()) for one in records)
        )
        known = {
            contract.name: read_states(self.states, session, contract, extent)
            for contract in CLUSTER_STATES
            if contract.name in needed
        }
        keys: Mapping[str, Sequence[str | None]] = {}
        if any(map(_ends_set, records)):
            ledger = self.tables.read(session, CLUSTER_CHANGES)
            keys = read_sets(ledger, records, extent)
        return fold_records(
            TableStates(**known),
            records,
            keys_of_sets=keys,
            config_types=self.config_types,
        )


def read_sets(
    ledger: DataFrame, records: Sequence[ClusterRecord], extent: Extent
) -> Mapping[str, Sequence[str | None]]:
    """Return the keys of the records of full sets that came before a micro-batch.

    The records of a set mostly have consecutive offsets, by which Delta skips nearly
    all files of the table. Only a set that is not found whole there is looked for in
    the whole table.

    Args:
        ledger: The table cluster_changes.
        records: Those of the micro-batch.
    Returns: Keys by the ID of each set that ends in the micro-batch.
    """
    known: dict[str, Sequence[str | None]] = {}
    for end in filter(_ends_set, records):
        set_id, wanted = end.set_id or "", (end.fields or {})["records"]
        here = sum(_is_member(one, set_id) for one in records)
        if here >= wanted:
            known[set_id] = ()
            continue
        of_set = ledger.where(
            (F.col("topic") == extent.note.topic)
            & (F.col("set_id") == set_id)
            & (F.col("offset") < extent.first)
            & ~F.col("record_type").eqNullSafe(FULL_SET)
        )
        keys = _collect_keys(of_set.where(F.col("offset") >= end.offset - wanted))
        if len(keys) + here < wanted:
            keys = _collect_keys(of_set)
        known[set_id] = keys
    return known


def _collect_keys(rows: DataFrame) -> list[str | None]:
    return [row["record_key"] for row in rows.select("record_key").collect()]


def _is_member(record: ClusterRecord, set_id: str) -> bool:
    return record.set_id == set_id and record.record_type != FULL_SET


def _ends_set(record: ClusterRecord) -> bool:
    return record.record_type == FULL_SET and record.status == OK


def _tell_unknown(records: Iterable[ClusterRecord]) -> None:
    """Log what is newer than this program; it stands in the ledger."""
    unknown = Counter(
        f"{one.status} ({one.record_type or 'no name'} {one.record_version})"
        for one in records
        if one.status != OK and one.status not in REASONS
    )
    for what, count in sorted(unknown.items()):
        _logger.warning("%d records of the cluster were passed over: %s", count, what)


def _encode_ledger(
    session: SparkSession, tables: TableWriter, rows: list[dict[str, Any]]
) -> BatchFiles:
    """Return rows of the ledger as files of it."""
    layout = layout_of(CLUSTER_CHANGES)
    stored = tables.read(session, CLUSTER_CHANGES).select(*layout.columns).schema
    made = pa.Table.from_pylist(rows, schema=arrow_schema(stored)).combine_chunks()
    columns = {name: made.column(name).combine_chunks() for name in layout.columns}
    files = DailyFiles(layout)
    days = np.array([row["event_date"] for row in rows], np.int64)
    written = [*files.write(columns, days), *files.end()]
    encoded = pa.Table.from_pylist(
        [file_row(file) for file in written] + [{"records": len(rows)}],
        schema=arrow_schema(ENCODED_TYPE),
    )
    return tables.decode(session.createDataFrame(encoded))
