"""Rows of the table of clients, and what they are made of."""

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.errors import UnknownClient
from pipelines.reading import client_details, client_list, finding_overview
from pipelines.reading.chosen import explain_unknown
from pipelines.reading.client_states import CLIENT_KEY
from pipelines.reading.quota_use import select_recent_traffic
from pipelines.reading.rollups import select_current
from pipelines.reading.throttling import select_throttling
from pipelines.reading.views.client_config_views import ENTRIES
from pipelines.reading.views.known_clients_view import KNOWN_CLIENTS, KNOWN_INSTANCES
from pipelines.reading.views.quota_use_view import CLIENT_QUOTA_USE

from .asked import Asked
from .distinct import USER
from .finding_rows import select_open
from .fleet import CLIENTS

_NAMES = {
    "software": "client_software_name",
    "version": "client_software_version",
    "active": "active_instances",
}
"""Column of CLIENTS to that of known_clients, where they differ."""
TRAFFIC = "client_traffic"
Client = tuple[str | None, ...]
"""Key of a client: cluster, principal, client ID and type."""
_ROWS = ", ".join([*(f"{name} STRING" for name in CLIENT_KEY), "row INT"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All clients that a report is about, worked out once."""

    clients: pa.Table
    """fleet.CLIENTS."""
    rows: DataFrame
    """Column row, and the key of the client of each."""
    instances: DataFrame
    """Rows of known_instances with the row of their client."""
    findings: DataFrame | None
    """From finding_rows.select_open."""

    def list_keys(self) -> list[Client]:
        """Return the keys of all clients, in the order of their rows."""
        columns = (self.clients.column(name).to_pylist() for name in CLIENT_KEY)
        return list(zip(*columns, strict=True))


def has_clients(names: Collection[str]) -> bool:
    """Whether any table that tells of clients is there."""
    return KNOWN_CLIENTS in names


def find_clients(asked: Asked) -> Known:
    """Find all clients, and work out their list.

    Raises: UnknownClient for a principal that no client has.
    """
    instances = asked.table(KNOWN_INSTANCES)
    _check_principals(asked, instances)
    known = asked.of_principals(asked.table(KNOWN_CLIENTS))
    found = select_open(asked, known.select(*CLIENT_KEY))
    if found is not None:
        found = found.localCheckpoint()
    is_limited = CLIENT_QUOTA_USE in asked.names
    listed = client_list.list_clients(
        known,
        None if found is None else finding_overview.count_by_client(found),
        asked.table(CLIENT_QUOTA_USE) if is_limited else None,
        _read_throttling(asked),
    )
    clients = _collect_clients(listed)
    rows = _number_clients(asked, clients)
    of_rows = client_details.select_instances(instances, rows)
    return Known(
        clients=clients,
        rows=rows,
        instances=of_rows.localCheckpoint(),
        findings=found,
    )


def _read_throttling(asked: Asked) -> DataFrame | None:
    """Return how long brokers make active clients wait now."""
    if asked.fleet_points is None:
        return None
    points = select_current(asked.fleet_points, asked.table(KNOWN_INSTANCES))
    traffic = None
    if TRAFFIC in asked.names:
        traffic = select_recent_traffic(asked.table(TRAFFIC), asked.made_at)
    return select_throttling(points, traffic)


def _check_principals(asked: Asked, instances: DataFrame) -> None:
    """Refuse a principal that no client has. Raises: UnknownClient."""
    if not asked.principals:
        return
    rows = instances.select("principal").distinct().collect()
    known = [row[0] for row in rows if row[0] is not None]
    for one in asked.principals:
        if not {one, USER + one} & {*known}:
            raise UnknownClient(explain_unknown("principal", one, known))


def _collect_clients(listed: DataFrame) -> pa.Table:
    """Return fleet.CLIENTS, in the order of list_clients."""
    columns = [
        F.unix_millis(one.name).alias(one.name)
        if one.name.endswith("_seen")
        else F.col(_NAMES.get(one.name, one.name)).alias(one.name)
        for one in CLIENTS
    ]
    return listed.select(*columns).toArrow().cast(CLIENTS)


def _number_clients(asked: Asked, clients: pa.Table) -> DataFrame:
    rows = pa.array(range(clients.num_rows), pa.int32())
    keys = clients.select(CLIENT_KEY).append_column("row", rows)
    return asked.spark.createDataFrame(keys, _ROWS)


def read_holders(asked: Asked, known: Known) -> dict[str, list[int]]:
    """Return each configured value, as `acks=1`, with the rows that have it now."""
    if ENTRIES not in asked.names:
        return {}
    rows = client_details.select_holders(asked.table(ENTRIES), known.instances)
    told = rows.toArrow()
    names = zip(
        told.column("config_key").to_pylist(),
        told.column("config_value").to_pylist(),
        strict=True,
    )
    values = told.column("rows").to_pylist()
    return {
        f"{key}={value}": of for (key, value), of in zip(names, values, strict=True)
    }


def read_found(known: Known) -> dict[str, list[int]]:
    """Return each rule with the rows of the clients that it holds of."""
    if known.findings is None:
        return {}
    rows = finding_overview.select_rows_by_rule(known.findings, known.rows)
    return {one["rule"]: list(one["rows"]) for one in rows.collect()}
