"""From tables to a fleet: what is there is asked, what is not is said."""

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession

from pipelines.errors import MissingTable
from pipelines.reading import views
from pipelines.reading.views.client_config_views import ENTRIES, TIMELINE
from pipelines.settings.records import Settings
from pipelines.tables.telemetry import CLIENT_INSTANCES

from . import section_rows
from .asked import Asked
from .client_rows import (
    WHO,
    has_clients,
    read_clients,
    register_clients,
    register_instances,
)
from .detail_rows import read_details
from .finding_rows import FINDINGS, read_rules, register_open
from .fleet import Fleet
from .picture_rows import read_live, read_performance

STEPS = 48
"""Points of a line over time: half an hour each of a day."""
_KEPT = (views.CLIENTS, ENTRIES, TIMELINE)
MOST_DETAILS = 1_000
"""Clients with details; what the page has no room for is left out there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a report is about."""

    environment: str
    made_at: datetime
    since: datetime
    principals: tuple[str, ...] = ()


def collect(spark: SparkSession, settings: Settings, request: Request) -> Fleet:
    """Ask the tables for all that a page says.

    Raises: MissingTable where no table tells of any client.
    """
    names = {*views.register(spark, settings)}
    if spark.catalog.tableExists(FINDINGS):
        names.add(FINDINGS)
    if not has_clients(names):
        raise MissingTable(views.explain_missing(CLIENT_INSTANCES.name, settings))
    asked = Asked(
        spark=spark,
        settings=settings,
        names=names,
        made_at=request.made_at,
        since=request.since,
        steps=STEPS,
        principals=request.principals,
    )
    register_open(asked)
    # Other views, and several questions, are made of these.
    kept = [spark.table(name).persist() for name in _KEPT if name in names]
    try:
        kept.append(register_instances(asked))
        clients = register_clients(asked)
        kept.append(clients)
        return _ask_all(asked, request, clients)
    finally:
        for rows in kept:
            rows.unpersist()


def _ask_all(asked: Asked, request: Request, rows: DataFrame) -> Fleet:
    clients, logical = read_clients(rows)
    who = zip(*(clients.column(name).to_pylist() for name in WHO), strict=True)
    places = {one: row for row, one in enumerate(who)}
    findings_missing = asked.explain_missing(FINDINGS)
    latency, time_spent, consumers = read_performance(asked)
    brokers, drift = section_rows.read_brokers(asked)
    return Fleet(
        environment=request.environment,
        made_at=request.made_at,
        since=request.since,
        steps=asked.steps,
        principals=request.principals,
        clients=clients,
        details=read_details(asked, clients, logical, MOST_DETAILS),
        rules=() if findings_missing else read_rules(asked, places),
        findings_missing=findings_missing,
        changes=section_rows.read_changes(asked),
        live=read_live(asked, clients.num_rows),
        latency=latency,
        time_spent=time_spent,
        consumers=consumers,
        limits=section_rows.read_limits(asked),
        outliers=section_rows.read_outliers(asked),
        disagreements=section_rows.read_disagreements(asked),
        brokers=brokers,
        drift=drift,
        not_told=section_rows.read_not_told(asked, clients),
        health=section_rows.read_health(asked),
    )
