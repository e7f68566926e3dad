"""Configurations seen on the wire, as part of the view `client_config_entries`.

A row belongs to the newest client instance that is known by the same principal, client
id, source address and client type: by its push, or by its telemetry. What an instance
has pushed wins, whatever it calls the key; what was seen wins over defaults.
"""

from collections.abc import Collection

from pipelines.reading.wire_entries import IS_EXACT_SQL
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.telemetry import CLIENT_INSTANCES
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

WIRE = "wire"
"""Value of the column source."""
SEEN = "seen"
"""Status of a value that was seen: whether it is a default, the wire does not show."""

_WHO = "principal, client_id, client_source_address, client_type"
_SHOWN_SQL = f"""
holders AS (
  SELECT {_WHO}, max_by(client_instance_id, since) AS client_instance_id
  FROM ({{known}}) GROUP BY {_WHO}
),
shown AS (
  SELECT h.client_instance_id, w.* EXCEPT (wire_client, is_exact)
  FROM {CLIENT_WIRE_CONFIGS.name} AS w LEFT JOIN holders AS h
    ON w.principal = h.principal AND w.client_id <=> h.client_id
    AND w.client_source_address = h.client_source_address
    AND w.client_type = h.client_type
  WHERE {IS_EXACT_SQL}
)
"""
_WIRE_SQL = f"""
{{shown}},
wire AS (
  SELECT shown.* FROM shown LEFT JOIN {CLIENT_CONFIGS.name} AS c
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
_PUSHED_SQL = (
    f"SELECT {_WHO}, client_instance_id, received_at AS since "
    f"FROM {CLIENT_CONFIGS.name}"
)
_TELEMETRY_SQL = (
    f"SELECT {_WHO}, client_instance_id, first_seen AS since "
    f"FROM {CLIENT_INSTANCES.name}"
)


def found_entries_sql(registered: Collection[str], identity: str) -> str:
    """Return the common table expression `found`, and those that it needs.

    Args:
        registered: Names of tables and views that there are.
        identity: Columns that say whose entry it is, by commas.
    Returns: SQL that reads `completed`, the entries without those of the wire.
    """
    if CLIENT_WIRE_CONFIGS.name not in registered:
        return "found AS (SELECT * FROM completed)"
    return _WIRE_SQL.format(shown=shown_values_sql(registered), identity=identity)


def shown_values_sql(registered: Collection[str]) -> str:
    """Return the common table expression `shown`, and the one that it needs.

    Args:
        registered: Names of tables and views that there are.
    Returns: SQL of what the wire has shown, with the client instance that it is of;
        null where that is not known.
    """
    known = [_PUSHED_SQL]
    if CLIENT_INSTANCES.name in registered:
        known.append(_TELEMETRY_SQL)
    return _SHOWN_SQL.format(known=" UNION ALL ".join(known))
