"""client_instances and client_pushes in memory, written as the job writes them."""

from datetime import UTC, datetime, timedelta

from pipelines.jobs.telemetry.instances import (
    InstanceChanges,
    KnownInstances,
    find_changes,
)
from pipelines.jobs.telemetry.steps import PUSH_COLUMNS
from pipelines.tables.telemetry import CLIENT_INSTANCES
from udfs.envelopes.deciding_pushes import select_deciding

EPOCH = datetime(2026, 3, 1, tzinfo=UTC)
SQL_TYPES = {c.name: c.sql_type for c in CLIENT_INSTANCES.columns}
PUSH_TYPES = SQL_TYPES | {
    "received_at": "TIMESTAMP",
    "push_id": "STRING",
    "terminating": "BOOLEAN",
    "point_count": "INT",
    "event_date": "DATE",
}
PUSH_NAMES = (*PUSH_COLUMNS, "event_date")
PUSH_SCHEMA = ", ".join(f"{name} {PUSH_TYPES[name]}" for name in PUSH_NAMES)
INSTANCE_SCHEMA = ", ".join(f"{name} {kind}" for name, kind in SQL_TYPES.items())


def at(minutes):
    return EPOCH + timedelta(minutes=minutes)


def make_push(instance, minutes, **fields):
    known = {
        "client_instance_id": instance,
        "client_id": "c",
        "principal": "User:alice",
        "client_software_name": "franz-go",
        "client_software_version": "1",
        "client_source_address": "10.0.0.7",
        "listener": "PLAINTEXT",
        "client_type": "consumer",
        "group_id": "g",
        "push_interval_ms": 1000,
        "received_at": at(minutes),
        "push_id": f"p{minutes}",
        "terminating": False,
        "point_count": 1,
        "event_date": at(minutes).date(),
    }
    return tuple((dict.fromkeys(PUSH_NAMES) | known | fields).values())


def make_instance(instance, **fields):
    push = dict(zip(PUSH_NAMES, make_push(instance, 0), strict=True))
    row = {name: push.get(name) for name in SQL_TYPES}
    return tuple((row | {"first_seen": at(0)} | fields).values())


class Tables:
    """client_instances and client_pushes as a job keeps them, batch after batch."""

    def __init__(self, spark):
        self.spark = spark
        self.known = KnownInstances()
        self.instances = {}
        self.ledger = []
        self.compared = 0
        """Client instances for which the tables were asked."""

    def frames(self):
        rows = list(self.instances.values())
        return (
            self.spark.createDataFrame(rows, INSTANCE_SCHEMA),
            self.spark.createDataFrame(self.ledger, PUSH_SCHEMA),
        )

    def write(self, batch):
        """Do what a micro-batch does; return how many rows it changed."""
        pushes = self.spark.createDataFrame(batch, PUSH_SCHEMA).select(*PUSH_COLUMNS)
        deciding = select_deciding(pushes.toArrow())
        candidates = self.known.select_candidates(deciding, version=1)
        merged = []
        if candidates.num_rows:
            compared = find_changes(candidates, *self.frames())
            self.compared += compared.num_rows
            rows = InstanceChanges(version=1, compared=compared).rows
            if rows is not None:
                merged = self.spark.createDataFrame(rows).collect()
            self.known.remember(compared, version=1)
        self.instances |= {row["client_instance_id"]: tuple(row) for row in merged}
        self.ledger += batch
        return len(merged)
