"""`newest_values`: what each client instance reported last."""

from .metric_faults import metrics_fault_sql
from .view import View

NEWEST_VALUES = "newest_values"
# As reading.overview.select_newest_values; filters on its columns, but for those of
# the newest point, reach the files.
_NEWEST_VALUES_SQL = """
SELECT
  client_instance_id,
  client_id,
  metric,
  newest.value,
  newest.received_at,
  newest.metrics_fault
FROM (
  SELECT
    client_instance_id,
    client_id,
    metric,
    max(named_struct(
      'received_at', received_at, 'offset', offset, 'point_index', point_index,
      'value', coalesce(value_double, double(value_long)),
      'metrics_fault', {fault}
    )) AS newest
  FROM client_metrics
  WHERE (value_double IS NOT NULL OR value_long IS NOT NULL)
    AND NOT isnan(coalesce(value_double, double(value_long)))
  GROUP BY client_instance_id, client_id, metric
)
"""

VIEW = View(
    name=NEWEST_VALUES,
    row="A client instance and a metric, with the newest value, and "
    "`metrics_fault` if the client's metrics are known to be wrong.",
    sql=lambda _: _NEWEST_VALUES_SQL.format(fault=metrics_fault_sql()),
    needs=("client_metrics",),
    made_by="client_telemetry_to_delta",
)
