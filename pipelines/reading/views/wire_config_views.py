"""Configurations seen on the wire, as part of the view `client_config_entries`.

A value belongs to the newest active client instance with the same cluster, principal,
client ID, source address and client type. Without one it belongs to a client that only
the proxy knows. What an instance has pushed wins, whatever it calls the key; what was
seen wins over defaults.
"""

from collections.abc import Collection

from pipelines.reading.client_states import (
    NOW,
    SOURCES,
    held_values_query,
    recent_sql,
    select_nothing,
    states_query,
)
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

from .view import Sources, View

WIRE_VALUES = "client_wire_values"
WIRE = "wire"
"""Value of the column source."""
SEEN = "seen"
"""Status of a value that was seen: whether it is a default, the wire does not show."""

_VALUES_SQL = "SELECT * EXCEPT (wire_client, is_exact) FROM ({held}) WHERE is_exact"
FOUND_SQL = f"""
wire AS (
  SELECT shown.* FROM client_wire_values AS shown LEFT JOIN client_configs AS c
    ON shown.client_instance_id = c.client_instance_id
  WHERE c.client_instance_id IS NULL OR NOT (
    map_contains_key(c.configs, shown.config_key)
    OR arrays_overlap(map_keys(c.configs), shown.other_names)
  )
),
found AS (
  SELECT completed.* FROM completed LEFT ANTI JOIN wire
    ON completed.client_instance_id = wire.client_instance_id
    AND NOT completed.is_pushed AND (
      completed.config_key = wire.config_key
      OR array_contains(wire.other_names, completed.config_key)
    )
UNION ALL
  SELECT {{identity}}, config_key, config_value, config_type,
    CAST(NULL AS BOOLEAN), IF(config_value IS NULL, 'redacted', '{SEEN}'), false,
    '{WIRE}', NULL, NULL, false
  FROM wire
)
"""
"""Common table expressions `wire` and `found`: all entries, with those of the wire.

They read `completed`, the other entries; identity is the columns that say whose."""


def wire_values_query(
    registered: Collection[str],
    *,
    now: str = NOW,
    expire_after_hours: int,
    states: str | None = None,
) -> str:
    """Return SQL of the exact values of client_wire_configs, and whose they are.

    Args:
        registered: Names of the tables and views that exist.
        now: As in states_query, with expire_after_hours.
        states: Name of a view with the rows of states_query; null: made here.
    """
    states = states or states_query(
        registered,
        now=now,
        expire_after_hours=expire_after_hours,
        since=recent_sql(now),
    )
    query = _VALUES_SQL.format(held=held_values_query(states))
    if CLIENT_WIRE_CONFIGS.name in registered:
        return query
    return (
        f"WITH client_wire_configs AS ({select_nothing(CLIENT_WIRE_CONFIGS)}) {query}"
    )


def _query(sources: Sources) -> str:
    return wire_values_query(
        sources.registered,
        now=sources.now,
        expire_after_hours=sources.settings.findings.observed_hours,
    )


VIEW = View(
    name=WIRE_VALUES,
    sql=_query,
    uses=tuple(one.name for one in SOURCES),
    made_by="client_wire_configs_to_delta",
)
