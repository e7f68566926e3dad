"""Brokers and their static configs as they are now, as views."""

from collections.abc import Collection

from pyspark.sql import SparkSession

from pipelines.tables.cluster import BROKER_REGISTRATIONS, BROKER_STATIC_CONFIGS

BROKERS = "brokers"
BROKER_CONFIGS = "broker_configs"
BROKER_VIEWS = (BROKERS, BROKER_CONFIGS)

_BROKERS_SQL = f"""
SELECT
  registrations.*,
  coalesce(configs.config_count, 0) AS config_count,
  CASE
    WHEN registrations.ended_at IS NOT NULL THEN 'gone'
    WHEN registrations.is_fenced THEN 'fenced'
    ELSE 'live'
  END AS state
FROM {BROKER_REGISTRATIONS.name} AS registrations
LEFT JOIN (
  SELECT cluster_id, broker_id, count(*) AS config_count
  FROM {BROKER_STATIC_CONFIGS.name}
  WHERE is_current
  GROUP BY cluster_id, broker_id
) AS configs
ON registrations.cluster_id = configs.cluster_id
  AND registrations.broker_id = configs.broker_id
WHERE registrations.is_current
"""  # noqa: S608 - names of our own contracts

# Who reports at its registration does not say what is a default.
_CONFIGS_SQL = f"""
SELECT
  configs.cluster_id,
  configs.broker_id,
  configs.config_name,
  configs.config_value,
  configs.config_type,
  CASE
    WHEN configs.is_default IS NULL THEN configs.report
    WHEN configs.is_default THEN 'default'
    ELSE 'static'
  END AS source,
  configs.effective_value,
  configs.effective_source,
  configs.valid_from,
  brokers.state
FROM {BROKER_STATIC_CONFIGS.name} AS configs
JOIN {BROKERS} AS brokers
ON configs.cluster_id = brokers.cluster_id AND configs.broker_id = brokers.broker_id
WHERE configs.is_current
"""  # noqa: S608 - as above


def register_brokers(spark: SparkSession, registered: Collection[str]) -> list[str]:
    """Register the views whose tables are; return their names."""
    if not {BROKER_REGISTRATIONS.name, BROKER_STATIC_CONFIGS.name} <= {*registered}:
        return []
    for name, query in zip(BROKER_VIEWS, (_BROKERS_SQL, _CONFIGS_SQL), strict=True):
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")
    return [*BROKER_VIEWS]
