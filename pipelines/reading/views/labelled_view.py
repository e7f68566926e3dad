"""`client_metrics_labelled`: data points with every label of KIP-714."""

from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES

LABELLED = "client_metrics_labelled"
# Dates part both tables: a filter on that of a point spares the files of pushes, too.
LABELLED_SQL = f"""
SELECT m.*, p.client_source_port, p.cluster_id, p.broker_id
FROM {CLIENT_METRICS.name} AS m LEFT JOIN {CLIENT_PUSHES.name} AS p
  ON m.event_date = p.event_date AND m.topic = p.topic AND m.partition = p.partition
  AND m.offset = p.offset AND m.push_id = p.push_id
"""  # noqa: S608 - names of our own contracts
