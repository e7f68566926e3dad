"""The tables of a cluster in memory, as batches of its records make them."""

import copy

import pyarrow as pa

from pipelines.delta_tables.layouts import layout_of
from pipelines.tables.cluster import CLUSTER_STATES
from pipelines.tables.telemetry import QUARANTINE
from tests.support.cluster_records import START_MS, as_batch, place
from udfs.cluster.cluster_records import iter_records
from udfs.cluster.histories import TableStates, fold_records
from udfs.files.cluster_record_files import ClusterTables, write_cluster_records

TYPES = {"log.segment.bytes": "INT"}
KEYS = {contract.name: contract.merge_key for contract in CLUSTER_STATES}
TABLES = ClusterTables(
    quarantine=layout_of(
        QUARANTINE, without={*QUARANTINE.column_names} - {*QUARANTINE.column_names[:8]}
    ),
    quarantine_floors={},
    source_job="job",
    max_record_bytes=10_000,
)


def decode(records, first=0):
    """Return what the decode hands on."""
    parts = write_cluster_records(iter([as_batch(place(records, first))]), TABLES)
    return list(
        iter_records(pa.Table.from_batches([p.pushes for p in parts if p.pushes]))
    )


class Cluster:
    """Tables in memory, and the micro-batches that are written to them."""

    def __init__(self):
        self.tables = {name: {} for name in KEYS}
        self.ledger = []
        self.next_offset = 0

    def write(self, *records):
        decoded = decode(records, self.next_offset)
        self.next_offset += len(records)
        ending = {one.set_id for one in decoded if one.record_type == "full_set"}
        keys_of_sets = {
            one: [
                row["record_key"]
                for row in self.ledger
                if row["set_id"] == one and row["record_type"] != "full_set"
            ]
            for one in ending
        }
        states = TableStates(
            **{n: copy.deepcopy(list(t.values())) for n, t in self.tables.items()}
        )
        made = fold_records(
            states, decoded, keys_of_sets=keys_of_sets, config_types=TYPES
        )
        for name, rows in made.rows.items():
            for row in rows:
                key = tuple(row[one] for one in KEYS[name])
                self._check(name, key, row)
                self.tables[name][key] = row
        self.ledger += made.ledger

    def _check(self, name, key, row):
        """Hold type-2 tables to what they promise of old rows."""
        old = self.tables[name].get(key)
        if old is not None and name in {"client_quotas", "resource_configs"}:
            names = row.keys() - {"valid_to", "is_current"}
            assert {n: row[n] for n in names} == {n: old[n] for n in names}

    def rows(self, name, *columns):
        found = [tuple(row[c] for c in columns) for row in self.tables[name].values()]
        return sorted(found, key=repr)

    def current(self, name, *columns):
        rows = self.tables[name].values()
        return sorted(tuple(r[c] for c in columns) for r in rows if r["is_current"])

    @property
    def changes(self):
        return [row["change"] for row in self.ledger]


def ms(row_time):
    """Return a time of a row as milliseconds since the start."""
    return None if row_time is None else (row_time - START_MS * 1000) / 1000


def times(cluster, name, *columns):
    rows = cluster.rows(name, *columns, "valid_from", "valid_to")
    return [(*row[:-2], ms(row[-2]), ms(row[-1])) for row in rows]
