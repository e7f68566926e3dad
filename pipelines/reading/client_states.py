"""Client instances and clients: which exist, what type they are, and their state.

An instance is `active` if it pushed telemetry within the last three push intervals,
`idle` if it did not, `terminated` after its terminating push, and `expired` if nothing
was received from it for `findings.observed_hours`. A pushed configuration or a request
through the proxy keeps an instance without telemetry `active` for that time.

Timestamps come from the clocks of bridges. A timestamp counts if it is at most three
push intervals after now, and is ignored if it is later: a wrong clock keeps no instance
active.

The texts read tables by the names that readers use. A table that does not exist counts
as empty.
"""

from collections.abc import Collection
from datetime import datetime

from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.contract import TableContract
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_PUSHES,
    IDLE_AFTER_INTERVALS,
)
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

ACTIVE, IDLE, TERMINATED, EXPIRED = "active", "idle", "terminated", "expired"
"""Values of the column state."""
TELEMETRY, CONFIGS, WIRE = "telemetry", "configs", "wire"
"""Values of the columns known_by and client_type_source."""
LONGEST_INTERVAL_MS = 3_600_000
"""Kafka's longest push interval."""
NOW = "current_timestamp()"
CLIENT_KEY = ("cluster_id", "principal", "client_id", "client_type")
"""What identifies a client; cluster_id, client_id and client_type may be null."""
_CONNECTION = ("cluster_id", "principal", "client_id", "client_source_address")
REPORTING = (CLIENT_INSTANCES, CLIENT_CONFIGS, CLIENT_WIRE_CONFIGS)
"""Tables with a row for each client or instance."""
SOURCES = (*REPORTING, CLIENT_PUSHES)
"""Tables that the states of clients are computed from."""
INSTANCE_KEY = """coalesce(client_instance_id, to_json(struct(
  cluster_id, principal, client_id, client_source_address, client_type)))"""
"""SQL for what identifies a row of known_instances; never null."""
_DEFAULT_INTERVAL_MS = 300_000
_INTERVAL_MS = f"bigint(coalesce(push_interval_ms, {_DEFAULT_INTERVAL_MS}))"
_PATIENCE = f"{IDLE_AFTER_INTERVALS} * {_INTERVAL_MS}"
INSTANCE_COLUMNS = (
    *("cluster_id", "principal", "client_id", "client_type", "client_type_source"),
    *("client_instance_id", "client_software_name", "client_software_version"),
    *("client_source_address", "group_id", "group_instance_id", "transactional_id"),
    *("client_rack", "logical_client", "known_by", "state", "first_seen", "last_seen"),
    *("last_push", "pushes", "terminated_at", "ended_at", "push_interval_ms"),
)
"""Columns of known_instances."""
PUSH_COLUMNS = (
    *("listener", "group_member_id", "points", "newest_push", "window_pushes"),
)
"""Further columns of states_query that only telemetry reports."""

