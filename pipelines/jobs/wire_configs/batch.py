"""What becomes of a micro-batch of configurations seen on the wire.

It writes quarantine and, last, client_wire_configs, which is the ledger as well: the
newest record of a client is in all of its rows.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame

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

from . import steps as wire_configs


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
            encode_wire_config_files, self.layouts, wire_configs.ENTRY_COLUMNS
        )
        with transactions.persisted(encoded):
            batch = self.tables.decode(encoded.transform(without_pushes))
            self.tables.append(batch, QUARANTINE, transaction)
            entries = encoded.transform(select_pushes)
            rows = repeat_on_conflict(
                lambda: self._merge(entries, transaction),
                what=CLIENT_WIRE_CONFIGS.name,
                attempts=JOB_ATTEMPTS,
            )
            return BatchCounts(batch.records, rows, batch.count_rows(QUARANTINE.name))

    def _merge(self, entries: DataFrame, transaction: transactions.Transaction) -> int:
        """Merge the newest entries; return how many there were."""
        contract = CLIENT_WIRE_CONFIGS
        changes = self.tables.begin(entries.sparkSession, contract, transaction)
        newest = entries.transform(wire_configs.filter_newest)
        newer = newest.transform(wire_configs.filter_newer, changes.read())
        with transactions.persisted(newer) as rows:
            count = rows.count()
            self.tables.change(changes, contract, rows, count)
        return count
