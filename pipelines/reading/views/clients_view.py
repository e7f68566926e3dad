"""`clients`: one row per client instance that pushes telemetry, with its state."""

from pipelines.tables.telemetry import SILENT_AFTER_INTERVALS

from .metric_faults import METRICS_FAULT, metrics_fault_sql

CLIENTS = "clients"
# State is worked out when somebody asks: no write per push, and silence needs none.
_CLIENTS_SQL = f"""
SELECT
  instances.* EXCEPT (broker_id),
  {{fault}} AS {METRICS_FAULT},
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
      {SILENT_AFTER_INTERVALS} * bigint(instances.push_interval_ms),
      coalesce(seen.last_push, instances.first_seen)
    ) < current_timestamp() THEN 'silent'
    ELSE 'live'
  END AS state
FROM {{instances}} AS instances
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
  FROM {{pushes}}
  GROUP BY client_instance_id
) AS seen ON instances.client_instance_id = seen.client_instance_id
"""  # noqa: S608 - names of our own contracts


def clients_query(instances: str, pushes: str) -> str:
    """Return the SQL of the view `clients`.

    Args:
        instances: SQL identifier of client_instances.
        pushes: SQL identifier of client_pushes.
    """
    return _CLIENTS_SQL.format(
        instances=instances, pushes=pushes, fault=metrics_fault_sql()
    )
