"""`active_config_entries`: what active instances run with."""

from pipelines.reading.client_states import INSTANCE_KEY

from .view import View

ACTIVE_ENTRIES = "active_config_entries"

VIEW = View(
    name=ACTIVE_ENTRIES,
    row="The rows of `client_config_entries` of active instances, and of active "
    "clients that only the proxy knows.",
    sql=f"""
SELECT * EXCEPT (instance_key)
FROM (SELECT *, {INSTANCE_KEY} AS instance_key FROM client_config_entries)
LEFT SEMI JOIN (
  SELECT {INSTANCE_KEY} AS instance_key FROM known_instances WHERE state = 'active'
) USING (instance_key)
""",
    needs=("client_config_entries", "known_instances"),
    made_by="client_configs_to_delta",
)
