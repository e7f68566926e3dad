"""What becomes of a micro-batch of what clients produce and fetch.

It writes quarantine and, last, client_traffic, which is the ledger as well: a record
is in rows that are as new as it is.
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
from pipelines.tables.traffic import CLIENT_TRAFFIC
from udfs.spark_traffic import TrafficTables, encode_traffic_files

from . import steps


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
            encode_traffic_files, self.layouts, steps.RECORD_COLUMNS
        )
        with transactions.persisted(encoded):
            batch = self.tables.decode(encoded.transform(without_pushes))
            self.tables.append(batch, QUARANTINE, transaction)
            counted = encoded.transform(select_pushes)
            rows = self._add(counted, transaction)
            return BatchCounts(batch.records, rows, batch.count_rows(QUARANTINE.name))

    def _add(self, counted: DataFrame, transaction: transactions.Transaction) -> int:
        """Add what was counted to the rows that there are; return how many change."""
        first_us = steps.find_first(counted)
        if first_us is None:
            with self.tables.observed(CLIENT_TRAFFIC, 0):
                return 0
        return repeat_on_conflict(
            lambda: self._merge(counted, first_us, transaction),
            what=CLIENT_TRAFFIC.name,
            attempts=JOB_ATTEMPTS,
        )

    def _merge(
        self,
        counted: DataFrame,
        first_us: int,
        transaction: transactions.Transaction,
    ) -> int:
        contract = CLIENT_TRAFFIC
        changes = self.tables.begin(counted.sparkSession, contract, transaction)
        summed = counted.transform(steps.sum_up, changes.read(), first_us)
        with transactions.persisted(summed) as rows:
            count = rows.count()
            self.tables.change(changes, contract, rows, count)
        return count
