"""`newest_values`: what each client instance reported last."""

from .metric_faults import METRICS_FAULT, metrics_fault_sql

NEWEST_VALUES = "newest_values"
# As reading.overview.select_newest_values; filters on its columns, but for those of
# the newest point, reach the files.
_NEWEST_VALUES_SQL = f"""
SELECT
  client_instance_id,
  client_id,
  metric,
  newest.value,
  newest.received_at,
  newest.{METRICS_FAULT}
FROM (
  SELECT
    client_instance_id,
    client_id,
    metric,
    max(named_struct(
      'received_at', received_at, 'offset', offset, 'point_index', point_index,
      'value', coalesce(value_double, double(value_long)),
      '{METRICS_FAULT}', {{fault}}
    )) AS newest
  FROM {{metrics}}
  WHERE (value_double IS NOT NULL OR value_long IS NOT NULL)
    AND NOT isnan(coalesce(value_double, double(value_long)))
  GROUP BY client_instance_id, client_id, metric
)
"""  # noqa: S608 - names of our own contracts


def newest_values_query(metrics: str) -> str:
    """Return the SQL of the view.

    Args:
        metrics: SQL identifier of client_metrics.
    """
    return _NEWEST_VALUES_SQL.format(metrics=metrics, fault=metrics_fault_sql())
