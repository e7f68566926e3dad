"""`client_config_disagreements`: values that differ between a client's instances."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .view import View

DISAGREEMENTS = "client_config_disagreements"
_SQL = """
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
"""


def select_disagreements(active_config_entries: DataFrame) -> DataFrame:
    """Return the rows of the view for entries that are cached.

    The entries are read twice. Most clients have one instance: their entries are
    filtered out before the others are shuffled.
    """
    instance = "client_instance_id"
    named = active_config_entries.where(F.col(instance).isNotNull())
    several = (
        named.groupBy("logical_client")
        .agg(F.min(instance).alias("first"), F.max(instance).alias("last"))
        .where(F.col("first") != F.col("last"))
        .select("logical_client")
    )
    kept = named.join(F.broadcast(several), "logical_client", "left_semi")
    query = _SQL.replace("FROM active_config_entries", "FROM {rows}")
    return active_config_entries.sparkSession.sql(query, rows=kept)


VIEW = View(
    name=DISAGREEMENTS,
    row="A value of a key of which active instances of one logical client "
    "have different ones, with the instances that have it.",
    sql=_SQL,
    needs=("active_config_entries",),
    made_by="client_configs_to_delta",
)
