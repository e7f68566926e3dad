"""What readers see of client configurations, beside the tables themselves.

`client_config_entries` is one row a client instance and key, completed by what the
proxy has seen and by defaults;
`client_config_timeline` is the history with what telemetry says of clients that ended
(config_timeline_view).
Nothing here is stored: a default that is learned later shows at once.
"""

from collections.abc import Collection

from pyspark.sql import SparkSession

from pipelines.settings.records import Settings
from pipelines.tables.configs import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
)

from .client_config_disagreements import register_disagreements
from .client_config_functions import register_functions
from .config_catalog_view import (
    ALWAYS_SET,
    NAMES,
    RELEASES,
    register_catalog,
    version_number_sql,
)
from .config_timeline_view import timeline_query
from .config_value_sql import PARSED, TRIMMED
from .effective_configs_view import register_effective_configs
from .wire_config_views import found_entries_sql

ENTRIES = "client_config_entries"
TIMELINE = "client_config_timeline"
PUSHED, DEFAULTS, CATALOG = "pushed", "config_defaults", "catalog"
"""Values of the column source, beside WIRE, which comes after PUSHED; the first one
that has a value for a key wins."""

_IDENTITY = """client_instance_id, client_id, principal, client_software_name,
  client_software_version, client_source_address, client_type, logical_client,
  received_at, push_id"""
_SAME_SOFTWARE = """c.client_software_name = d.client_software_name
    AND c.client_software_version = d.client_software_version
    AND coalesce(c.client_type, '') = d.client_type"""
# Every client has its own; no default of another says anything of it.
_ALWAYS_SET_SQL = ", ".join(f"'{name}'" for name in sorted(ALWAYS_SET))
_VALUES = ", ".join(
    f"IF(is_parsed, entry.{name}, {parsed}) AS {name}"
    for name, parsed in PARSED.items()
)
# Of learned defaults that are one config by several names the one learned first counts.
_ENTRIES_SQL = f"""
WITH learned AS (
  SELECT * EXCEPT (place) FROM (
    SELECT d.*, coalesce(n.other_names, array()) AS other_names, row_number() OVER (
      PARTITION BY d.client_software_name, d.client_software_version, d.client_type,
        array_min(array_append(coalesce(n.other_names, array()), d.config_key))
      ORDER BY d.first_seen, d.config_key
    ) AS place
    FROM {CONFIG_DEFAULTS.name} AS d LEFT JOIN {NAMES} AS n
      ON d.client_software_name = n.client_software_name
      AND d.client_type = n.client_type AND d.config_key = n.config_key
    WHERE d.config_key NOT IN ({_ALWAYS_SET_SQL}) AND NOT coalesce(n.is_hidden, false)
  ) WHERE place = 1
),
learned_names AS (
  SELECT client_software_name, client_software_version, client_type,
    explode(array_append(other_names, config_key)) AS config_key
  FROM learned
),
incomplete AS (
  SELECT * FROM {CLIENT_CONFIGS.name}
  WHERE NOT exists(map_values(configs), one -> one.is_default)
),
pushed AS (
  SELECT {_IDENTITY}, explode(configs) AS (config_key, entry)
  FROM {CLIENT_CONFIGS.name}
),
nearest AS (
  SELECT {_IDENTITY}, map_keys(configs) AS pushed_keys, array_min(transform(
    releases, one -> named_struct(
      'distance', coalesce(abs(one.number - version_number), 0),
      'age', -one.number, 'release', one
    )
  )).release AS release
  FROM (
    SELECT /*+ BROADCAST(r) */ c.*, r.releases,
      {version_number_sql("c.client_software_version")} AS version_number
    FROM incomplete AS c JOIN {RELEASES} AS r
      ON c.client_software_name = r.client_software_name
      AND c.client_type = r.client_type
  )
),
catalogued AS (
  SELECT {_IDENTITY}, pushed_keys, release.catalog_version,
    explode(release.entries) AS entry
  FROM nearest
),
completed AS (
  SELECT {", ".join(f"c.{name.strip()}" for name in _IDENTITY.split(","))},
    c.config_key,
    coalesce(entry.config_value, IF(status = 'default', default_value, NULL))
      AS config_value,
    coalesce(entry.config_type, d.config_type) AS config_type,
    entry.is_default, entry.status, true AS is_pushed,
    IF(entry.config_value IS NULL AND status = 'default' AND default_value IS NOT NULL,
      '{DEFAULTS}', '{PUSHED}') AS source,
    CAST(NULL AS STRING) AS catalog_version, entry,
    entry.config_value IS NOT NULL OR status <> 'default' AS is_parsed
  FROM (SELECT *, entry.status FROM pushed) AS c
  LEFT JOIN {CONFIG_DEFAULTS.name} AS d
    ON {_SAME_SOFTWARE} AND c.config_key = d.config_key
UNION ALL
  SELECT {", ".join(f"c.{name.strip()}" for name in _IDENTITY.split(","))},
    d.config_key, d.default_value, d.config_type, true, 'default', false,
    '{DEFAULTS}', NULL, NULL, false
  FROM incomplete AS c JOIN learned AS d ON {_SAME_SOFTWARE}
  WHERE c.client_type IS NOT NULL AND NOT map_contains_key(c.configs, d.config_key)
    AND NOT arrays_overlap(map_keys(c.configs), d.other_names)
UNION ALL
  SELECT {", ".join(f"c.{name.strip()}" for name in _IDENTITY.split(","))},
    c.entry.config_key, c.entry.config_value, c.entry.config_type, true, 'default',
    false, '{CATALOG}', c.catalog_version, NULL, false
  FROM catalogued AS c LEFT ANTI JOIN learned_names AS d
    ON {_SAME_SOFTWARE} AND c.entry.config_key = d.config_key
  WHERE NOT array_contains(c.pushed_keys, c.entry.config_key)
    AND NOT arrays_overlap(c.pushed_keys, c.entry.other_names)
),
{{found}}
SELECT {_IDENTITY}, config_key, config_value, config_type, is_default, status,
  {_VALUES}, source, is_pushed, catalog_version
FROM (SELECT *, {TRIMMED} AS trimmed FROM found)
"""  # noqa: S608 - names of our own contracts


