"""Names of client instances and clusters for legends and tables."""

import pandas as pd
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

_SHORT_ID = 6
_CLUSTER = "cluster_id"


def with_client(rows: DataFrame) -> DataFrame:
    """Add column client: a name for each client instance of the rows.

    It is the client ID. The beginning of the instance ID follows if several instances
    share the client ID; it replaces a client ID that is unknown.
    """
    short = F.substring("client_instance_id", 1, _SHORT_ID)
    same = [one for one in (_CLUSTER, "client_id") if one in rows.columns]
    instances = F.collect_set("client_instance_id").over(Window.partitionBy(*same))
    shared = F.concat("client_id", F.lit(" ("), short, F.lit(")"))
    named = F.when(F.size(instances) > 1, shared).otherwise(F.col("client_id"))
    return rows.withColumn(
        "client", F.coalesce(named, F.concat(F.lit("instance "), short))
    )


def tell_clusters_apart(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Add the cluster to names if the rows are of several clusters.

    Args:
        frame: Rows with column cluster_id.
        names: Columns that get the cluster ID after their text.
    Returns: The rows; without cluster_id if they are all of one cluster.
    """
    clusters = frame[_CLUSTER].fillna("unknown cluster").astype(str)
    if len({*clusters}) <= 1:
        return frame.drop(columns=_CLUSTER)
    where = " @ " + clusters
    return frame.assign(**{name: frame[name].astype(str) + where for name in names})
