"""`client_config_disagreements`: where live instances of a logical client disagree.

The same as reading.config_diffs.select_disagreeing_instances, as SQL text
that is looked up at each use, so that readers see new rows.
"""

from pyspark.sql import SparkSession

from pipelines.reading.config_diffs import LOGICAL_CLIENT

DISAGREEMENTS = "client_config_disagreements"

_CLIENT = ", ".join(LOGICAL_CLIENT)
_LIVE_SQL = (
    "LEFT ANTI JOIN (SELECT client_instance_id FROM {clients} WHERE state <> 'live') "
    "AS ended ON entries.client_instance_id = ended.client_instance_id"
)
_DISAGREEMENTS_SQL = f"""
WITH held AS (
  SELECT {_CLIENT}, config_key, config_value, bool_or(is_default) AS is_default,
    sort_array(collect_set(client_instance_id)) AS client_instance_ids
  FROM {{entries}} AS entries {{live}}
  WHERE config_value IS NOT NULL AND entries.client_instance_id IS NOT NULL
  GROUP BY {_CLIENT}, config_key, config_value
),
counted AS (
  SELECT *, count(*) OVER (PARTITION BY logical_client, config_key) AS different
  FROM held
)
SELECT {_CLIENT}, config_key, config_value, is_default, client_instance_ids,
  size(client_instance_ids) AS instances
FROM counted WHERE different > 1
ORDER BY logical_client, config_key, instances DESC, config_value
"""  # noqa: S608 - names of our own contracts


def register_disagreements(
    spark: SparkSession, entries: str, clients: str | None
) -> str:
    """Register the view; return its name.

    Args:
        entries: The view of entries.
        clients: The view of client instances; without it all of them live.
    """
    live = "" if clients is None else _LIVE_SQL.format(clients=clients)
    query = _DISAGREEMENTS_SQL.format(entries=entries, live=live)
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {DISAGREEMENTS} AS {query}")
    return DISAGREEMENTS
