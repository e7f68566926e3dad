"""Names of clients, instances and clusters for legends and tables."""

from collections.abc import Collection

import pandas as pd
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

NO_CLIENT_ID = "(no client id)"
_SHORT_ID = 6
_CLUSTER = "cluster_id"
_OF_CLUSTER = " @ "
"""Between a name and its cluster."""


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


def tell_clusters_apart(
    frame: pd.DataFrame, *names: str, known: Collection[str] = ()
) -> pd.DataFrame:
    """Add the cluster to names if there are several clusters.

    Args:
        frame: Rows with column cluster_id.
        names: Columns that get the cluster ID after their text.
        known: Cluster IDs that exist, in addition to those of the rows.
    Returns: The rows; without cluster_id if there is only one cluster.
    """
    clusters = frame[_CLUSTER].fillna("unknown cluster").astype(str)
    if len({*clusters, *known}) <= 1:
        return frame.drop(columns=_CLUSTER)
    where = _OF_CLUSTER + clusters
    return frame.assign(**{name: frame[name].astype(str) + where for name in names})


def name_cluster(rows: DataFrame, column: str) -> DataFrame:
    """Append the cluster ID to a name if the rows are of several clusters.

    Args:
        rows: Few rows, with cluster_id.
        column: Text column that names something of one cluster.
    """
    return rows.withColumn(column, _append_if_several(column, _CLUSTER, _OF_CLUSTER))


def name_clients(rows: DataFrame) -> DataFrame:
    """Add the column client: a name of each client that is unique among the rows.

    The name is the client ID. The principal and the cluster ID follow if the rows
    contain the same client ID for several of them.

    Args:
        rows: With client_id, principal and cluster_id.
    """
    name = F.coalesce(F.nullif("client_id", F.lit("")), F.lit(NO_CLIENT_ID))
    found = rows.withColumn("client", name)
    for column, separator in (("principal", ", "), (_CLUSTER, _OF_CLUSTER)):
        found = found.withColumn(
            "client", _append_if_several("client", column, separator, "client")
        )
    return found


def _append_if_several(name: str, column: str, separator: str, *by: str) -> Column:
    every = Window.partitionBy(*by)
    values = F.size(F.collect_set(F.coalesce(column, F.lit(""))).over(every))
    other = F.coalesce(column, F.lit("unknown"))
    text = F.concat(F.col(name), F.lit(separator), other)
    return F.when(values > 1, text).otherwise(F.col(name))
