"""Tables with rows of all ages, in the many small files that micro-batches leave.

Partition 0 of the topic is written to every day, and partition 1 never again since
OLD: there the newest row of a table is an old one.
"""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipelines.delta_tables.locations import identify_table
from pipelines.settings import load_settings
from pipelines.tables.cluster import CLIENT_QUOTAS
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    QUARANTINE,
)
from pipelines.tables.traffic import CLIENT_TRAFFIC
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows

TOPIC = "clientele.telemetry"
NOW = datetime.now(tz=UTC)
OLD, RECENT, TODAY = (NOW - timedelta(days=days) for days in (200, 3, 0))
SMALL_FILES = 10
CONTRACTS = (
    *(CLIENT_METRICS, CLIENT_PUSHES, QUARANTINE, CLIENT_INSTANCES),
    *(CLIENT_CONFIGS, CLIENT_QUOTAS, CLIENT_TRAFFIC),
)


def settings_of(root, *more):
    """Return settings of tables below a folder, of which no date is being written."""
    return load_settings(
        "local",
        [
            f"tables.root_path={root}",
            f"topics.telemetry={TOPIC}",
            "maintain_tables.quiet_minutes=0",
            *more,
        ],
    )


def record(moment, partition, offset, **fields):
    """Return what a push at a moment has in every table of telemetry."""
    return {
        "topic": TOPIC,
        "partition": partition,
        "offset": offset,
        "event_date": moment.date(),
        "received_at": moment,
        "push_id": f"p{partition}-{offset}",
        **fields,
    }


def fill(spark, tables):
    """Make the tables, with rows that stay and others that may go."""
    make_tables(spark, tables, CONTRACTS)
    _fill_telemetry(tables)
    _fill_instances(tables)
    closed = {"valid_from": OLD - timedelta(days=900), "is_current": False}
    quotas = [
        closed | {"entity_path": "old", "valid_to": OLD - timedelta(days=400)},
        closed | {"entity_path": "closed", "valid_to": RECENT},
        {"entity_path": "open", "valid_from": OLD, "is_current": True},
    ]
    append_rows(tables, CLIENT_QUOTAS, *quotas)
    windows = [
        record(moment, 0, offset) | {"window_start": moment, "client_id": str(offset)}
        for offset, moment in enumerate((OLD, OLD, RECENT))
    ]
    known = {c.name for c in CLIENT_TRAFFIC.columns}
    append_rows(
        tables,
        CLIENT_TRAFFIC,
        *({n: v for n, v in one.items() if n in known} for one in windows),
    )


def _fill_telemetry(tables):
    for contract in (CLIENT_METRICS, CLIENT_PUSHES):
        append_rows(
            tables,
            contract,
            *(record(OLD, 0, offset) for offset in range(3)),
            *(record(OLD, 1, offset) for offset in range(2)),
        )
        for offset in range(SMALL_FILES):
            name = "live" if offset % 2 else "again"
            row = record(RECENT, 0, 10 + offset, client_instance_id=name)
            append_rows(tables, contract, row)
    append_rows(tables, CLIENT_PUSHES, record(TODAY, 0, 30))
    told = {"kafka_timestamp": OLD, "source_job": "client_telemetry_to_delta"}
    append_rows(
        tables,
        QUARANTINE,
        record(OLD, 0, 5, reason="truncated_otlp", **told),
        record(OLD, 0, 99, reason="topic_made_anew", **told),
        record(RECENT, 0, 6, reason="truncated_otlp", **told),
    )


def _fill_instances(tables):
    seen = {"first_seen": OLD}
    append_rows(
        tables,
        CLIENT_INSTANCES,
        {"client_instance_id": "ended", "terminated_at": OLD, **seen},
        {"client_instance_id": "silent", **seen},
        {"client_instance_id": "live", **seen},
        {"client_instance_id": "just ended", "terminated_at": RECENT, **seen},
        {"client_instance_id": "configures", **seen},
    )
    names = ("ended", "silent", "live", "unknown")
    configs = [{"client_instance_id": one, "received_at": OLD} for one in names]
    pushed = {"client_instance_id": "configures", "received_at": RECENT}
    append_rows(tables, CLIENT_CONFIGS, *configs, pushed)


STAYING = {
    "client_metrics": {(0, 10 + n) for n in range(SMALL_FILES)} | {(1, 1)},
    "client_pushes": {(0, 10 + n) for n in range(SMALL_FILES)} | {(1, 1), (0, 30)},
    "quarantine": {(0, 99), (0, 6)},
    "client_instances": {"live", "just ended", "configures"},
    "client_configs": {"live", "unknown", "configures"},
    "client_quotas": {"closed", "open"},
    "client_traffic": {(0, 2)},
}
"""What is left of each table."""


def read_left(spark, tables):
    """Return what names the rows of each table; each stands there once."""
    columns = {
        CLIENT_INSTANCES.name: "client_instance_id",
        CLIENT_CONFIGS.name: "client_instance_id",
        CLIENT_QUOTAS.name: "entity_path",
    }
    left = {}
    for contract in CONTRACTS:
        table = identify_table(spark, tables, contract)
        named = columns.get(contract.name)
        names = ["partition", "offset"] if named is None else [named]
        rows = [tuple(row) for row in spark.table(table).select(*names).collect()]
        found = {row[0] if len(row) == 1 else row for row in rows}
        assert len(found) == len(rows), contract.name
        left[contract.name] = found
    return left


def copy_tables(tables, root):
    """Copy the tables elsewhere, with the times of their files."""
    shutil.copytree(Path(tables.root_path), root)
