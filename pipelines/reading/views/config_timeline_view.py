"""The view `client_config_timeline`: the history, closed where telemetry knows more.

Strategy: a row that is open in the table has a holder that did not push anew. It is
closed once each of its holders has ended, or has pushed something else meanwhile. Who
did the latter is seen in client_configs; when, only the ledger tells, which is read for
those few holders alone.
"""

from collections.abc import Collection

from pipelines.tables.configs import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
)

_ROW = ", ".join(CLIENT_CONFIG_HISTORY.merge_key)
_HELD_ROW = ", ".join(f"held.{name}" for name in CLIENT_CONFIG_HISTORY.merge_key)
# As the job has it: values are the same where their texts are, or where both are
# hidden, and under another principal or client id it is another client's value.
_SAME_CLIENT = "{0}.principal = held.principal AND {0}.client_id <=> held.client_id"
# A holder that client_configs does not know has not pushed anything else. An instance
# without telemetry has no known end, and neither has one that pushed a configuration
# after its end. If a reference to a default has no value, the query reads the ledger.
# Both readers of `finished` take the same columns: Spark then works it out once.
_TIMELINE_SQL = f"""
WITH held AS (
  SELECT {_ROW}, principal, client_id, config_value,
    explode(client_instance_ids) AS client_instance_id
  FROM {CLIENT_CONFIG_HISTORY.name} WHERE is_current
),
ends AS (
  SELECT client_instance_id, ended_at FROM known_instances WHERE ended_at IS NOT NULL
),
seen AS (
  SELECT held.*, ends.ended_at,
    c.client_instance_id IS NULL OR coalesce(
      {_SAME_CLIENT.format("c")} AND IF(
        c.configs[held.config_key].status = 'redacted',
        held.config_value IS NULL,
        coalesce(c.configs[held.config_key].config_value, d.default_value)
          = held.config_value
      ), false) AS is_kept
  FROM held
  LEFT JOIN ends ON held.client_instance_id = ends.client_instance_id
  LEFT JOIN {CLIENT_CONFIGS.name} AS c
    ON held.client_instance_id = c.client_instance_id
  LEFT JOIN {CONFIG_DEFAULTS.name} AS d
    ON held.config_key = d.config_key
    AND map_contains_key(c.configs, held.config_key)
    AND c.client_software_name = d.client_software_name
    AND c.client_software_version = d.client_software_version
    AND coalesce(c.client_type, '') = d.client_type
),
finished AS (
  SELECT {_ROW}, max(IF(is_kept, ended_at, NULL)) AS kept_to,
    collect_list(IF(is_kept, NULL, struct(
      client_instance_id, ended_at, principal, client_id, config_value
    ))) AS movers
  FROM seen GROUP BY {_ROW}
  HAVING count_if(is_kept AND ended_at IS NULL) = 0 AND count(ended_at) > 0
),
turns AS (
  SELECT /*+ BROADCAST(held) */ {_HELD_ROW}, held.kept_to, held.movers_count,
    held.client_instance_id, held.ended_at, l.received_at,
    struct(l.received_at, l.push_id) AS turn,
    {_SAME_CLIENT.format("l")} AND exists(l.configs, one ->
      one.config_key = held.config_key AND one.config_value <=> held.config_value
    ) AS has_value
  FROM (
    SELECT {_ROW}, kept_to, size(movers) AS movers_count, inline(movers) FROM finished
  ) AS held
  JOIN {CLIENT_CONFIG_PUSHES.name} AS l
    ON held.client_instance_id = l.client_instance_id AND l.decode_status = 'ok'
),
stops AS (
  SELECT {_ROW}, kept_to, movers_count, coalesce(
    min(IF(turn > last_turn, received_at, NULL)), max(ended_at)
  ) AS stopped_at
  FROM (
    SELECT *, max(IF(has_value, turn, NULL))
      OVER (PARTITION BY {_ROW}, client_instance_id) AS last_turn
    FROM turns
  )
  GROUP BY {_ROW}, kept_to, movers_count, client_instance_id
),
closed AS (
  SELECT {_ROW}, kept_to AS ended_at FROM finished WHERE size(movers) = 0
UNION ALL
  SELECT {_ROW}, greatest(kept_to, max(stopped_at)) AS ended_at
  FROM stops GROUP BY {_ROW}, kept_to, movers_count
  HAVING count(stopped_at) = movers_count
)
SELECT {{columns}}
FROM {CLIENT_CONFIG_HISTORY.name} AS h LEFT JOIN closed
  ON h.logical_client = closed.logical_client AND h.config_key = closed.config_key
  AND h.value_id = closed.value_id AND h.valid_from = closed.valid_from
"""
_CLOSING = {
    # Of a null and a time, greatest() takes the time.
    "valid_to": "CASE WHEN closed.ended_at IS NULL THEN h.valid_to "
    "ELSE greatest(h.valid_from, closed.ended_at) END AS valid_to",
    "is_current": "h.is_current AND closed.ended_at IS NULL AS is_current",
}
_NEEDED = frozenset(
    one.name
    for one in (
        CLIENT_CONFIGS,
        CLIENT_CONFIG_HISTORY,
        CLIENT_CONFIG_PUSHES,
        CONFIG_DEFAULTS,
    )
)


def timeline_query(registered: Collection[str]) -> str:
    """Return the SQL of the view.

    Args:
        registered: Names of the tables and views that exist; without a table of
            configurations, no end is known.
    """
    if not _NEEDED.issubset(registered):
        return f"SELECT * FROM {CLIENT_CONFIG_HISTORY.name}"
    columns = ", ".join(
        _CLOSING.get(name, f"h.{name}") for name in CLIENT_CONFIG_HISTORY.column_names
    )
    return _TIMELINE_SQL.format(columns=columns)