_PUSHES_SQL = """
SELECT client_instance_id,
  max(received_at) FILTER (WHERE {is_credible}) AS last_push,
  count(*) AS pushes, sum(point_count) AS points,
  count_if(received_at BETWEEN {window_start} AND {now}) AS window_pushes,
  max_by(
    struct(client_source_port, bridge_id, broker_id), struct(received_at, push_id)
  ) AS newest_push
FROM client_pushes WHERE {is_recent} GROUP BY client_instance_id
"""
# A table of telemetry and one of configurations report most instances both.
_REPORTED_SQL = """
SELECT coalesce(i.client_instance_id, c.client_instance_id) AS client_instance_id,
  coalesce(i.cluster_id, c.cluster_id) AS cluster_id,
  coalesce(i.principal, c.principal) AS principal,
  coalesce(i.client_id, c.client_id) AS client_id,
  coalesce(c.client_type, i.client_type) AS client_type,
  CASE WHEN c.client_type IS NOT NULL THEN 'configs'
    WHEN i.client_type IS NOT NULL THEN 'telemetry' END AS client_type_source,
  coalesce(i.client_software_name, c.client_software_name) AS client_software_name,
  coalesce(i.client_software_version, c.client_software_version)
    AS client_software_version,
  coalesce(i.client_source_address, c.client_source_address) AS client_source_address,
  i.listener, i.group_id, i.group_instance_id, i.group_member_id, i.transactional_id,
  i.client_rack, c.logical_client,
  IF(i.client_instance_id IS NULL, 'configs', 'telemetry') AS known_by,
  coalesce(i.first_seen, c.received_at) AS first_seen, i.push_interval_ms,
  i.terminated_at, p.last_push, coalesce(p.pushes, 0) AS pushes,
  coalesce(p.points, 0) AS points, coalesce(p.window_pushes, 0) AS window_pushes,
  p.newest_push,
  coalesce(p.last_push, IF(i.first_seen <= {latest}, i.first_seen, NULL)) AS heard_at,
  IF(c.received_at <= {latest}, c.received_at, NULL) AS configured_at
FROM client_instances AS i
LEFT JOIN ({pushes}) AS p ON i.client_instance_id = p.client_instance_id
FULL JOIN client_configs AS c ON i.client_instance_id = c.client_instance_id
"""
_STATE_SQL = """CASE
    WHEN terminated_at IS NULL AND {now} <= quiet_at THEN 'active'
    WHEN NOT coalesce(configured_at <= quiet_at, false)
      AND {now} <= timestampadd(HOUR, {hours}, configured_at) THEN 'active'
    WHEN terminated_at IS NOT NULL
      AND NOT coalesce(configured_at > terminated_at, false) THEN 'terminated'
    WHEN {now} <= timestampadd(HOUR, {hours}, heard_at) THEN 'idle'
    ELSE 'expired' END"""
_STATES_SQL = """
SELECT * EXCEPT (quiet_at, heard_at, configured_at),
  greatest(heard_at, configured_at) AS last_seen,
  IF(state = 'active' OR configured_at > quiet_at, NULL, quiet_at) AS ended_at
FROM (
  SELECT *, {state} AS state FROM (
    SELECT *, coalesce(terminated_at, {idle_at}) AS quiet_at
    FROM ({reported})
  )
)
"""
# The proxy names the type of a connection that reported none, if it is only one.
_TYPED_SQL = """
SELECT r.* EXCEPT (client_type, client_type_source),
  coalesce(r.client_type, w.client_type) AS client_type,
  coalesce(r.client_type_source, IF(w.client_type IS NULL, NULL, 'wire'))
    AS client_type_source
FROM ({reported}) AS r LEFT JOIN (
  SELECT cluster_id, principal, client_id, client_source_address,
    max(client_type) AS client_type
  FROM client_wire_configs GROUP BY ALL HAVING count(DISTINCT client_type) = 1
) AS w ON r.client_type IS NULL AND {same_connection}
"""
# An instance that has terminated keeps what the proxy saw of it before.
_HOLDERS_SQL = """
SELECT cluster_id, principal, client_id, client_source_address, client_type,
  newest.client_instance_id, newest.held_to
FROM (
  SELECT cluster_id, principal, client_id, client_source_address, client_type,
    max_by(
      struct(client_instance_id, IF(state = 'active', NULL, terminated_at) AS held_to),
      struct(state = 'active', first_seen, client_instance_id)
    ) AS newest
  FROM ({states}) WHERE state IN ('active', 'terminated')
  GROUP BY cluster_id, principal, client_id, client_source_address, client_type
)
"""
_HELD_SQL = """
SELECT h.client_instance_id, w.*
FROM client_wire_configs AS w LEFT JOIN ({holders}) AS h
  ON {same_connection} AND w.client_type <=> h.client_type
  AND NOT coalesce(w.received_at > h.held_to, false)
"""
_TOLD_SQL = "SELECT {columns} FROM ({states})"
_WIRE_SQL = """
SELECT cluster_id, principal, client_id, client_type,
  IF(client_type IS NULL, NULL, 'wire') AS client_type_source,
  CAST(NULL AS STRING) AS client_instance_id,
  max_by(client_software_name, received_at) AS client_software_name,
  max_by(client_software_version, received_at) AS client_software_version,
  client_source_address, CAST(NULL AS STRING) AS group_id,
  CAST(NULL AS STRING) AS group_instance_id, CAST(NULL AS STRING) AS transactional_id,
  CAST(NULL AS STRING) AS client_rack, max(logical_client) AS logical_client,
  'wire' AS known_by,
  IF({now} <= timestampadd(HOUR, {hours}, max(seen_at)), 'active', 'expired') AS state,
  CAST(NULL AS TIMESTAMP) AS first_seen, max(seen_at) AS last_seen,
  CAST(NULL AS TIMESTAMP) AS last_push, 0L AS pushes,
  CAST(NULL AS TIMESTAMP) AS terminated_at, CAST(NULL AS TIMESTAMP) AS ended_at,
  CAST(NULL AS INT) AS push_interval_ms{more}
FROM (
  SELECT *, IF(received_at <= {latest}, received_at, NULL) AS seen_at
  FROM ({held}) WHERE client_instance_id IS NULL
)
GROUP BY cluster_id, principal, client_id, client_source_address, client_type
"""
_CLIENTS_SQL = """
SELECT cluster_id, principal, client_id, client_type,
  max_by(client_software_name, coalesce(first_seen, last_seen))
    AS client_software_name,
  max_by(client_software_version, coalesce(first_seen, last_seen))
    AS client_software_version,
  count(DISTINCT client_software_version) AS versions,
  CASE WHEN bool_or(state = 'active') THEN 'active'
    WHEN bool_or(state = 'idle') THEN 'idle'
    WHEN bool_or(state = 'terminated') THEN 'terminated'
    ELSE 'expired' END AS state,
  CASE WHEN bool_or(known_by = 'telemetry') THEN 'telemetry'
    WHEN bool_or(known_by = 'configs') THEN 'configs'
    ELSE 'wire' END AS known_by,
  count(client_instance_id) AS instances,
  count_if(state = 'active' AND client_instance_id IS NOT NULL) AS active_instances,
  min(first_seen) AS first_seen, max(last_seen) AS last_seen,
  max(group_id) AS group_id, max(logical_client) AS logical_client
FROM {instances} GROUP BY cluster_id, principal, client_id, client_type
"""


