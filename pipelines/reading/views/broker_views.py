"""Brokers and their static configs as they are now, as views."""

from .view import View

BROKERS = "brokers"
BROKER_CONFIGS = "broker_configs"
_JOB = "cluster_metadata_to_delta"

_BROKERS_SQL = """
SELECT
  registrations.*,
  coalesce(configs.config_count, 0) AS config_count,
  CASE
    WHEN registrations.ended_at IS NOT NULL THEN 'gone'
    WHEN registrations.is_fenced THEN 'fenced'
    ELSE 'live'
  END AS state
FROM broker_registrations AS registrations
LEFT JOIN (
  SELECT cluster_id, broker_id, count(*) AS config_count
  FROM broker_static_configs
  WHERE is_current
  GROUP BY cluster_id, broker_id
) AS configs
ON registrations.cluster_id = configs.cluster_id
  AND registrations.broker_id = configs.broker_id
WHERE registrations.is_current
"""

# Who reports at its registration does not say what is a default.
_CONFIGS_SQL = """
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
FROM broker_static_configs AS configs
JOIN brokers AS brokers
ON configs.cluster_id = brokers.cluster_id AND configs.broker_id = brokers.broker_id
WHERE configs.is_current
"""

BROKER_VIEWS = (
    View(
        name=BROKERS,
        row="A broker, by its newest registration, with its state: `live`, `fenced` or "
        "`gone`, and how many static configs of it are known.",
        sql=_BROKERS_SQL,
        needs=("broker_registrations", "broker_static_configs"),
        made_by=_JOB,
    ),
    View(
        name=BROKER_CONFIGS,
        row="A static config of a broker now, its `source` (`static`, `default`, or "
        "`registration`, which does not say), and what is in force.",
        sql=_CONFIGS_SQL,
        needs=(BROKERS, "broker_static_configs"),
        made_by=_JOB,
    ),
)
