"""The tables of pushed configurations in memory: plain Arrow, and no Spark."""

import pyarrow as pa

from pipelines.delta_tables.transactions import Transaction
from pipelines.jobs.configs.folds.history import (
    TELEMETRY_SCHEMA,
    TERMINATED_SCHEMA,
    Telemetry,
)
from pipelines.jobs.configs.folds.rows import (
    CONFIG_DEFAULT_SCHEMA,
    CONFIG_SCHEMA,
    PUSH_SCHEMA,
)
from pipelines.jobs.configs.job import make_config_tables
from pipelines.jobs.configs.states import StateWriter
from pipelines.settings import (
    load_client_type_keys,
    load_config_catalogs,
    load_settings,
)
from pipelines.tables.configs import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
)
from udfs.configs.default_reports import merge_reports, report_defaults
from udfs.configs.histories import HISTORY_SCHEMA
from udfs.envelopes.readers import RECORD_SCHEMA
from udfs.files.config_push_files import write_config_pushes
from udfs.row_keys import filter_known, filter_unknown

LAYOUTS = make_config_tables(
    load_settings("base"), load_config_catalogs(), load_client_type_keys()
)
SCHEMAS = {
    CLIENT_CONFIG_PUSHES.name: PUSH_SCHEMA.append(
        pa.field("decode_status", pa.string())
    ),
    CONFIG_DEFAULTS.name: CONFIG_DEFAULT_SCHEMA,
    CLIENT_CONFIGS.name: CONFIG_SCHEMA,
    CLIENT_CONFIG_HISTORY.name: HISTORY_SCHEMA,
}


class StoppedError(Exception):
    """Raised at a point of a micro-batch that a test names."""


class MemoryTables:
    """Tables that are looked up and committed to as the job does it."""

    def __init__(self, terminated=()):
        """Make empty tables; telemetry knows when some instances terminated."""
        self.rows = {name: schema.empty_table() for name, schema in SCHEMAS.items()}
        self.transactions = set()
        self.commits = []
        """(table, new, changed, gone) of each commit that changed rows."""
        self.terminated = pa.Table.from_pylist(list(terminated), TERMINATED_SCHEMA)
        self.stop_at = None

    def open_state(self, contract, transaction):
        return MemoryState(self, contract, transaction)

    def find_rows(self, contract, keys, schema):
        rows = self.rows[contract.name]
        return filter_known(rows, keys, keys.column_names).select(schema.names)

    def recount_defaults(self):
        return merge_reports(report_defaults(self.rows[CLIENT_CONFIG_PUSHES.name]))

    def find_telemetry(self, _replaced):
        return Telemetry(
            terminated=self.terminated, newest=TELEMETRY_SCHEMA.empty_table()
        )

    def reach(self, point):
        """Stop the micro-batch if the test wants it here."""
        if self.stop_at == point:
            raise StoppedError

    def append_pushes(self, pushes):
        """Append to the ledger, which is written last."""
        name = CLIENT_CONFIG_PUSHES.name
        status = pa.array(["ok"] * pushes.num_rows, pa.string())
        rows = pushes.append_column("decode_status", status)
        self.rows[name] = pa.concat_tables([self.rows[name], rows])


class MemoryState:
    """One state table, opened for one commit."""

    def __init__(self, tables, contract, transaction):
        """Take the rows as they are now."""
        self._tables, self._contract = tables, contract
        self._name = contract.name, transaction.query_id, transaction.batch_id
        self.is_committed = self._name in tables.transactions
        self.is_new = not self.is_committed

    def find(self, keys, schema):
        return self._tables.find_rows(self._contract, keys, schema)

    def read(self, schema):
        return self._tables.rows[self._contract.name].select(schema.names)

    def commit(self, rows):
        tables, name = self._tables, self._contract.name
        tables.reach(f"before {name}")
        if rows.count and not self.is_committed:
            known, key = tables.rows[name], list(self._contract.merge_key)
            assert filter_known(rows.new, known, key).num_rows == 0
            for part in (rows.changed, rows.gone):
                assert filter_known(known, part, key).num_rows == part.num_rows
                known = filter_unknown(known, part, key)
            parts = [known, rows.changed, rows.new]
            tables.rows[name] = pa.concat_tables(
                [part.select(SCHEMAS[name].names) for part in parts]
            )
            counts = rows.new.num_rows, rows.changed.num_rows, rows.gone.num_rows
            tables.commits.append((name, *counts))
            tables.transactions.add(self._name)
        tables.reach(f"after {name}")


class MemoryJob:
    """Micro-batches of the job on tables in memory."""

    def __init__(self, terminated=(), **options):
        """Start the first query on empty tables."""
        self.tables = MemoryTables(terminated)
        given = {"has_references": False} | options
        self._writer = StateWriter(
            tables=self.tables,
            rules=LAYOUTS.rules,
            type_keys=LAYOUTS.type_keys,
            **given,
        )
        self._query, self._batch = 0, 0

    def write(self, *records, stop_at=None):
        """Write a micro-batch; return whether all of it was written."""
        self.tables.stop_at = stop_at
        transaction = Transaction(query_id=f"q{self._query}", batch_id=self._batch)
        pushes = decode(records)
        try:
            self._writer.write(pushes, transaction)
            self.tables.append_pushes(pushes)
            self.tables.reach(f"after {CLIENT_CONFIG_PUSHES.name}")
        except StoppedError:
            return False
        self._batch += 1
        return True

    def begin_anew(self):
        """Continue as a query with a new checkpoint location."""
        self._query, self._batch = self._query + 1, 0

    def read(self, contract):
        """Return the rows of a table as dicts, sorted by their key."""
        rows = self.tables.rows[contract.name].to_pylist(maps_as_pydicts="strict")
        return sorted(rows, key=lambda row: [str(row[n]) for n in contract.merge_key])


def decode(records):
    """Return the decoded pushes of records, as workers return them."""
    rows = [
        [*record[:5], [{"key": key, "value": value} for key, value in record[5]]]
        for record in records
    ]
    batch = pa.RecordBatch.from_pylist(
        [dict(zip(RECORD_SCHEMA.names, row, strict=True)) for row in rows],
        schema=RECORD_SCHEMA,
    )
    parts = [part.pushes for part in write_config_pushes(iter([batch]), LAYOUTS)]
    found = [part.select(PUSH_SCHEMA.names) for part in parts if part is not None]
    return pa.Table.from_batches(found, PUSH_SCHEMA)
