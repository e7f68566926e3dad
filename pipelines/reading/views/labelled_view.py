"""`client_metrics_labelled`: data points with every label of KIP-714."""

from .view import View

LABELLED = "client_metrics_labelled"
VIEW = View(
    name=LABELLED,
    row="A data point of `client_metrics` with all labels that KIP-714 has brokers "
    "add: `client_source_port` and `broker_id` (KIP-714's `node_id`) beside those that "
    "it has, and `cluster_id`.",
    # Dates part both tables: a filter on that of a point spares the files of pushes.
    sql="""
SELECT m.*, p.client_source_port, p.cluster_id, p.broker_id
FROM client_metrics AS m LEFT JOIN client_pushes AS p
  ON m.event_date = p.event_date AND m.topic = p.topic AND m.partition = p.partition
  AND m.offset = p.offset AND m.push_id = p.push_id
""",
    needs=("client_metrics", "client_pushes"),
    made_by="client_telemetry_to_delta",
)
