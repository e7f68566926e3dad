"""Tables of the page: limits, outliers, brokers, what is not told, how tables are."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import maintenance_overview, quality_overview
from pipelines.reading.brokers import NAMES_BROKER, select_drift
from pipelines.reading.chosen import Chosen
from pipelines.reading.client_states import EXPIRED, TELEMETRY, TERMINATED
from pipelines.reading.config_outliers import (
    group_outliers,
    select_outliers,
    select_set_keys,
)
from pipelines.reading.quota_overview import select_limits
from pipelines.reading.views import COVERAGE
from pipelines.reading.views.active_config_view import ACTIVE_ENTRIES
from pipelines.reading.views.broker_views import BROKER_CONFIGS, BROKERS
from pipelines.reading.views.client_config_disagreements import (
    DISAGREEMENTS,
    select_disagreements,
)
from pipelines.reading.views.quota_use_view import CLIENT_QUOTA_USE

from .asked import Asked
from .change_rows import OF_CLIENT
from .fleet import Part

MOST = 50
"""Rows of a table of the page."""
_WITHOUT = "Clients without telemetry, known by configuration or proxy alone"
_UNCOVERED = "Metrics of KIP-714 that some clients do not deliver"


def read_limits(asked: Asked) -> Part:
    """Return the quota-ids that are nearest to their limits."""
    missing = asked.explain_missing(CLIENT_QUOTA_USE)
    if missing:
        return Part(missing=missing)
    names = {
        "cluster_id": "cluster",
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
    rows = asked.of_principals(asked.table(CLIENT_QUOTA_USE))
    return asked.ask_part(rows.transform(select_limits), names, MOST)


def read_outliers(asked: Asked) -> Part:
    """Return values that few of the peers of a client have, and most another."""
    missing = asked.explain_missing(ACTIVE_ENTRIES)
    if missing:
        return Part(missing=missing)
    names = {
        "client_software_name": "software",
        "client_type": "type",
        "config_key": "key",
        "usual_value": "most have",
        "usual_clients": "these are",
        "config_value": "a few have",
        "clients": "these are ",
        "client_id": "one of them",
        "principal": "principal",
        "cluster_id": "cluster",
    }
    # Peers are of all principals, also where a page is about a few.
    entries = asked.table(ACTIVE_ENTRIES).transform(select_set_keys)
    outliers = asked.of_principals(select_outliers(entries))
    return asked.ask_part(outliers.transform(group_outliers), names, MOST)


def read_disagreements(asked: Asked) -> Part:
    """Return keys of which live instances of one client have different values."""
    missing = asked.explain_missing(DISAGREEMENTS)
    if missing:
        return Part(missing=missing)
    names = OF_CLIENT | {
        "config_key": "key",
        "config_value": "value",
        "instances": "instances",
    }
    rows = asked.table(ACTIVE_ENTRIES).transform(select_disagreements)
    return asked.ask_part(asked.of_principals(rows), names, MOST)


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
    rows = asked.table(BROKERS).orderBy("cluster_id", "broker_id")
    return asked.ask_part(rows, names, 4 * MOST), _read_drift(asked)


def _read_drift(asked: Asked) -> Part:
    configs = asked.table(BROKER_CONFIGS).where(F.col("state") != "gone")
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
        rows.orderBy("cluster_id", "config_name", "brokers"), names, 2 * MOST
    )


def read_not_told(asked: Asked, clients: pa.Table) -> list[tuple[str, Part]]:
    """Return what the tables cannot say of clients."""
    silent = clients.filter(pc.not_equal(clients.column("known_by"), TELEMETRY))
    by_software = silent.group_by(["software", "version"]).aggregate(
        [("state", "count")]
    )
    counted = by_software.sort_by([("state_count", "descending")]).to_pylist()
    without = Part(
        names=("software", "version", "clients"),
        rows=[
            (one["software"], one["version"], one["state_count"])
            for one in counted[:MOST]
        ],
        more=max(0, len(counted) - MOST),
    )
    missing = asked.explain_missing(COVERAGE)
    if missing:
        return [(_WITHOUT, without), (_UNCOVERED, Part(missing=missing))]
    names = {
        "metric": "metric",
        "not_asked": "not asked for (clients)",
        "missing": "asked for, not delivered",
        "wrong_kind": "of the wrong kind",
        "delivered": "delivered",
    }
    rows = asked.of_principals(asked.table(COVERAGE))
    rows = rows.where(~F.col("client_state").isin(TERMINATED, EXPIRED))
    metrics = asked.ask_part(quality_overview.count_uncovered(rows), names, MOST)
    return [(_WITHOUT, without), (_UNCOVERED, metrics)]


def read_health(asked: Asked) -> list[tuple[str, Part]]:
    """Return how the tables themselves are."""
    picked = Chosen(since=asked.since, until=asked.made_at)
    asks: tuple[tuple[str, str, Callable[[DataFrame], DataFrame], dict[str, str]], ...]
    asks = (
        (
            "Checks that failed in the newest run of check_tables",
            "quality_results",
            quality_overview.select_failures,
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
            "maintenance_runs",
            maintenance_overview.select_newest_run,
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
            "quarantine",
            lambda _: quality_overview.count_rejected(asked.spark, picked),
            {
                "reason": "reason",
                "source_job": "job",
                "records": "records",
                "newest": "newest (UTC)",
            },
        ),
    )
    made = []
    for title, table, select, names in asks:
        missing = asked.explain_missing(table)
        part = Part(missing=missing)
        if not missing:
            part = asked.ask_part(select(asked.table(table)), names, MOST)
        made.append((title, part))
    return made
