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
        ending = sorted({one.set_id or "" for one in records if _ends_set(one)})
        return fold_records(
            TableStates(**known),
            records,
            keys_of_sets=self._read_sets(session, ending, extent) if ending else {},
            config_types=self.config_types,
        )

    def _read_sets(
        self, session: SparkSession, set_ids: Sequence[str], extent: Extent
    ) -> Mapping[str, list[str | None]]:
        """Return the keys of all records of full sets that came before."""
        ledger = self.tables.read(session, CLUSTER_CHANGES)
        rows = (
            ledger.where(F.col("topic") == extent.note.topic)
            .where(F.col("set_id").isin(*set_ids))
            .where(F.col("offset") < extent.first)
            .where(~F.col("record_type").eqNullSafe(FULL_SET))
            .select("set_id", "record_key")
            .collect()
        )
        keys: dict[str, list[str | None]] = {}
        for row in rows:
            keys.setdefault(row["set_id"], []).append(row["record_key"])
        return keys


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
