"""Micro-batches that are folded into one state table, which is the ledger as well.

The rows of the table are as new as the newest record that they contain, so they tell
how far the topic was read.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pipelines.tables.contract import TableContract
from pipelines.tables.telemetry import QUARANTINE

from .batch_files import BatchCounts, select_pushes, without_pushes
from .retry import JOB_ATTEMPTS, repeat_on_conflict
from .transactions import Transaction, persisted
from .writers import TableWriter

Row = dict[str, Any]
Fold = Callable[[Iterable[Row], Iterable[Row]], tuple[list[Row], list[Row]]]
"""Takes records and the stored rows of their keys; returns new and changed rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedTable:
    """Writes micro-batches to quarantine and, last, to one state table."""

    tables: TableWriter
    contract: TableContract
    decode: Callable[[DataFrame], DataFrame]
    """Decodes Kafka records in workers: ENCODED_TYPE, and a struct `push`."""
    fold: Fold

    def write(self, records: DataFrame, transaction: Transaction) -> BatchCounts:
        """Write a micro-batch, or a slice of it, the ledger last."""
        session = records.sparkSession
        tasks = session.sparkContext.defaultParallelism
        with persisted(records.coalesce(tasks).transform(self.decode)) as decoded:
            batch = self.tables.decode(decoded.transform(without_pushes))
            self.tables.append(batch, QUARANTINE, transaction)
            rows = decoded.transform(select_pushes).toArrow()
        changed = repeat_on_conflict(
            lambda: self._fold(session, rows, transaction),
            what=self.contract.name,
            attempts=JOB_ATTEMPTS,
        )
        return BatchCounts(batch.records, changed, batch.count_rows(QUARANTINE.name))

    def _fold(
        self, session: SparkSession, rows: pa.Table, transaction: Transaction
    ) -> int:
        """Fold decoded records into the stored rows; return how many rows change."""
        state = self.tables.open_state(session, self.contract, transaction)
        stored = state.find(rows.select([*self.contract.merge_key]))
        new, changed = self.fold(rows.to_pylist(), stored.to_pylist())
        state.commit(state.make_rows(new), state.make_rows(changed))
        return len(new) + len(changed)