def time_sql(at: datetime) -> str:
    """Return SQL for a timestamp; at knows its zone."""
    return f"timestamp_micros({round(at.timestamp() * 1_000_000)})"


def state_sql(now: str = NOW, *, expire_after_hours: int) -> str:
    """Return SQL for the state of an instance.

    It reads terminated_at, heard_at (newest push), configured_at (newest pushed
    configuration) and quiet_at (terminated_at, else when the next push is overdue by
    two intervals).
    """
    return _STATE_SQL.format(now=now, hours=expire_after_hours)


def idle_at_sql(pushed_at: str) -> str:
    """Return SQL for when an instance becomes idle if this push was its last one.

    It reads push_interval_ms.
    """
    return f"timestampadd(MILLISECOND, {_PATIENCE}, {pushed_at})"


def current_from_sql(*, more_intervals: int = 0) -> str:
    """Return SQL for the start of the pushes that give an instance's current values.

    They are those of the three push intervals before its newest push. It reads
    push_interval_ms and last_push.

    Args:
        more_intervals: Earlier push intervals to include.
    """
    intervals = IDLE_AFTER_INTERVALS + more_intervals
    return f"timestampadd(MILLISECOND, -{intervals} * {_INTERVAL_MS}, last_push)"


def states_query(
    registered: Collection[str],
    *,
    now: str = NOW,
    expire_after_hours: int,
    since: str | None = None,
    window_start: str = NOW,
) -> str:
    """Return SQL: instances that telemetry or pushed configurations report.

    Args:
        registered: Names of the tables and views that exist.
        now: SQL for the time of the states.
        expire_after_hours: Hours after which an instance of which nothing was received
            is expired.
        since: SQL for the start of the pushes to read; null: all. The states of active
            instances need those since recent_sql only.
        window_start: SQL for the start of window_pushes.
    Returns: INSTANCE_COLUMNS and PUSH_COLUMNS, in no order.
    """
    latest = idle_at_sql(now)
    is_recent = "true"
    if since is not None:
        is_recent = f"event_date >= date({since}) AND received_at >= {since}"
    pushes = _PUSHES_SQL.format(
        is_credible=f"received_at <= {latest}",
        is_recent=is_recent,
        window_start=window_start,
        now=now,
    )
    reported = _REPORTED_SQL.format(pushes=pushes, latest=latest)
    if CLIENT_WIRE_CONFIGS.name in registered:
        reported = _TYPED_SQL.format(
            reported=reported, same_connection=same_sql("r", "w", _CONNECTION)
        )
    states = _STATES_SQL.format(
        state=state_sql(now, expire_after_hours=expire_after_hours),
        idle_at=idle_at_sql("heard_at"),
        reported=reported,
    )
    empty = [
        f"{one.name} AS ({select_nothing(one)})"
        for one in SOURCES
        if one.name not in registered
    ]
    return f"WITH {', '.join(empty)} {states}" if empty else states


