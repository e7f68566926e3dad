"""The SQL of what rules see: who is there, what is known by defaults, what was pushed.

Texts only; `client_rows` fills in times, keys and metrics.
"""

from pipelines.reading.views.client_config_views import CATALOG, DEFAULTS
from pipelines.reading.views.client_software_views import (
    FAMILY_SQL,
    VENDOR_BUILD_SQL,
)
from pipelines.reading.views.config_catalog_view import (
    CONFIG_CATALOG,
    version_number_sql,
)
from pipelines.tables.configs import CLIENT_CONFIGS, CONFIG_DEFAULTS
from pipelines.tables.telemetry import (
    CLIENT_METRICS,
    CLIENT_PUSHES,
    SILENT_AFTER_INTERVALS,
)

POINTS, PREFIX = "points", "org.apache.kafka."
VERSION_FUNCTION = f"""
CREATE OR REPLACE TEMPORARY FUNCTION version_number(version STRING) RETURNS BIGINT
RETURN {version_number_sql("version")}
"""
_WIRE_ID = """md5(concat_ws('\\n', principal, coalesce(client_id, '\\t'),
  client_source_address, coalesce(client_type, '')))"""
POOL_SQL = f"""
WITH recent AS (
  SELECT client_instance_id, max(received_at) AS last_push, count(*) AS pushes,
    count_if(received_at >= {{since}}) AS window_pushes
  FROM {CLIENT_PUSHES.name}
  WHERE event_date >= date({{earliest}})
    AND received_at BETWEEN {{earliest}} AND {{now}}
  GROUP BY client_instance_id
),
told AS (
  SELECT i.*, r.last_push, r.pushes, r.window_pushes,
    i.terminated_at IS NULL AND timestampadd(MILLISECOND,
      {SILENT_AFTER_INTERVALS} * bigint(i.push_interval_ms), r.last_push
    ) >= {{now}} AS is_live
  FROM {{instances}} AS i LEFT JOIN recent AS r
    ON i.client_instance_id = r.client_instance_id
),
known AS (
  SELECT coalesce(t.client_instance_id, c.client_instance_id) AS client_instance_id,
    coalesce(t.cluster_id, c.cluster_id) AS cluster_id,
    coalesce(c.logical_client, t.logical_client) AS logical_client,
    coalesce(t.client_id, c.client_id) AS client_id,
    coalesce(t.principal, c.principal) AS principal,
    coalesce(t.client_source_address, c.client_source_address)
      AS client_source_address,
    coalesce(t.client_type, c.client_type) AS client_type,
    t.group_id, t.group_instance_id, t.transactional_id, t.client_rack,
    coalesce(t.client_software_name, c.client_software_name) AS client_software_name,
    coalesce(t.client_software_version, c.client_software_version)
      AS client_software_version,
    t.push_interval_ms, coalesce(t.first_seen, c.received_at) AS first_seen,
    coalesce(t.last_push, c.received_at) AS last_push,
    coalesce(t.pushes, 0) AS pushes, coalesce(t.window_pushes, 0) AS window_pushes,
    IF(t.client_instance_id IS NULL, '{{pushed_by}}', 'telemetry') AS known_by,
    c.configs
  FROM told AS t FULL OUTER JOIN {CLIENT_CONFIGS.name} AS c
    ON t.client_instance_id = c.client_instance_id
  WHERE t.is_live OR (t.client_instance_id IS NULL AND
    c.received_at BETWEEN {{observed}} AND {{now}})
),
{{shown}},
seen_only AS (
  SELECT {_WIRE_ID} AS client_instance_id, max(cluster_id) AS cluster_id,
    max(logical_client) AS logical_client, client_id, principal,
    client_source_address, client_type,
    CAST(NULL AS STRING) AS group_id, CAST(NULL AS STRING) AS group_instance_id,
    CAST(NULL AS STRING) AS transactional_id, CAST(NULL AS STRING) AS client_rack,
    max_by(client_software_name, received_at) AS client_software_name,
    max_by(client_software_version, received_at) AS client_software_version,
    CAST(NULL AS INT) AS push_interval_ms, max(received_at) AS first_seen,
    max(received_at) AS last_push, 0L AS pushes, 0L AS window_pushes,
    'wire' AS known_by, NULL AS configs
  FROM shown WHERE client_instance_id IS NULL
  GROUP BY principal, client_id, client_source_address, client_type
  HAVING max(received_at) BETWEEN {{observed}} AND {{now}}
),
pool AS (
  SELECT *, {FAMILY_SQL} AS family,
    coalesce({VENDOR_BUILD_SQL}, false) AS is_vendor_build
  FROM (SELECT * FROM known UNION ALL SELECT * FROM seen_only)
),
wired AS (
  SELECT client_instance_id,
    map_from_entries(collect_list(struct(config_key, config_value))) AS wired
  FROM (
    -- One instance may have been seen at two addresses.
    SELECT coalesce(client_instance_id, {_WIRE_ID}) AS client_instance_id, config_key,
      max_by(config_value, received_at) AS config_value
    FROM shown WHERE config_key IN ({{keys}}) GROUP BY 1, 2
  ) GROUP BY client_instance_id
)
SELECT pool.*, wired.wired, bases.base,
  IF(is_vendor_build, NULL, version_number(pool.client_software_version))
    AS core_version
FROM pool LEFT JOIN wired ON pool.client_instance_id = wired.client_instance_id
LEFT JOIN {{bases}} AS bases
  ON pool.client_software_name = bases.client_software_name
  AND pool.client_software_version = bases.client_software_version
  AND pool.client_type = bases.client_type
"""  # noqa: S608 - names of our own contracts, and times
BASES_SQL = f"""
WITH kinds AS (
  SELECT DISTINCT client_software_name, client_software_version, client_type
  FROM {CLIENT_CONFIGS.name} WHERE client_type IS NOT NULL
),
stated AS (
  SELECT k.*, d.config_key, d.default_value AS value, '{DEFAULTS}' AS source, 0 AS place
  FROM kinds AS k JOIN {CONFIG_DEFAULTS.name} AS d USING
    (client_software_name, client_software_version, client_type)
UNION ALL
  SELECT client_software_name, client_software_version, client_type, config_key,
    default_value, '{CATALOG}', 1
  FROM (
    SELECT k.*, c.config_key, c.default_value, rank() OVER (
      PARTITION BY k.client_software_name, k.client_software_version, k.client_type
      ORDER BY abs(version_number(c.catalog_version)
        - version_number(k.client_software_version)) NULLS LAST,
        version_number(c.catalog_version) DESC
    ) AS nearest
    FROM kinds AS k JOIN {CONFIG_CATALOG} AS c USING
      (client_software_name, client_type)
  ) WHERE nearest = 1
)
SELECT client_software_name, client_software_version, client_type,
  map_from_entries(collect_list(struct(config_key, stated))) AS base
FROM (
  SELECT client_software_name, client_software_version, client_type, config_key,
    min_by(struct(value, source), place) AS stated
  FROM stated
  WHERE value <> '' AND config_key IN ({{keys}}) AND config_key NOT IN ({{never}})
  GROUP BY ALL
)
GROUP BY ALL
"""  # noqa: S608 - names of our own contracts
POINTS_SQL = f"""
SELECT * EXCEPT (metric), substring(metric, {len(PREFIX) + 1}) AS metric,
  nanvl(coalesce(value_double, double(value_long)), NULL) AS value
FROM {CLIENT_METRICS.name}
WHERE event_date >= date({{since}}) AND received_at BETWEEN {{since}} AND {{now}}
  AND metric IN ({{metrics}})
"""  # noqa: S608 - names of our own contracts
REPORTS_SQL = f"""
SELECT client_instance_id,
  map_from_entries(collect_list(struct(metric, told))) AS told
FROM (
  SELECT client_instance_id, metric, struct(
    max(received_at) AS at, max_by(value, received_at) AS newest,
    IF(max(kind) = 'sum' AND max(temporality) = 'cumulative',
      max(value) - min(value), sum(value)) AS total,
    count(*) AS pushes, count_if(value > 0) AS positive,
    min_by(value, received_at) AS first, max_by(value, received_at) AS last,
    min(value) AS min, max(value) AS max) AS told
  FROM {POINTS}
  WHERE topic_name IS NULL AND node_id IS NULL AND topic_partition IS NULL
    AND value IS NOT NULL
  GROUP BY client_instance_id, metric
)
GROUP BY client_instance_id
"""  # noqa: S608 - names of our own
