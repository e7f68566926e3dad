"""Defaults of each kind of client that pushed a configuration, as one map per kind."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from .config_catalog_view import ALWAYS_SET, version_number_sql

KIND = ("client_software_name", "client_software_version", "client_type")
_DEFAULTS_SQL = """
WITH kinds AS (
  SELECT DISTINCT client_software_name, client_software_version, client_type
  FROM client_configs WHERE client_type IS NOT NULL
),
stated AS (
  SELECT k.*, d.config_key, d.default_value AS value, 'config_defaults' AS source,
    0 AS place
  FROM kinds AS k JOIN config_defaults AS d USING
    (client_software_name, client_software_version, client_type)
UNION ALL
  SELECT client_software_name, client_software_version, client_type, config_key,
    default_value, 'catalog', 1
  FROM (
    SELECT k.*, c.config_key, c.default_value, rank() OVER (
      PARTITION BY k.client_software_name, k.client_software_version, k.client_type
      ORDER BY abs(version_number(c.catalog_version)
        - version_number(k.client_software_version)) NULLS LAST,
        version_number(c.catalog_version) DESC
    ) AS nearest
    FROM kinds AS k JOIN config_catalog AS c USING
      (client_software_name, client_type)
  ) WHERE nearest = 1
)
SELECT client_software_name, client_software_version, client_type,
  map_from_entries(collect_list(struct(config_key, stated))) AS base
FROM (
  SELECT client_software_name, client_software_version, client_type, config_key,
    min_by(struct(value, source), place) AS stated
  FROM stated
  WHERE value <> '' AND config_key IN ({keys}) AND config_key NOT IN ({never})
  GROUP BY ALL
)
GROUP BY ALL
"""
_VERSION_SQL = """
CREATE OR REPLACE TEMPORARY FUNCTION version_number(version STRING) RETURNS BIGINT
RETURN {number}
"""


def register_version_number(spark: SparkSession) -> None:
    """Register the SQL function version_number: a version as one comparable number."""
    spark.sql(_VERSION_SQL.format(number=version_number_sql("version")))


def known_defaults_query(keys: Sequence[str]) -> str:
    """Return the SQL of one row per kind of client: KIND and base.

    base is a map from each key to its default value and the source of that default. It
    needs the function that register_version_number registers.
    """
    return _DEFAULTS_SQL.format(keys=_listed(keys), never=_listed(sorted(ALWAYS_SET)))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