def recent_sql(now: str = NOW) -> str:
    """Return SQL for the start of the pushes that active instances are known by."""
    oldest_ms = IDLE_AFTER_INTERVALS * LONGEST_INTERVAL_MS
    return f"timestampadd(MILLISECOND, -{oldest_ms}, {now})"


def held_values_query(states: str) -> str:
    """Return SQL: client_wire_configs, with the client instance of each value.

    Args:
        states: SQL of states_query, or the name of a view with its rows.
    Returns: client_instance_id, and the columns of client_wire_configs.
    Nulls: client_instance_id, if no active instance has that connection and type.
    """
    return _HELD_SQL.format(
        holders=_HOLDERS_SQL.format(states=_relation(states)),
        same_connection=same_sql("w", "h", _CONNECTION),
    )


def known_instances_query(
    registered: Collection[str],
    *,
    now: str = NOW,
    expire_after_hours: int,
    states: str | None = None,
    more: Collection[str] = (),
) -> str:
    """Return SQL of the view `known_instances`.

    Args:
        registered: Names of the tables and views that exist.
        now: SQL for the time of the states.
        expire_after_hours: As in states_query.
        states: Name of a view with the rows of states_query; null: made here.
        more: Further numbers of states; 0 for clients that only the proxy knows.
    """
    states = states or states_query(
        registered, now=now, expire_after_hours=expire_after_hours
    )
    columns = ", ".join((*INSTANCE_COLUMNS, *more))
    query = _TOLD_SQL.format(columns=columns, states=_relation(states))
    if CLIENT_WIRE_CONFIGS.name not in registered:
        return query
    wire = _WIRE_SQL.format(
        now=now,
        hours=expire_after_hours,
        latest=f"timestampadd(MILLISECOND, "
        f"{IDLE_AFTER_INTERVALS * _DEFAULT_INTERVAL_MS}, {now})",
        held=held_values_query(states),
        more="".join(f", 0L AS {name}" for name in more),
    )
    return f"{query} UNION ALL {wire}"


def known_clients_query(instances: str) -> str:
    """Return SQL of the view `known_clients`.

    Args:
        instances: Name of a view with the columns of known_instances.
    """
    return _CLIENTS_SQL.format(instances=instances)


def same_sql(left: str, right: str, columns: Collection[str]) -> str:
    """Return SQL that is true if two rows agree in all of the columns; null is one."""
    return " AND ".join(f"{left}.{name} <=> {right}.{name}" for name in columns)


def select_nothing(contract: TableContract) -> str:
    """Return SQL of no row of a table that does not exist."""
    nulls = ", ".join(
        f"CAST(NULL AS {one.sql_type}) AS `{one.name}`" for one in contract.columns
    )
    return f"SELECT {nulls} WHERE false"


def _relation(states: str) -> str:
    return states if " " in states else f"TABLE {states}"
