"""The SQL of what rules see: who is there, what is known by defaults, what was pushed.

Texts only; `client_rows` fills in times, keys and metrics.
"""

from pipelines.reading.views.client_config_views import CATALOG, DEFAULTS
from pipelines.reading.views.config_catalog_view import (
    CONFIG_CATALOG,
    version_number_sql,
)
from pipelines.tables.configs import CLIENT_CONFIGS, CONFIG_DEFAULTS
from pipelines.tables.telemetry import CLIENT_METRICS

POINTS, PREFIX = "points", "org.apache.kafka."
VERSION_FUNCTION = f"""
CREATE OR REPLACE TEMPORARY FUNCTION version_number(version STRING) RETURNS BIGINT
RETURN {version_number_sql("version")}
"""
POOL_SQL = """
SELECT pool.*, bases.base,
  IF(is_vendor_build, NULL, version_number(pool.client_software_version))
    AS core_version
FROM {pool} AS pool LEFT JOIN {bases} AS bases
  ON pool.client_software_name = bases.client_software_name
  AND pool.client_software_version = bases.client_software_version
  AND pool.client_type = bases.client_type
"""
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
