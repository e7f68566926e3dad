"""The rows that the folds look up, and the commits of what they return."""

from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables import transactions
from pipelines.delta_tables.files_writer import FilesWriter
from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.delta_tables.lookups import join_rows
from pipelines.delta_tables.states import StateTable
from pipelines.delta_tables.writers import TableWriter
from pipelines.settings.records import TableSettings
from pipelines.tables.configs import CLIENT_CONFIG_PUSHES
from pipelines.tables.contract import DECODED, TableContract
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_PUSHES
from udfs.configs.default_reports import PUSH_COLUMNS, REPORT_SCHEMA
from udfs.row_keys import conform, filter_unknown
from udfs.spark_configs import report_config_defaults

from .folds.history import TELEMETRY_SCHEMA, TERMINATED_SCHEMA, Telemetry
from .folds.rows import INSTANCE, FoldedRows


class State(Protocol):
    """One state table at one version, and one commit on top of it."""

    is_committed: bool
    """Whether the table is known to have the transaction."""
    is_new: bool
    """Whether the table is known to lack the transaction."""

    def find(self, keys: pa.Table, schema: pa.Schema) -> pa.Table:
        """Return rows that agree with a row of keys in all of its columns."""

    def read(self, schema: pa.Schema) -> pa.Table:
        """Return all rows."""

    def commit(self, rows: FoldedRows) -> None:
        """Write new, changed and gone rows in one commit, unless the table has it."""


class KnownTables(Protocol):
    """The tables of the job, and those of telemetry."""

    def open_state(
        self, contract: TableContract, transaction: transactions.Transaction
    ) -> State:
        """Open a state table at its newest version."""

    def find_rows(
        self, contract: TableContract, keys: pa.Table, schema: pa.Schema
    ) -> pa.Table:
        """Return rows that agree with a row of keys in all of its columns.

        Args:
            keys: Any columns of the table; nulls agree with nulls.
            schema: Columns to return, and their types.
        """

    def recount_defaults(self) -> pa.Table:
        """Return reports of defaults by all pushes of the ledger."""

    def find_telemetry(self, replaced: pa.Table) -> Telemetry:
        """Return what telemetry knows of client instances.

        Args:
            replaced: From history.select_replaced.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTables:
    """The Delta tables during one slice of a micro-batch."""

    session: SparkSession
    tables: TableWriter
    settings: TableSettings
    opened: dict[str, StateTable] = field(default_factory=dict)
    """Tables by name at a version that the job has not changed since."""

    def open_state(
        self, contract: TableContract, transaction: transactions.Transaction
    ) -> "StoredState":
        """Open a state table at its newest version."""
        table = self.tables.open_state(self.session, contract, transaction)
        self.opened[contract.name] = table
        return StoredState(self, table, contract, transaction)

    def find_rows(
        self, contract: TableContract, keys: pa.Table, schema: pa.Schema
    ) -> pa.Table:
        """Return rows that agree with a row of keys in all of its columns."""
        if not keys.num_rows:
            return schema.empty_table()
        table = self.opened.get(contract.name)
        if table is None:
            unused = transactions.Transaction(query_id="", batch_id=0)
            table = self.tables.open_state(self.session, contract, unused)
            self.opened[contract.name] = table
        return conform(table.find(keys, schema.names), schema)

    def recount_defaults(self) -> pa.Table:
        """Return reports of defaults by all pushes of the ledger, one for each task."""
        ledger = self.tables.read(self.session, CLIENT_CONFIG_PUSHES)
        pushes = ledger.where(F.col("decode_status") == DECODED).select(*PUSH_COLUMNS)
        reports = pushes.transform(report_config_defaults)
        return conform(reports.toArrow(), REPORT_SCHEMA)

    def find_telemetry(self, replaced: pa.Table) -> Telemetry:
        """Return what telemetry knows of client instances, if its tables exist."""
        names = [
            identify_table(self.session, self.settings, contract)
            for contract in (CLIENT_INSTANCES, CLIENT_PUSHES)
        ]
        if not all(has_table(self.session, name) for name in names):
            return Telemetry.none()
        instances, pushes = (self.session.table(name) for name in names)
        keys = replaced.select([INSTANCE])
        ended = instances.where(F.col("terminated_at").isNotNull())
        terminated = conform(
            join_rows(ended, keys, TERMINATED_SCHEMA), TERMINATED_SCHEMA
        )
        silent = filter_unknown(keys, terminated, [INSTANCE])
        newest = TELEMETRY_SCHEMA.empty_table()
        if silent.num_rows:
            wanted = self.session.createDataFrame(silent)
            oldest = pc.min(replaced.column("received_at")).cast(pa.int64()).as_py()
            found = pushes.transform(select_telemetry, wanted, oldest)
            newest = conform(found.toArrow(), TELEMETRY_SCHEMA)
        return Telemetry(terminated=terminated, newest=newest)


class StoredState:
    """One Delta table at one version; see State."""

    def __init__(
        self,
        stored: StoredTables,
        table: StateTable,
        contract: TableContract,
        transaction: transactions.Transaction,
    ) -> None:
        """Take the opened table."""
        self._opened, self._table, self._name = stored.opened, table, contract.name
        self.is_committed = table.is_committed
        # Only Kernel reads which transactions a table has.
        is_first = stored.tables.begun.note(contract, "merge", transaction)
        is_exact = stored.tables.way.name == FilesWriter.name
        self.is_new = not self.is_committed and (is_exact or is_first)

    def find(self, keys: pa.Table, schema: pa.Schema) -> pa.Table:
        """Return rows that agree with a row of keys in all of its columns."""
        if not keys.num_rows:
            return schema.empty_table()
        return conform(self._table.find(keys, schema.names), schema)

    def read(self, schema: pa.Schema) -> pa.Table:
        """Return all rows."""
        return conform(self._table.read().select(*schema.names).toArrow(), schema)

    def commit(self, rows: FoldedRows) -> None:
        """Write new, changed and gone rows in one commit, unless the table has it."""
        if rows.count:
            self._opened.pop(self._name, None)
        self._table.commit(rows.new, rows.changed, rows.gone)


def select_telemetry(
    pushes: DataFrame, instances: DataFrame, oldest_us: int
) -> DataFrame:
    """Return the newest telemetry of client instances, and that of all others.

    Args:
        pushes: The table client_pushes.
        instances: Client instances to report, a column INSTANCE.
        oldest_us: Time of the oldest push that counts, microseconds since 1970; as a
            literal it skips files of older telemetry.
    Returns: TELEMETRY_SCHEMA.
    """
    oldest = F.timestamp_micros(F.lit(oldest_us))
    since = pushes.where(F.col("event_date") >= F.to_date(oldest)).where(
        F.col("received_at") >= oldest
    )
    wanted = F.broadcast(instances.withColumn("wanted", F.col(INSTANCE)))
    newest = F.max(F.struct("received_at", "push_interval_ms")).alias("newest")
    grouped = since.join(wanted, INSTANCE, "left").groupBy("wanted").agg(newest)
    return grouped.select(F.col("wanted").alias(INSTANCE), "newest.*")
