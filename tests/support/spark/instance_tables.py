"""client_instances and client_pushes in memory, written as the job writes them."""

from datetime import UTC, datetime, timedelta

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.jobs.telemetry.instances import (
    IS_CHANGED,
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


def make_pushes(spark, *pushes):
    """Return pushes as a micro-batch has them."""
    return spark.createDataFrame(pushes, PUSH_SCHEMA).select(*PUSH_COLUMNS).toArrow()


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
        deciding = select_deciding(make_pushes(self.spark, *batch))
        candidates = self.known.select_candidates(deciding, version=1)
        changed = []
        if candidates.num_rows:
            instances, ledger = self.frames()
            keys = candidates.column("client_instance_id").to_pylist()
            known = instances.where(F.col("client_instance_id").isin(keys)).toArrow()
            compared = find_changes(candidates, known, lambda: ledger)
            self.compared += compared.num_rows
            self.known.remember(compared, version=1)
            rows = compared.filter(compared.column(IS_CHANGED)).select([*SQL_TYPES])
            if rows.num_rows:
                changed = self.spark.createDataFrame(rows).collect()
        self.instances |= {row["client_instance_id"]: tuple(row) for row in changed}
        self.ledger += batch
        return len(changed)
