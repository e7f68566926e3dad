"""What readers see of client configurations, beside the tables themselves.

`client_config_entries` is one row a client instance and key, completed by what the
proxy has seen and by defaults;
`client_config_timeline` is the history with what telemetry says of clients that ended
(config_timeline_view).
Nothing here is stored: a default that is learned later shows at once.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .config_catalog_view import ALWAYS_SET, version_number_sql
from .config_timeline_view import timeline_query
from .config_value_sql import PARSED, TRIMMED
from .view import View
from .wire_config_views import FOUND_SQL, WIRE_VALUES

ENTRIES = "client_config_entries"
TIMELINE = "client_config_timeline"
PUSHED, DEFAULTS, CATALOG = "pushed", "config_defaults", "catalog"
"""Values of the column source, beside WIRE, which comes after PUSHED; the first one
that has a value for a key wins."""

_IDENTITY = """cluster_id, client_instance_id, client_id, principal,
  client_software_name, client_software_version, client_source_address, client_type,
  logical_client, received_at, push_id"""
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
    FROM config_defaults AS d LEFT JOIN config_catalog_names AS n
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
  SELECT * FROM client_configs
  WHERE NOT exists(map_values(configs), one -> one.is_default)
),
pushed AS (
  SELECT {_IDENTITY}, explode(configs) AS (config_key, entry)
  FROM client_configs
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
    FROM incomplete AS c JOIN config_catalog_releases AS r
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
  LEFT JOIN config_defaults AS d
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
"""


def without_typed_values(entries: DataFrame) -> DataFrame:
    """Return client_config_entries with typed values that are null.

    Typed values of defaults cost several regular expressions a row.
    """
    types = {name: entries.schema[name].dataType for name in PARSED}
    return entries.withColumns(
        {name: F.lit(None).cast(kind) for name, kind in types.items()}
    )


_JOB = "client_configs_to_delta"
CONFIG_VIEWS = (
    View(
        name=ENTRIES,
        row="A client instance and key: value, typed values, status and `source`.",
        sql=_ENTRIES_SQL.format(found=FOUND_SQL.format(identity=_IDENTITY)),
        needs=(
            *("client_configs", "config_defaults", WIRE_VALUES),
            *("config_catalog_releases", "config_catalog_names"),
        ),
        made_by=_JOB,
    ),
    View(
        name=TIMELINE,
        row="A value of a key of a logical client and its time, closed where "
        "telemetry says that all of its instances have ended, those excepted that "
        "pushed something else before.",
        sql=lambda sources: timeline_query(sources.registered),
        needs=("client_configs", "client_config_history"),
        uses=("known_instances", "client_config_pushes", "config_defaults"),
        made_by=_JOB,
    ),
)
