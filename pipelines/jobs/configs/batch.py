"""Micro-batches of pushed configurations, and the order in which they are written.

Workers decode and judge the pushes, and append facts: config_violations, quarantine
and, last, the ledger client_config_pushes. In between, the driver folds the pushes into
the states config_defaults, client_configs and client_config_history. The states follow
from the pushes of the ledger and the batch together, so that the next attempt corrects
what an interrupted one has written.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from pipelines.delta_tables import transactions
from pipelines.delta_tables.batch_files import BatchCounts
from pipelines.delta_tables.writers import TableWriter
from pipelines.settings.records import TableSettings
from pipelines.tables.configs import CLIENT_CONFIG_PUSHES, CONFIG_VIOLATIONS
from pipelines.tables.telemetry import QUARANTINE
from udfs.spark_configs import ConfigTables, decode_config_pushes

from .folds.rows import PUSH_SCHEMA
from .known import StoredTables
from .states import StateWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchWriter:
    """Writer of micro-batches, with what stays the same for a query."""

    settings: TableSettings
    tables: TableWriter
    layouts: ConfigTables
    has_references: bool
    """Whether client_configs stores known defaults without their values."""
    kept_closed_days: int = 0
    """Days that ended rows of the history are kept; 0: without limit."""

    def write(
        self, records: DataFrame, transaction: transactions.Transaction
    ) -> BatchCounts:
        """Write a micro-batch, or a slice of it, to every table, the ledger last."""
        session = records.sparkSession
        # A task makes at least one file a table, so there are no more than cores.
        tasks = session.sparkContext.defaultParallelism
        decoded = records.coalesce(tasks).transform(
            decode_config_pushes, self.layouts, PUSH_SCHEMA.names
        )
        states = StateWriter(
            tables=StoredTables(
                session=session, tables=self.tables, settings=self.settings
            ),
            rules=self.layouts.rules,
            type_keys=self.layouts.type_keys,
            has_references=self.has_references,
            kept_closed_days=self.kept_closed_days,
        )
        with transactions.persisted(decoded):
            batch = self.tables.decode(decoded)
            self.tables.append(batch, CONFIG_VIOLATIONS, transaction)
            self.tables.append(batch, QUARANTINE, transaction)
            pushes = batch.deciding
            if pushes is None:
                pushes = PUSH_SCHEMA.empty_table()
            states.write(pushes, transaction)
            self.tables.append(batch, CLIENT_CONFIG_PUSHES, transaction)
            return batch.count(CLIENT_CONFIG_PUSHES)
