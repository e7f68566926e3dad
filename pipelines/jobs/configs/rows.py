"""The rows of client_configs that a micro-batch of pushed configurations changes.

A row is the newest push of its client instance. What type of client that is, all of its
pushes say together, and what its entries are, the defaults that are known; so a row may
change without a newer push.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row

from pipelines.delta_tables import transactions
from pipelines.delta_tables.ways import POSITION, Changes
from pipelines.delta_tables.writers import TableWriter
from pipelines.tables.configs import CLIENT_CONFIGS, CONFIG_DEFAULTS
from udfs.spark_configs import (
    DEFAULT_SCHEMA,
    ConfigTables,
    KnownDefaults,
    make_known_defaults,
    with_logical_clients,
    with_possible_types,
    with_statuses,
)

from .steps import current
from .steps import defaults as config_defaults
from .steps import types as config_types

_CHANGED_KEYS = (
    "client_software_name STRING, client_software_version STRING, client_type STRING, "
    "config_keys ARRAY<STRING>"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRowWriter:
    """Writes the rows of micro-batches."""

    tables: TableWriter
    layouts: ConfigTables
    has_references: bool
    """Whether client_configs holds known defaults without their values."""

    def merge(
        self,
        pushes: DataFrame,
        ledger: DataFrame,
        changed: Sequence[Row],
        transaction: transactions.Transaction,
    ) -> bool:
        """Write a micro-batch.

        Args:
            pushes: Those of the batch whose bodies were read.
            ledger: Those known.
            changed: From config_defaults.select_changed_keys.
            transaction: The micro-batch.
        Returns: Whether all of its client instances are new.
        """
        changes = self.tables.begin(pushes.sparkSession, CLIENT_CONFIGS, transaction)
        newest = pushes.transform(current.filter_newest)
        known = changes.find(newest)
        with transactions.persisted(
            newest.transform(current.with_known_push, known)
        ) as found:
            counts = found.transform(current.count_kinds).collect()[0]
            if not (counts["is_known"] or counts["is_repeated"]):
                # Who has pushed once is what that push says.
                alone = _Batch(newest=found, types=None, changed=changed, counts=counts)
                self._write(changes, alone, ledger)
                return True
            types = self._find_types(pushes, ledger, found)
            typed = config_types.with_types(found, types)
            with transactions.persisted(typed.transform(with_logical_clients)) as named:
                batch = _Batch(
                    newest=named, types=types, changed=changed, counts=counts
                )
                self._write(changes, batch, ledger)
        return not counts["is_known"]

    def _find_types(
        self, pushes: DataFrame, ledger: DataFrame, newest: DataFrame
    ) -> DataFrame:
        """Return what types of client the client instances of a batch may be."""
        told = current.select_told_keys(pushes, ledger, newest)
        told = told.transform(with_possible_types, self.layouts.type_keys)
        return told.transform(config_types.summarise_possible_types)

    def _write(self, changes: Changes, batch: "_Batch", ledger: DataFrame) -> None:
        """Write the newest pushes, and the rows that say something else now."""
        table = changes.read()
        columns = current.PUSH_COLUMNS
        newer = batch.newest.where("is_newer").select(*columns, POSITION)
        same = batch.newest.where("is_same").select(*columns)
        again = batch.select_again(table)
        if again is not None:
            told = ledger.transform(current.filter_pushes, again)
            same = same.unionByName(told)
        defaults = self._read_defaults(newer.drop(POSITION).unionByName(same))
        rows = self._describe(newer, defaults)
        if again is not None or batch.counts["is_same"]:
            described = self._describe(same, defaults)
            rows = rows.unionByName(
                described.transform(current.filter_told_otherwise, table)
            )
        with transactions.persisted(rows) as kept:
            self.tables.change(changes, CLIENT_CONFIGS, kept, kept.count())

    def _describe(self, pushes: DataFrame, defaults: KnownDefaults) -> DataFrame:
        described = pushes.transform(
            with_statuses,
            self.layouts.rules,
            defaults,
            has_references=self.has_references,
        )
        return described.transform(current.select_configs)

    def _read_defaults(self, pushes: DataFrame) -> KnownDefaults:
        known = self.tables.read(pushes.sparkSession, CONFIG_DEFAULTS)
        of_pushes = known.transform(config_defaults.filter_places, pushes)
        return make_known_defaults(of_pushes.select(*DEFAULT_SCHEMA.names).toArrow())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """A micro-batch beside what the table has of its client instances."""

    newest: DataFrame
    """Its newest pushes, from with_known_push; kept."""
    types: DataFrame | None
    """What types of client they may be; null where each push says it alone."""
    changed: Sequence[Row]
    counts: Row
    """From count_kinds."""

    def select_again(self, table: DataFrame) -> DataFrame | None:
        """Return which rows to look at again, for their type or for new defaults."""
        again = []
        if self.types is not None and self.counts["is_late"]:
            late = current.select_late(table, self.newest, self.types)
            late = late.transform(with_logical_clients)
            again.append(late.transform(current.filter_retyped))
        if self.changed:
            session = self.newest.sparkSession
            keys = session.createDataFrame(list(self.changed), _CHANGED_KEYS)
            again.append(table.transform(current.select_concerned, keys))
        return current.choose_wanted(again, self.newest) if again else None
