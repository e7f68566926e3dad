"""What becomes of a micro-batch of configurations seen on the wire.

It writes quarantine and, last, client_wire_configs, which is the ledger as well: the
newest record of a client is in all of its rows.
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
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from udfs.spark_configs import WireTables, encode_wire_config_files

from .fold import ENTRY_COLUMNS, KEY, fold


@dataclass(frozen=True, slots=True, kw_only=True)
class WireBatchWriter:
    """Writes micro-batches; what it needs beside them stays the same for a query."""

    tables: TableWriter
    layouts: WireTables

    def write(
        self, records: DataFrame, transaction: transactions.Transaction
    ) -> BatchCounts:
        """Write a micro-batch, or a slice of it, the ledger last."""
        tasks = records.sparkSession.sparkContext.defaultParallelism
        encoded = records.coalesce(tasks).transform(
            encode_wire_config_files, self.layouts, ENTRY_COLUMNS
        )
        with transactions.persisted(encoded):
            batch = self.tables.decode(encoded.transform(without_pushes))
            self.tables.append(batch, QUARANTINE, transaction)
            entries = encoded.transform(select_pushes).toArrow()
        session = records.sparkSession
        rows = repeat_on_conflict(
            lambda: self._put(session, entries, transaction),
            what=CLIENT_WIRE_CONFIGS.name,
            attempts=JOB_ATTEMPTS,
        )
        return BatchCounts(batch.records, rows, batch.count_rows(QUARANTINE.name))

    def _put(
        self,
        session: SparkSession,
        entries: pa.Table,
        transaction: transactions.Transaction,
    ) -> int:
        """Put the entries that count into the table; return their number."""
        state = self.tables.open_state(session, CLIENT_WIRE_CONFIGS, transaction)
        stored = state.find(entries.select([*KEY]))
        new, changed = fold(entries.to_pylist(), stored.to_pylist())
        state.commit(state.make_rows(new), state.make_rows(changed))
        return len(new) + len(changed)
