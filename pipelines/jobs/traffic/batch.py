"""What becomes of a micro-batch of what clients produce and fetch.

It writes quarantine and, last, client_traffic, which is the ledger as well: a record
is in rows that are as new as it is.
"""

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pipelines.delta_tables import transactions
from pipelines.delta_tables.batch_files import (
    BatchCounts,
    select_pushes,
    without_pushes,
)
from pipelines.delta_tables.retry import JOB_ATTEMPTS, repeat_on_conflict
from pipelines.delta_tables.writers import TableWriter
from pipelines.tables.telemetry import QUARANTINE
from pipelines.tables.traffic import CLIENT_TRAFFIC
from udfs.spark_traffic import TrafficTables, encode_traffic_files

from .fold import KEY, RECORD_COLUMNS, fold


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficBatchWriter:
    """Writes micro-batches; what it needs beside them stays the same for a query."""

    tables: TableWriter
    layouts: TrafficTables

    def write(
        self, records: DataFrame, transaction: transactions.Transaction
    ) -> BatchCounts:
        """Write a micro-batch, or a slice of it, the ledger last."""
        tasks = records.sparkSession.sparkContext.defaultParallelism
        encoded = records.coalesce(tasks).transform(
            encode_traffic_files, self.layouts, RECORD_COLUMNS
        )
        with transactions.persisted(encoded):
            batch = self.tables.decode(encoded.transform(without_pushes))
            self.tables.append(batch, QUARANTINE, transaction)
            counted = encoded.transform(select_pushes).toArrow()
        session = records.sparkSession
        rows = repeat_on_conflict(
            lambda: self._add(session, counted, transaction),
            what=CLIENT_TRAFFIC.name,
            attempts=JOB_ATTEMPTS,
        )
        return BatchCounts(batch.records, rows, batch.count_rows(QUARANTINE.name))

    def _add(
        self,
        session: SparkSession,
        counted: pa.Table,
        transaction: transactions.Transaction,
    ) -> int:
        """Add what was counted to the stored rows; return how many rows change."""
        state = self.tables.open_state(session, CLIENT_TRAFFIC, transaction)
        stored = state.find(counted.select([*KEY]))
        new, changed = fold(counted.to_pylist(), stored.to_pylist())
        state.commit(state.make_rows(new), state.make_rows(changed))
        return len(new) + len(changed)
