"""From tables to a fleet: what is there is asked, what is not is said."""

from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pipelines.errors import MissingTable
from pipelines.reading import views
from pipelines.reading.push_times import PushTimes, read_push_times
from pipelines.reading.views.client_config_views import (
    ENTRIES,
    TIMELINE,
    without_typed_values,
)
from pipelines.reading.views.client_points_view import CLIENT_POINTS
from pipelines.reading.views.client_rollups_view import CLIENT_ROLLUPS
from pipelines.reading.views.known_clients_view import CLIENT_STATES, KNOWN_INSTANCES
from pipelines.settings.records import Settings

from . import change_rows, section_rows
from .asked import Asked
from .axes import fit_axis
from .client_rows import (
    Known,
    find_clients,
    has_clients,
    read_found,
    read_holders,
)
from .detail_rows import read_details
from .finding_rows import FINDINGS, read_coverage, read_evaluation, read_rules
from .fleet import Fleet
from .picture_rows import read_fleet_points, read_live, read_performance, read_totals

_KEPT = (
    (
        *("client_instances", "client_configs", "config_defaults"),
        *("client_wire_configs", "broker_registrations", "broker_static_configs"),
        *("client_metrics_subscriptions", "client_quotas", "effective_quotas"),
        *("dynamic_client_configs", "client_supported_configs"),
    ),
    (CLIENT_STATES,),
    (KNOWN_INSTANCES,),
    (TIMELINE,),
)
"""What several questions are made of, in the order in which one is made of others. With
Delta each place in a plan at which a table stands costs a look at its files."""
_UNUSED = frozenset(
    (CLIENT_POINTS, CLIENT_ROLLUPS, views.NEWEST_VALUES, views.LABELLED)
)
"""Views that no part of a report reads; planning them takes seconds."""
_AT_ONCE = 4
"""Questions asked at the same time."""
MOST_DETAILS = 1_000
"""Clients with details; what the page has no room for is left out there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a report is about."""

    environment: str
    made_at: datetime
    since: datetime
    principals: tuple[str, ...] = ()
    report_part: Callable[[str], None] = lambda _: None
    """Called with one line for each part that was read."""


def collect(spark: SparkSession, settings: Settings, request: Request) -> Fleet:
    """Ask the tables for all that a page says.

    Raises: MissingTable if no table lists any client; UnknownClient for a principal
        that no client has.
    """
    wanted = views.TABLES_AND_VIEWS - _UNUSED
    names = {*views.register(spark, settings, wanted, now=request.made_at)}
    if not has_clients(names):
        raise MissingTable(views.explain_missing("client_instances", settings))
    request.report_part("Reading tables of clients")
    for some in _KEPT:
        _keep(spark, (names | {CLIENT_STATES}).intersection(some))
    pushes = _read_push_times(spark, names, request.since)
    asked = Asked(
        spark=spark,
        settings=settings,
        names=names,
        made_at=request.made_at,
        since=request.since,
        axis=fit_axis(request.since, request.made_at, pushes),
        newest_push=pushes.newest,
        push_interval_ms=pushes.interval_ms or 0,
        current_from=pushes.current_from,
        principals=request.principals,
    )
    with ExitStack() as kept:

        def persist(rows: DataFrame) -> DataFrame:
            kept.callback(rows.unpersist)
            return rows.persist()

        # Of the most rows, and each question reads a few columns of them.
        if ENTRIES in names:
            entries = spark.table(ENTRIES).transform(without_typed_values)
            persist(entries).createOrReplaceTempView(ENTRIES)
        points = read_fleet_points(asked)
        if points is not None:
            asked = replace(asked, fleet_points=persist(points))
        return _ask_all(asked, request, pushes, find_clients(asked))


def _keep(spark: SparkSession, names: Collection[str]) -> None:
    """Let tables and views be rows that are worked out once."""

    def keep(name: str) -> None:
        spark.table(name).localCheckpoint().createOrReplaceTempView(name)

    with ThreadPoolExecutor(_AT_ONCE, "report") as pool:
        list(pool.map(keep, names))


def _read_push_times(
    spark: SparkSession, names: Collection[str], since: datetime
) -> PushTimes:
    if views.CLIENTS not in names:
        return PushTimes()
    return read_push_times(spark, since)


def _ask_all(asked: Asked, request: Request, pushes: PushTimes, known: Known) -> Fleet:
    clients = known.clients
    places = {who: row for row, who in enumerate(known.list_keys())}
    coverage = read_coverage(asked)
    findings_missing = asked.explain_missing(FINDINGS)
    done: list[str] = []

    def note(name: str) -> Callable[[Future[Any]], None]:
        def report(future: Future[Any]) -> None:
            if future.cancelled() or future.exception() is not None:
                return
            done.append(name)
            request.report_part(f"Read {name} ({len(done)} of {len(parts)} parts)")

        return report

    # Planning a query keeps one core busy, and there are about thirty queries.
    with ThreadPoolExecutor(_AT_ONCE, "report") as pool:
        # First, for others wait for it.
        changed = pool.submit(change_rows.find_changes, asked)
        details = pool.submit(
            read_details, asked, known, changed.result, coverage, MOST_DETAILS
        )
        not_told = pool.submit(section_rows.read_not_told, asked, clients)
        brokers = pool.submit(section_rows.read_brokers, asked)
        changes = pool.submit(change_rows.read_changes, asked, changed.result)
        disagreements = pool.submit(section_rows.read_disagreements, asked)
        performance = pool.submit(read_performance, asked, known)
        outliers = pool.submit(section_rows.read_outliers, asked)
        live = pool.submit(read_live, asked, known.instances, clients.num_rows)
        limits = pool.submit(section_rows.read_limits, asked)
        health = pool.submit(section_rows.read_health, asked)
        rules = None
        if known.findings is not None:
            rules = pool.submit(read_rules, asked, known.findings, places)
        evaluated = pool.submit(read_evaluation, asked)
        totals = pool.submit(read_totals, asked, known)
        values = pool.submit(read_holders, asked, known)
        found = pool.submit(read_found, known)
        parts: dict[str, Future[Any]] = {
            "details": details,
            "coverage": not_told,
            "brokers": brokers,
            "changes": changes,
            "disagreements": disagreements,
            "performance": performance,
            "totals": totals,
            "outliers": outliers,
            "active clients": live,
            "quotas": limits,
            "table health": health,
            **({} if rules is None else {"findings": rules}),
        }
        for name, part in parts.items():
            part.add_done_callback(note(name))
    latency, time_spent, consumers = performance.result()
    brokers_known, drift = brokers.result()
    return Fleet(
        environment=request.environment,
        made_at=request.made_at,
        since=request.since,
        axis=asked.axis,
        newest_push=pushes.newest,
        push_interval_ms=pushes.interval_ms,
        evaluated_at=evaluated.result(),
        totals=totals.result(),
        rule_coverage=coverage,
        values=values.result(),
        found=found.result(),
        principals=request.principals,
        clients=clients,
        details=details.result(),
        rules=rules.result() if rules else (),
        findings_missing=findings_missing,
        changes=changes.result(),
        live=live.result(),
        latency=latency,
        time_spent=time_spent,
        consumers=consumers,
        limits=limits.result(),
        outliers=outliers.result(),
        disagreements=disagreements.result(),
        brokers=brokers_known,
        drift=drift,
        not_told=not_told.result(),
        health=health.result(),
    )