def register_client_configs(
    spark: SparkSession,
    settings: Settings,
    registered: Collection[str],
    *,
    clients: str,
    silent_after: int,
    with_functions: bool,
) -> list[str]:
    """Register the views whose tables are registered; return their names.

    Args:
        settings: Say which keys are sensitive, and which software has which catalog.
        registered: Names of tables and views that there are.
        clients: The view of client instances; without it nobody is known to have ended.
        silent_after: Push intervals without a push before a client counts as silent.
        with_functions: Whether those of SQL are wanted, too; they take seconds.
    """
    made = []
    if {CLIENT_CONFIGS.name, CONFIG_DEFAULTS.name} <= set(registered):
        made += register_catalog(spark, settings)
        found = found_entries_sql(registered, _IDENTITY)
        made.append(_make_view(spark, ENTRIES, _ENTRIES_SQL.format(found=found)))
        telling = clients if clients in registered else None
        made.append(register_disagreements(spark, ENTRIES, telling))
        made += register_effective_configs(spark, [*registered, *made], entries=ENTRIES)
    if {CLIENT_CONFIGS.name, CLIENT_CONFIG_HISTORY.name} <= set(registered):
        query = timeline_query(registered, clients=clients, silent_after=silent_after)
        made.append(_make_view(spark, TIMELINE, query))
    told = {ENTRIES, TIMELINE} <= set(made) and CLIENT_CONFIG_PUSHES.name in registered
    if with_functions and told:
        register_functions(spark)
    return made


def _make_view(spark: SparkSession, name: str, query: str) -> str:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")
    return name
