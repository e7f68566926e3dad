"""`clients`: one row per client instance that pushes telemetry, with its state."""

from pipelines.tables.telemetry import SILENT_AFTER_INTERVALS

from .metric_faults import metrics_fault_sql
from .view import View

CLIENTS = "clients"
# State is worked out when somebody asks: no write per push, and silence needs none.
_CLIENTS_SQL = """
SELECT
  instances.* EXCEPT (broker_id),
  {fault} AS metrics_fault,
  seen.last_push,
  coalesce(seen.pushes, 0) AS pushes,
  coalesce(seen.points, 0) AS points,
  seen.newest.client_source_port,
  seen.newest.bridge_id,
  seen.newest.broker_id,
  CASE
    WHEN instances.terminated_at IS NOT NULL THEN 'terminated'
    WHEN timestampadd(
      MILLISECOND,
      {silent_after} * bigint(instances.push_interval_ms),
      coalesce(seen.last_push, instances.first_seen)
    ) < current_timestamp() THEN 'silent'
    ELSE 'live'
  END AS state
FROM client_instances AS instances
LEFT JOIN (
  SELECT
    client_instance_id,
    max(received_at) AS last_push,
    count(*) AS pushes,
    sum(point_count) AS points,
    max_by(
      named_struct(
        'client_source_port', client_source_port, 'bridge_id', bridge_id,
        'broker_id', broker_id
      ),
      named_struct('received_at', received_at, 'push_id', push_id)
    ) AS newest
  FROM client_pushes
  GROUP BY client_instance_id
) AS seen ON instances.client_instance_id = seen.client_instance_id
"""

VIEW = View(
    name=CLIENTS,
    row="A client instance, with its last push, its pushes and points, and its "
    "state: `live`, `silent` (no push for three intervals) or `terminated`; "
    "`metrics_fault` if its metrics are known to be wrong.",
    sql=lambda _: _CLIENTS_SQL.format(
        fault=metrics_fault_sql(), silent_after=SILENT_AFTER_INTERVALS
    ),
    needs=("client_instances", "client_pushes"),
    made_by="client_telemetry_to_delta",
)
