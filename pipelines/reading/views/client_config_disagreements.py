"""`client_config_disagreements`: where live instances of a logical client disagree.

The same as reading.config_diffs.select_disagreeing_instances, as SQL text
that is looked up at each use, so that readers see new rows.
"""

from pipelines.reading.config_diffs import LOGICAL_CLIENT

from .view import Sources, View

DISAGREEMENTS = "client_config_disagreements"

_CLIENT = ", ".join(LOGICAL_CLIENT)
_LIVE_SQL = (
    "LEFT ANTI JOIN (SELECT client_instance_id FROM clients WHERE state <> 'live') "
    "AS ended ON entries.client_instance_id = ended.client_instance_id"
)
_DISAGREEMENTS_SQL = """
WITH held AS (
  SELECT {client}, config_key, config_value, bool_or(is_default) AS is_default,
    sort_array(collect_set(client_instance_id)) AS client_instance_ids
  FROM client_config_entries AS entries {live}
  WHERE config_value IS NOT NULL AND entries.client_instance_id IS NOT NULL
  GROUP BY {client}, config_key, config_value
),
counted AS (
  SELECT *, count(*) OVER (PARTITION BY logical_client, config_key) AS different
  FROM held
)
SELECT {client}, config_key, config_value, is_default, client_instance_ids,
  size(client_instance_ids) AS instances
FROM counted WHERE different > 1
ORDER BY logical_client, config_key, instances DESC, config_value
"""


def _query(sources: Sources) -> str:
    live = _LIVE_SQL if "clients" in sources.registered else ""
    return _DISAGREEMENTS_SQL.format(client=_CLIENT, live=live)


VIEW = View(
    name=DISAGREEMENTS,
    row="A value of a key of which live instances of one logical client "
    "have different ones, with the instances that have it.",
    sql=_query,
    needs=("client_config_entries",),
    uses=("clients",),
    made_by="client_configs_to_delta",
)
