"""SQL of the columns that name a point's broker connection, in rows of every age."""

from udfs.otlp.labels import BOOTSTRAP, BROKER, COORDINATOR

# Rows written before contract version 2 have node_id as sent and no role. As
# udfs.otlp.labels.parse_node; SQL needs no Python worker.
_SENT = "try_cast(regexp_extract(node_id, '^(?:node-)?(-?[0-9]{1,10})$', 1) AS INT)"
_IS_COORDINATOR = f"{_SENT} > 1073741823"
NODE_COLUMNS = {
    "node_id": f"""CASE WHEN node_role IS NOT NULL THEN node_id
  WHEN {_IS_COORDINATOR} THEN string(2147483647 - {_SENT})
  ELSE coalesce(string({_SENT}), node_id) END""",
    "node_role": f"""CASE WHEN node_role IS NOT NULL THEN node_role
  WHEN {_SENT} < 0 THEN '{BOOTSTRAP}' WHEN {_IS_COORDINATOR} THEN '{COORDINATOR}'
  WHEN {_SENT} >= 0 THEN '{BROKER}' END""",
}
"""Columns of client_metrics to what readers get of them."""
