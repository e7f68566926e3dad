"""What becomes of a micro-batch of records of dynamic client configs.

It writes quarantine, the two tables of states and, last, the ledger
dynamic_client_config_changes. All rows are made at once, from the states before the
first record, so that no table's rows depend on how far another one is; see
`noted_tables`. Where a record tells of new registrations, the rows of those that the
tables lack are made with them. A batch that is repeated may read more of them; the
next such record brings what a table then lacks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pipelines.delta_tables import transactions
from pipelines.delta_tables.batch_files import (
    BatchCounts,
    select_pushes,
    without_pushes,
)
from pipelines.delta_tables.noted_offsets import Note
from pipelines.delta_tables.noted_tables import (
    Extent,
    NotedTables,
    Rows,
)
from pipelines.delta_tables.writers import TableWriter
from pipelines.tables.dynamic_configs import (
    CLIENT_SUPPORTED_CONFIGS,
    DYNAMIC_CLIENT_CONFIGS,
    DYNAMIC_CONFIG_CHANGES,
)
from pipelines.tables.telemetry import QUARANTINE
from udfs.dynamic_configs.histories import ChangedRows, fold_records
from udfs.dynamic_configs.topic_records import (
    ALTERATION,
    REGISTRATION,
    REGISTRATIONS,
    TopicRecord,
    iter_records,
)
from udfs.spark_configs import DynamicTables, encode_dynamic_config_files

from .registrations import ReadRegistrations


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicBatchWriter:
    """Writes micro-batches; what it needs beside them stays the same for a query."""

    tables: TableWriter
    states: NotedTables
    layouts: DynamicTables
    topic_id: str | None
    read_registrations: ReadRegistrations

    def write(
        self, records: DataFrame, transaction: transactions.Transaction
    ) -> BatchCounts:
        """Write a micro-batch, or a slice of it, the ledger last."""
        encoded = records.transform(encode_dynamic_config_files, self.layouts)
        with transactions.persisted(encoded):
            batch = self.tables.decode(encoded.transform(without_pushes))
            self.tables.append(batch, QUARANTINE, transaction)
            read = list(iter_records(encoded.transform(select_pushes).toArrow()))
        changes = 0
        if read:
            changes = self._write_changes(records.sparkSession, read, transaction)
        return BatchCounts(batch.records, changes, batch.count_rows(QUARANTINE.name))

    def _write_changes(
        self,
        session: SparkSession,
        records: Sequence[TopicRecord],
        transaction: transactions.Transaction,
    ) -> int:
        """Write what records change; return how many of them change anything."""
        extent = self._find_extent(records, transaction)
        made = self._fold(session, records, extent)
        for contract, rows in (
            (DYNAMIC_CLIENT_CONFIGS, made.configs),
            (CLIENT_SUPPORTED_CONFIGS, made.supported),
            (DYNAMIC_CONFIG_CHANGES, made.ledger),
        ):
            self.states.write(session, contract, rows, extent, transaction)
        return sum(row["change"] is not None for row in made.ledger)

    def _find_extent(
        self, records: Sequence[TopicRecord], transaction: transactions.Transaction
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
        )

    def _fold(
        self, session: SparkSession, records: Sequence[TopicRecord], extent: Extent
    ) -> ChangedRows:
        """Return the rows that records make of the tables as they were before."""
        configs: Rows = ()
        supported: Rows = ()
        alterations = [one for one in records if one.record_type == ALTERATION]
        if alterations:
            configs = self.states.read(
                session,
                DYNAMIC_CLIENT_CONFIGS,
                extent,
                _list_users(alterations),
            )
        registrations = [one for one in records if one.record_type == REGISTRATION]
        registered: Sequence[TopicRecord] = ()
        if any(one.record_type == REGISTRATIONS for one in records):
            registered = self.read_registrations(session)
            registrations += registered
        if registrations:
            supported = self.states.read(
                session,
                CLIENT_SUPPORTED_CONFIGS,
                extent,
                _list_users(registrations),
            )
        return fold_records(configs, supported, records, registered)


def _list_users(records: Sequence[TopicRecord]) -> pa.Table:
    """Return the users that records are about, as keys of a look-up."""
    users = sorted({one.user_name for one in records})
    return pa.table({"user_name": pa.array(users, pa.string())})
