"""Command `demo --sample`: write the tables of a sample fleet without Kafka."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables.locations import identify_table
from pipelines.delta_tables.row_appends import append_rows
from pipelines.delta_tables.setup import ensure_tables
from pipelines.delta_tables.transactions import Transaction
from pipelines.delta_tables.writers import open_writer
from pipelines.jobs.findings import job as client_findings
from pipelines.jobs.quotas import job as refresh_quotas
from pipelines.settings.loading import load_settings
from pipelines.settings.records import Settings
from pipelines.settings.rules import read_finding_rules
from pipelines.tables.cluster import CLUSTER_CONTRACTS, EFFECTIVE_QUOTAS
from pipelines.tables.configs import CLIENT_CONFIG_CONTRACTS
from pipelines.tables.findings import CLIENT_FINDINGS, FINDING_RUNS
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    IDLE_AFTER_INTERVALS,
    QUARANTINE,
    TELEMETRY_CONTRACTS,
)
from pipelines.tables.traffic import CLIENT_TRAFFIC
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

from .parts import ROOT, quieten, say, write_settings
from .sample_cluster import (
    make_cluster_rows,
    make_quarantine_rows,
    make_traffic_rows,
)
from .sample_configs import Row, make_config_rows, make_wire_rows
from .sample_crowd import list_instances
from .sample_fleet import INTERVAL_MS, SampleFleet
from .sample_points import list_instance_rows, write_telemetry
from .summary import list_next

CONTRACTS = (
    *TELEMETRY_CONTRACTS,
    *CLIENT_CONFIG_CONTRACTS,
    *CLUSTER_CONTRACTS,
    CLIENT_WIRE_CONFIGS,
    CLIENT_TRAFFIC,
    EFFECTIVE_QUOTAS,
)
"""Tables that the sample fills, in addition to those of findings."""
SETTINGS = {"subscriptions_source": "cluster"}
"""Settings of the bridge: subscriptions come from the sample's clusters."""
NEXT = (
    "report --out fleet.html",
    "findings",
    'sql "select client_id, state, last_push from clients order by last_push"',
    "quotas top",
    "clients coverage",
    "notebook {notebooks}/clients_overview.py",
    "notebook {notebooks}/consumer_groups.py",
    "shell",
)
_BESIDE = 4
"""Tables that are created in parallel."""
_BETWEEN_EVALUATIONS = timedelta(minutes=5)
_ACTIVE = IDLE_AFTER_INTERVALS * timedelta(milliseconds=INTERVAL_MS)
"""How long clients are active after the end of the data."""
_NO_BROKER = "127.0.0.1:9092"
"""Placeholder, because a sample has no Kafka."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One run of `demo --sample`."""

    clients: int
    hours: float
    until: datetime | None = None
    """End of its data; None: now."""

    def run(self, session: AbstractContextManager[SparkSession]) -> int:
        """Write the tables and print what to try next.

        Args:
            session: Starts Spark when it is entered, and ends it.
        """
        quieten()
        began = time.monotonic()
        folder = ROOT / "data" / time.strftime("sample-%Y%m%d-%H%M%S")
        with session as spark:
            until = self.until or datetime.now(tz=UTC).replace(microsecond=0)
            fleet = SampleFleet(clients=self.clients, hours=self.hours, until=until)
            write_settings(folder, _NO_BROKER, (), bridge=SETTINGS)
            write_sample(spark, make_settings(folder), fleet)
        seconds = time.monotonic() - began
        lines = "\n".join(
            f"  {one}" for one in list_next(folder, ROOT, Path.cwd(), NEXT)
        )
        print(
            f"\nSample fleet of {self.clients} clients and {self.hours:g} hours, "
            f"written in {seconds:.0f} s\n\nDelta tables: {folder}/tables\n\n"
            f"Clients are active until {until + _ACTIVE:%H:%M} UTC, then idle. Run the "
            f"command again for active clients.\n\n"
            f"Try next:\n{lines}\n",
            flush=True,
        )
        return 0


def make_settings(folder: Path) -> Settings:
    """Return the settings by which the tables below a folder are read."""
    words = [f"bridge.{name}={value}" for name, value in SETTINGS.items()]
    return load_settings("local", [f"tables.root_path={folder}/tables", *words])


def write_sample(spark: SparkSession, settings: Settings, fleet: SampleFleet) -> None:
    """Write all tables of a fleet, then calculate quotas and evaluate findings."""
    instances = list_instances(fleet)
    with ThreadPoolExecutor(_BESIDE, "tables") as beside:
        list(
            beside.map(
                lambda one: ensure_tables(spark, settings.tables, [one]), CONTRACTS
            )
        )
    say(f"tables: {len(CONTRACTS)} made")
    pushes = sum(len(one.push_times()) for one in instances)
    rows = {
        CLIENT_INSTANCES.name: list_instance_rows(instances),
        **make_config_rows(instances),
        **make_cluster_rows(fleet),
        CLIENT_WIRE_CONFIGS.name: make_wire_rows(instances),
        CLIENT_TRAFFIC.name: list(make_traffic_rows(fleet, instances)),
        QUARANTINE.name: make_quarantine_rows(fleet, pushes),
    }
    write_telemetry(spark, settings, fleet, instances)
    say(f"telemetry: {len(instances)} client instances, {pushes} pushes")
    _append_all(spark, settings, rows)
    say("configurations, clusters, traffic: written")
    refresh_quotas.refresh(spark, settings, fleet.until)
    say("quotas: calculated")
    rules = read_finding_rules(settings)
    done = client_findings.evaluate(spark, settings, rules, fleet.until)
    _confirm_findings(spark, settings, fleet)
    say(f"findings: {done.holding} open")


def _confirm_findings(
    spark: SparkSession, settings: Settings, fleet: SampleFleet
) -> None:
    """Open all findings, as if an evaluation five minutes earlier had found the same.

    A finding opens at its second evaluation. The first one would take as long again.
    """
    before = fleet.until - _BETWEEN_EVALUATIONS
    writer = open_writer(spark, settings.tables, [CLIENT_FINDINGS])
    version = writer.read_version(spark, CLIENT_FINDINGS)
    state = writer.open_state(
        spark, CLIENT_FINDINGS, Transaction(query_id="sample", batch_id=version)
    )
    rows = state.read().withColumns(
        {
            "since": F.lit(before).cast("timestamp"),
            "until": F.lit(None).cast("timestamp"),
        }
    )
    state.merge(rows, rows.count())
    runs = identify_table(spark, settings.tables, FINDING_RUNS)
    earlier = {
        "run_id": "sample",
        "evaluated_at": before,
        "event_date": before.date(),
    }
    known = [row.asDict() | earlier for row in spark.table(runs).collect()]
    append_rows(spark, runs, known)


def _append_all(
    spark: SparkSession, settings: Settings, rows: Mapping[str, Sequence[Row]]
) -> None:
    by_name = {one.name: one for one in CONTRACTS}

    def append(name: str) -> None:
        table = identify_table(spark, settings.tables, by_name[name])
        append_rows(spark, table, rows[name])

    with ThreadPoolExecutor(_BESIDE, "rows") as beside:
        list(beside.map(append, [name for name in rows if rows[name]]))
