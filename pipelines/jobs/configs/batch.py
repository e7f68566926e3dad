"""What becomes of a micro-batch of pushed configurations.

It writes config_violations, quarantine, config_defaults, client_configs,
client_config_history and, last, the ledger client_config_pushes. All but the first two
follow from the pushes of the ledger and the batch together, so that what was written by
an attempt that was cut off is found right by the next one, or made right.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables import transactions
from pipelines.delta_tables.batch_files import (
    BatchCounts,
    select_pushes,
    without_pushes,
)
from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.delta_tables.retry import JOB_ATTEMPTS, repeat_on_conflict
from pipelines.delta_tables.writers import TableWriter
from pipelines.settings.records import TableSettings
from pipelines.tables.configs import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
    CONFIG_VIOLATIONS,
)
from pipelines.tables.contract import DECODED
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_PUSHES, QUARANTINE
from pipelines.time_ranges import EPOCH, MICROSECOND
from udfs.spark_configs import (
    ConfigTables,
    encode_config_files,
    filter_valid_values,
    select_histories,
    with_logical_clients,
    with_possible_types,
)

from .rows import ConfigRowWriter
from .steps import current
from .steps import defaults as config_defaults
from .steps import history as config_history


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchWriter:
    """Writes micro-batches; what it needs beside them stays the same for a query."""

    settings: TableSettings
    tables: TableWriter
    layouts: ConfigTables
    has_references: bool
    """Whether client_configs holds known defaults without their values."""
    kept_closed_days: int = 0
    """How long rows of the history stay after they were no longer so; 0: for ever."""

    def write(
        self, records: DataFrame, transaction: transactions.Transaction
    ) -> BatchCounts:
        """Write a micro-batch, or a slice of it, to every table, the ledger last."""
        # A task makes at least one file a table, so there are no more than cores.
        tasks = records.sparkSession.sparkContext.defaultParallelism
        encoded = records.coalesce(tasks).transform(
            encode_config_files, self.layouts, current.PUSH_COLUMNS
        )
        # Kafka is read and bodies are decoded once; each write takes what it needs.
        with transactions.persisted(encoded):
            batch = self.tables.decode(encoded.transform(without_pushes))
            self.tables.append(batch, CONFIG_VIOLATIONS, transaction)
            self.tables.append(batch, QUARANTINE, transaction)
            self._merge(encoded.transform(select_pushes), transaction)
            self.tables.append(batch, CLIENT_CONFIG_PUSHES, transaction)
            return batch.count(CLIENT_CONFIG_PUSHES)

    def _merge(self, pushes: DataFrame, transaction: transactions.Transaction) -> None:
        """Write what follows from the pushes whose bodies were read."""
        ledger = self.tables.read(pushes.sparkSession, CLIENT_CONFIG_PUSHES)
        usable = ledger.where(F.col("decode_status") == DECODED)
        known = usable.select(*current.PUSH_COLUMNS)
        given = pushes, known
        changed = repeat_on_conflict(
            lambda: self._merge_defaults(*given, transaction),
            what=CONFIG_DEFAULTS.name,
            attempts=JOB_ATTEMPTS,
        )
        rows = ConfigRowWriter(
            tables=self.tables,
            layouts=self.layouts,
            has_references=self.has_references,
        )
        all_new = repeat_on_conflict(
            lambda: rows.merge(*given, changed, transaction),
            what=CLIENT_CONFIGS.name,
            attempts=JOB_ATTEMPTS,
        )
        repeat_on_conflict(
            lambda: self._merge_history(*given, transaction, all_new=all_new),
            what=CLIENT_CONFIG_HISTORY.name,
            attempts=JOB_ATTEMPTS,
        )

    def _merge_defaults(
        self,
        pushes: DataFrame,
        ledger: DataFrame,
        transaction: transactions.Transaction,
    ) -> Sequence[Row]:
        """Merge what the pushes tell of defaults; return what may have changed."""
        session, contract = pushes.sparkSession, CONFIG_DEFAULTS
        changes = self.tables.begin(session, contract, transaction)
        is_first = transaction.is_first
        told_by = pushes.unionByName(ledger) if is_first else pushes
        told = told_by.transform(_summarise_defaults)
        if changes.is_committed:
            # What they changed then is not known any more.
            return told.transform(config_defaults.select_changed_keys).collect()
        compare = (
            config_defaults.replace_defaults
            if is_first
            else config_defaults.add_to_defaults
        )
        with transactions.persisted(told.transform(compare, changes.read())) as rows:
            changed = rows.where("is_changed").select(*config_defaults.KEY)
            if is_first or not changes.is_new:
                # Another attempt, or a batch of another checkpoint location, may have
                # told them before, and have ended before it looked at the rows that
                # they concern.
                again = pushes.transform(_summarise_defaults)
                changed = changed.unionByName(again.select(*config_defaults.KEY))
            keys = changed.transform(config_defaults.select_changed_keys).collect()
            self.tables.change(changes, contract, rows, rows.count(), is_gone="is_gone")
        return keys

    def _merge_history(
        self,
        pushes: DataFrame,
        ledger: DataFrame,
        transaction: transactions.Transaction,
        *,
        all_new: bool,
    ) -> None:
        """Merge the history of the logical clients that the pushes concern."""
        columns = config_history.PUSH_COLUMNS
        new, old = pushes.select(*columns), ledger.select(*columns)
        families = config_history.select_families(new, None if all_new else old)
        changes = self.tables.begin(
            pushes.sparkSession, CLIENT_CONFIG_HISTORY, transaction
        )
        table = changes.read()
        with transactions.persisted(families) as families:
            told = config_history.select_family_pushes(new.unionByName(old), families)
            turns = told.transform(with_possible_types, self.layouts.type_keys)
            turns = turns.transform(config_history.select_turns)
            with transactions.persisted(turns.transform(with_logical_clients)) as turns:
                ends = self._find_ends(turns)
                holdings = config_history.select_holdings(turns, ends)
                made = holdings.transform(select_histories)
                differing = config_history.compare_histories(
                    made, table, families, self._find_kept_from()
                )
                with transactions.persisted(differing) as rows:
                    self.tables.change(
                        changes,
                        CLIENT_CONFIG_HISTORY,
                        rows,
                        rows.count(),
                        is_gone="is_gone",
                    )

    def _find_kept_from(self) -> int | None:
        """Return what compare_histories takes of what is no longer kept."""
        if not self.kept_closed_days:
            return None
        oldest = datetime.now(tz=UTC) - timedelta(days=self.kept_closed_days)
        return (oldest - EPOCH) // MICROSECOND

    def _find_ends(self, turns: DataFrame) -> DataFrame | None:
        """Return which instances have ended, as far as telemetry is there to tell."""
        session = turns.sparkSession
        names = [
            identify_table(session, self.settings, contract)
            for contract in (CLIENT_INSTANCES, CLIENT_PUSHES)
        ]
        if not all(has_table(session, name) for name in names):
            return None
        replaced = turns.transform(config_history.filter_replaced)
        oldest = F.min(F.unix_micros("received_at"))
        oldest_us = replaced.agg(oldest).collect()[0][0]
        if oldest_us is None:
            return None
        instances, pushes = (session.table(name) for name in names)
        return config_history.select_ends(replaced, instances, pushes, oldest_us)


def _summarise_defaults(pushes: DataFrame) -> DataFrame:
    """Say what pushes tell of defaults: one rule for all that is counted, or again."""
    entries = pushes.transform(config_defaults.select_told_entries)
    told = entries.transform(filter_valid_values)
    return told.transform(config_defaults.summarise_told_defaults)
