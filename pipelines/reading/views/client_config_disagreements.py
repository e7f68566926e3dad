"""`client_config_disagreements`: values that differ between a client's instances."""

from .view import View

DISAGREEMENTS = "client_config_disagreements"

VIEW = View(
    name=DISAGREEMENTS,
    row="A value of a key of which active instances of one logical client "
    "have different ones, with the instances that have it.",
    sql="""
WITH held AS (
  SELECT cluster_id, logical_client, principal, client_id, client_type, config_key,
    config_value,
    bool_or(is_default) AS is_default,
    sort_array(collect_set(client_instance_id)) AS client_instance_ids
  FROM active_config_entries
  WHERE config_value IS NOT NULL AND client_instance_id IS NOT NULL
  GROUP BY cluster_id, logical_client, principal, client_id, client_type, config_key,
    config_value
),
counted AS (
  SELECT *, count(*)
    OVER (PARTITION BY cluster_id, logical_client, config_key) AS different
  FROM held
)
SELECT cluster_id, logical_client, principal, client_id, client_type, config_key,
  config_value, is_default, client_instance_ids, size(client_instance_ids) AS instances
FROM counted WHERE different > 1
ORDER BY cluster_id, logical_client, config_key, instances DESC, config_value
""",
    needs=("active_config_entries",),
    made_by="client_configs_to_delta",
)
