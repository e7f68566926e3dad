"""Tables of the page: what changed, limits, outliers, brokers, and what is not told."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.brokers import NAMES_BROKER, select_broker_history, select_drift
from pipelines.reading.config_outliers import group_outliers, select_outliers
from pipelines.reading.config_overview import select_changes
from pipelines.reading.quota_overview import select_limits, select_quota_changes
from pipelines.reading.views import COVERAGE
from pipelines.reading.views.active_config_view import ACTIVE_ENTRIES
from pipelines.reading.views.broker_views import BROKER_CONFIGS, BROKERS
from pipelines.reading.views.client_config_disagreements import DISAGREEMENTS
from pipelines.reading.views.client_config_views import TIMELINE
from pipelines.reading.views.quota_use_view import CLIENT_QUOTA_USE
from pipelines.tables.cluster import (
    BROKER_REGISTRATIONS,
    BROKER_STATIC_CONFIGS,
    CLIENT_QUOTAS,
    CLUSTER_CHANGES,
)
from pipelines.tables.maintenance import MAINTENANCE_RUNS
from pipelines.tables.quality import QUALITY_RESULTS
from pipelines.tables.telemetry import QUARANTINE

from . import finding_rows
from .asked import Asked
from .client_rows import CLIENT_ROWS
from .fleet import EXPIRED, NO_TELEMETRY, SILENT, TERMINATED, Change, Part
from .texts import name_client_id

_MOST = 50


_WHO_SQL = "client_id, principal, client_type"
_NEW_SQL = f"""
SELECT {_WHO_SQL}, software, version, first_seen FROM {CLIENT_ROWS}
WHERE first_seen >= {{since}} ORDER BY first_seen DESC, client_id
"""  # noqa: S608 - names of our own
_ENDED_SQL = f"""
SELECT {_WHO_SQL}, state, last_seen FROM {CLIENT_ROWS}
WHERE last_seen >= {{since}} AND state IN ('{SILENT}', '{TERMINATED}', '{EXPIRED}')
ORDER BY last_seen DESC, client_id
"""  # noqa: S608 - the same
_VERSIONS_SQL = f"""
SELECT {_WHO_SQL}, software, former_version, version FROM {CLIENT_ROWS}
WHERE former_version <> version ORDER BY client_id, principal
"""  # noqa: S608 - the same
_COVERAGE_SQL = f"""
SELECT metric, count_if(status = 'delivered') AS delivered,
  count_if(status = 'not_asked') AS not_asked, count_if(status = 'missing') AS missing,
  count_if(status = 'wrong_kind') AS wrong_kind
FROM {COVERAGE} WHERE client_state <> '{TERMINATED}' AND {{principals}}
GROUP BY metric HAVING delivered < count(*)
ORDER BY missing DESC, not_asked DESC, metric
"""  # noqa: S608 - the same
_CHECKS_SQL = f"""
SELECT `table`, expectation, meaning, observed, checked_at FROM {QUALITY_RESULTS.name}
WHERE NOT success AND run_id = (
  SELECT max_by(run_id, checked_at) FROM {QUALITY_RESULTS.name}
) ORDER BY `table`, expectation
"""  # noqa: S608 - the same
_MAINTENANCE_SQL = f"""
SELECT table_name, action, outcome, why, started_at FROM {MAINTENANCE_RUNS.name}
WHERE (outcome = 'failed' OR action = 'run') AND run_id = (
  SELECT max_by(run_id, started_at) FROM {MAINTENANCE_RUNS.name}
) ORDER BY outcome, table_name, action
"""  # noqa: S608 - the same
_QUARANTINE_SQL = f"""
SELECT reason, source_job, count(*) AS records,
  least(max(kafka_timestamp), current_timestamp()) AS newest
