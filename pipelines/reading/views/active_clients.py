"""Active instances with the configurations that are known of them, computed once.

The query reads only the pushes that active instances are known by, never all of them.
"""

from collections.abc import Collection, Sequence

from pyspark.sql import DataFrame, SparkSession

from pipelines.reading.client_states import (
    INSTANCE_COLUMNS,
    INSTANCE_KEY,
    known_instances_query,
    recent_sql,
    states_query,
)

from .client_software_views import FAMILY_SQL, VENDOR_BUILD_SQL
from .wire_config_views import wire_values_query

_STATES = "active_client_states"
# What the proxy saw of a terminated instance is older than its end.
_IS_NEEDED = """state = 'active' OR (state = 'terminated'
  AND terminated_at >= timestampadd(HOUR, -{hours}, {now}))"""
_ACTIVE_SQL = """
WITH instances AS (
  SELECT *, {key} AS instance_key, {family} AS family,
    coalesce({vendor_build}, false) AS is_vendor_build
  FROM ({known}) WHERE state = 'active'
),
wired AS (
  SELECT instance_key,
    map_from_entries(collect_list(struct(config_key, config_value))) AS wired
  FROM (
    SELECT {key} AS instance_key, config_key,
      max_by(config_value, received_at) AS config_value
    FROM ({wire_values}) WHERE config_key IN ({keys}) GROUP BY 1, 2
  ) GROUP BY instance_key
)
SELECT coalesce(i.client_instance_id, md5(i.instance_key)) AS client_instance_id,
  i.* EXCEPT (client_instance_id, instance_key, first_seen, last_push),
  coalesce(i.first_seen, i.last_seen) AS first_seen,
  coalesce(i.last_push, i.last_seen) AS last_push,
  c.configs, w.wired
FROM instances AS i
LEFT JOIN client_configs AS c ON i.client_instance_id = c.client_instance_id
LEFT JOIN wired AS w ON i.instance_key = w.instance_key
"""


def select_active_clients(
    spark: SparkSession,
    registered: Collection[str],
    *,
    now: str,
    expire_after_hours: int,
    since: str,
    window_start: str,
    keys: Sequence[str],
) -> DataFrame:
    """Return the active instances, and the clients that only the proxy knows.

    Args:
        spark: Session with the tables registered under their names.
        registered: Names of those tables.
        now: SQL for the time of the states.
        expire_after_hours: As in client_states.states_query.
        since: SQL for the start of the pushes that `pushes` counts.
        window_start: SQL for the start of window_pushes; it may read columns of
            client_pushes.
        keys: Keys to read of what the proxy saw.
    Returns: The columns of known_instances, window_pushes, family, is_vendor_build,
        configs (pushed configuration) and wired (key to the value that the proxy saw).
    Shape: One row per instance. client_instance_id is a hash if only the proxy knows
        the client. first_seen and last_push fall back to last_seen.
    """
    states = states_query(
        registered,
        now=now,
        expire_after_hours=expire_after_hours,
        since=f"least({recent_sql(now)}, {since})",
        window_start=window_start,
    )
    # Three parts of the query read them.
    spark.sql(states).where(
        _IS_NEEDED.format(now=now, hours=expire_after_hours)
    ).select(
        *INSTANCE_COLUMNS, "window_pushes"
    ).localCheckpoint().createOrReplaceTempView(_STATES)
    known = known_instances_query(
        registered,
        now=now,
        expire_after_hours=expire_after_hours,
        states=_STATES,
        more=("window_pushes",),
    )
    wire_values = wire_values_query(
        registered, now=now, expire_after_hours=expire_after_hours, states=_STATES
    )
    return spark.sql(
        _ACTIVE_SQL.format(
            key=INSTANCE_KEY,
            known=known,
            wire_values=wire_values,
            keys=", ".join(f"'{key}'" for key in keys) or "''",
            family=FAMILY_SQL,
            vendor_build=VENDOR_BUILD_SQL,
        )
    )
