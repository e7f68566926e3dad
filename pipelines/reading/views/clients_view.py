"""`clients`: one row per client instance that pushes telemetry, with its state."""

from .known_clients_view import CLIENT_STATES
from .metric_faults import metrics_fault_sql
from .view import Sources, View

CLIENTS = "clients"
# The state is computed by each query: a push writes nothing, and neither does silence.
_CLIENTS_SQL = """
SELECT client_instance_id, client_id, principal, client_software_name,
  client_software_version, client_source_address, listener, client_type,
  client_type_source, group_id, group_instance_id, group_member_id, transactional_id,
  client_rack, push_interval_ms, first_seen, terminated_at, cluster_id,
  {fault} AS metrics_fault, last_push, pushes, points, newest_push.client_source_port,
  newest_push.bridge_id, newest_push.broker_id, state
FROM {states} WHERE known_by = 'telemetry'
"""


def _query(_: Sources) -> str:
    return _CLIENTS_SQL.format(states=CLIENT_STATES, fault=metrics_fault_sql())


VIEW = View(
    name=CLIENTS,
    row="A client instance that pushes telemetry, with its last push, its pushes and "
    "points, and its `state` as in `known_instances`; `metrics_fault` if its metrics "
    "are known to be wrong.",
    sql=_query,
    needs=(CLIENT_STATES, "client_instances", "client_pushes"),
    made_by="client_telemetry_to_delta",
)