FROM {QUARANTINE.name}
WHERE event_date >= date({{since}}) AND kafka_timestamp >= {{since}}
GROUP BY reason, source_job ORDER BY records DESC, reason
"""  # noqa: S608 - the same
_OF_CLIENT = {"client_id": "client id", "principal": "principal", "client_type": "type"}


def read_changes(asked: Asked) -> list[Change]:
    """Return what changed since then, each with its rows."""
    software = {"software": "software", "version": "version"}
    made = [
        _ask_change(
            asked,
            _NEW_SQL.format(since=asked.since_sql),
            _OF_CLIENT | software | {"first_seen": "first seen"},
            "client{} came",
        ),
        _ask_change(
            asked,
            _ENDED_SQL.format(since=asked.since_sql),
            _OF_CLIENT | {"state": "state", "last_seen": "last seen"},
            "client{} ended or became idle",
        ),
        _ask_change(
            asked,
            _VERSIONS_SQL,
            _OF_CLIENT
            | {"software": "software", "former_version": "before", "version": "now"},
            "client{} changed the version",
        ),
    ]
    return [
        *made,
        _read_config_changes(asked),
        _read_finding_changes(asked),
        *_read_cluster_changes(asked),
    ]


def _ask_change(
    asked: Asked, rows: DataFrame | str, names: dict[str, str], words: str
) -> Change:
    """Return a change whose words have a place for the ending of more than one."""
    part = asked.ask_part(rows, names, _MOST)
    number = len(part.rows) + part.more
    told = words.format("" if number == 1 else "s")
    return Change(what=f"{number:,} {told}" if number else f"no {told}", detail=part)


def _read_config_changes(asked: Asked) -> Change:
    missing = asked.explain_missing(TIMELINE)
    if missing:
        return Change(what=f"configurations: {missing}", detail=Part(missing=missing))
    rows = select_changes(asked.spark.table(TIMELINE), asked.since)
    names = {"valid_from": "when (UTC)", **_OF_CLIENT, "config_key": "key"}
    names |= {"before": "before", "config_value": "now"}
    change = _ask_change(
        asked, rows.where(asked.of_principals()), names, "configured value{} changed"
    )
    moments = [
        (moment, f"{name_client_id(client_id)}: {key}")
        for moment, client_id, _, _, key, *_ in _typed(change.detail)
    ]
    return replace(change, moments=moments)


def _typed(part: Part) -> Sequence[Any]:
    """Return rows whose columns are of the types that their query says."""
    return part.rows


def _read_finding_changes(asked: Asked) -> Change:
    missing = asked.explain_missing(finding_rows.FINDINGS)
    if missing:
        return Change(what=f"findings: {missing}", detail=Part(missing=missing))
    opened, closed = finding_rows.count_changes(asked)
    return Change(what=f"{opened:,} findings opened, {closed:,} closed", detail=Part())


def _read_cluster_changes(asked: Asked) -> list[Change]:
    made = []
    if CLIENT_QUOTAS.name in asked.names:
        rows = select_quota_changes(asked.spark.table(CLIENT_QUOTAS.name), asked.since)
        names = {
            "at": "when (UTC)",
            "entity_path": "whose",
            "quota_key": "quota key",
            "before": "before",
            "after": "now",
        }
        made.append(_ask_change(asked, rows, names, "quota{} changed"))
    tables = (BROKER_REGISTRATIONS, BROKER_STATIC_CONFIGS, CLUSTER_CHANGES)
    if not asked.explain_missing(*(one.name for one in tables)):
        frames = [asked.spark.table(one.name) for one in tables]
        rows = select_broker_history(*frames).where(F.col("at") >= F.lit(asked.since))
        names = {
            "at": "when (UTC)",
            "broker_id": "broker",
            "what": "what",
            "detail": "how",
        }
        made.append(_ask_change(asked, rows, names, "event{} of brokers"))
    return made


def read_limits(asked: Asked) -> Part:
    """Return the quota-ids that are nearest to their limits."""
    missing = asked.explain_missing(CLIENT_QUOTA_USE)
    if missing:
        return Part(missing=missing)
    names = {
        "quota_id": "quota-id",
        "quota_key": "quota key",
        "used_percent": "used (%)",
        "basis": "measured by",
        "limit": "limit of a broker",
        "used_rate": "used (a second)",
        "throttled_ms": "throttled (ms)",
        "shared_by": "clients that share it",
        "entity_path": "whose quota",
    }
    rows = asked.spark.table(CLIENT_QUOTA_USE).where(asked.of_principals())
    return asked.ask_part(rows.transform(select_limits), names, _MOST)


def read_outliers(asked: Asked) -> Part:
    """Return values that few of the peers of a client have, and nearly all another."""
    missing = asked.explain_missing(ACTIVE_ENTRIES)
    if missing:
        return Part(missing=missing)
    names = {
        "principal": "principal",
        "client_type": "type",
        "config_key": "key",
        "usual_value": "nearly all have",
        "usual_clients": "these are",
        "config_value": "a few have",
        "clients": "these are ",
        "client_id": "one of them",
    }
    outliers = asked.spark.table(ACTIVE_ENTRIES).transform(select_outliers)
    rows = outliers.where(asked.of_principals()).transform(group_outliers)
    return asked.ask_part(rows, names, _MOST)


def read_disagreements(asked: Asked) -> Part:
    """Return keys of which live instances of one client have different values."""
    missing = asked.explain_missing(DISAGREEMENTS)
    if missing:
        return Part(missing=missing)
    names = _OF_CLIENT | {
        "config_key": "key",
        "config_value": "value",
        "instances": "instances",
    }
    rows = asked.spark.table(DISAGREEMENTS).where(asked.of_principals())
    return asked.ask_part(rows, names, _MOST)


def read_brokers(asked: Asked) -> tuple[Part, Part]:
    """Return the brokers, and where their static configs differ."""
    missing = asked.explain_missing(BROKERS, BROKER_CONFIGS)
    if missing:
        return Part(missing=missing), Part(missing=missing)
    names = {
        "cluster_id": "cluster",
        "broker_id": "broker",
        "state": "state",
        "rack": "rack",
        "registered_at": "registered",
        "metadata_version": "metadata version",
        "config_count": "configs known",
    }
    rows = asked.spark.table(BROKERS).orderBy("cluster_id", "broker_id")
    return asked.ask_part(rows, names, 4 * _MOST), _read_drift(asked)


def _read_drift(asked: Asked) -> Part:
    configs = asked.spark.table(BROKER_CONFIGS).where("state <> 'gone'")
    compared = configs.where(~F.col("config_name").isin(*NAMES_BROKER))
    names = {
        "cluster_id": "cluster",
        "config_name": "config",
        "config_value": "static value",
        "source": "source",
        "effective_value": "in force",
        "brokers": "brokers",
    }
    rows = compared.transform(select_drift)
    return asked.ask_part(
        rows.orderBy("cluster_id", "config_name", "brokers"), names, 2 * _MOST
    )


def read_not_told(asked: Asked, clients: pa.Table) -> list[tuple[str, Part]]:
    """Return what the tables cannot say of clients."""
    silent = clients.filter(pc.equal(clients.column("state"), NO_TELEMETRY))
    by_software = silent.group_by(["software", "version"]).aggregate(
        [("state", "count")]
    )
    counted = by_software.sort_by([("state_count", "descending")]).to_pylist()
    without = Part(
        names=("software", "version", "clients"),
        rows=[
            (one["software"], one["version"], one["state_count"])
            for one in counted[:_MOST]
        ],
        more=max(0, len(counted) - _MOST),
    )
    missing = asked.explain_missing(COVERAGE)
    names = {
        "metric": "metric",
        "not_asked": "not asked for (clients)",
        "missing": "asked for, not delivered",
        "wrong_kind": "of the wrong kind",
        "delivered": "delivered",
    }
    query = _COVERAGE_SQL.format(principals=asked.of_principals())
    metrics = Part(missing=missing) if missing else asked.ask_part(query, names, _MOST)
    return [
        (
            "Clients without telemetry, known by configuration or proxy alone",
            without,
        ),
        ("Metrics of KIP-714 that some clients do not deliver", metrics),
    ]


def read_health(asked: Asked) -> list[tuple[str, Part]]:
    """Return how the tables themselves are."""
    asks = (
        (
            "Checks that failed in the newest run of check_tables",
            QUALITY_RESULTS.name,
            _CHECKS_SQL,
            {
                "table": "table",
                "expectation": "expectation",
                "meaning": "what it expects",
                "observed": "what was found",
                "checked_at": "when (UTC)",
            },
        ),
        (
            "The newest run of maintain_tables, and what failed in it",
            MAINTENANCE_RUNS.name,
            _MAINTENANCE_SQL,
            {
                "table_name": "table",
                "action": "action",
                "outcome": "outcome",
                "why": "why",
                "started_at": "when (UTC)",
            },
        ),
        (
            "Records in quarantine since then",
            QUARANTINE.name,
            _QUARANTINE_SQL.format(since=asked.since_sql),
            {
                "reason": "reason",
                "source_job": "job",
                "records": "records",
                "newest": "newest (UTC)",
            },
        ),
    )
    made = []
    for title, table, query, names in asks:
        missing = asked.explain_missing(table)
        part = Part(missing=missing) if missing else asked.ask_part(query, names, _MOST)
        made.append((title, part))
    return made
