"""Values of a configuration that few clients have, where most of their peers agree.

Reads only. Peers are the clients of one cluster, client type and client software, and
only their active instances count. A value is an outlier if at least USUAL_SHARE of at
least LEAST_PEERS peers have another value. Differences between the defaults of two
releases are not outliers.
"""

import pandas as pd
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .naming import NO_CLIENT_ID, tell_clusters_apart

LEAST_PEERS = 4
"""Minimum number of clients for a usual value."""
USUAL_SHARE = 0.6
"""Minimum part of the peers that have the usual value."""
MOST_CLIENTS = 9
"""Columns of a picture, beside the usual."""
USUAL = "usual"
"""Stands in a picture for what most have."""
_PEERS = ("cluster_id", "client_software_name", "client_type")
_CLIENT = ("logical_client", "principal", "client_id", *_PEERS)
_OWN_KEYS = ("bootstrap.servers", "client.id", "metadata.broker.list")
"""Keys that each client sets to a value of its own."""


def select_outliers(active_config_entries: DataFrame) -> DataFrame:
    """Return the values that few clients have, where most of their peers agree.

    Args:
        active_config_entries: The view, or part of it.
    Returns: client_id, principal, cluster_id, client_software_name, client_type,
        config_key, config_value, usual_value, usual_share (of the peers), usual_clients
        (peers with the usual value), peers (their number), instances (of the client,
        with the value), logical_client; by the client with most such keys, then by
        share.
    Nulls: Hidden values are skipped.
    """
    known = active_config_entries.where(F.col("config_value").isNotNull()).where(
        ~F.col("config_key").isin(*_OWN_KEYS)
    )
    held = known.groupBy(*_CLIENT, "config_key", "config_value").agg(
        F.count_distinct("client_instance_id").alias("instances"),
        F.bool_and(F.coalesce("is_default", F.lit(False))).alias("is_default"),
    )
    of_key = Window.partitionBy(*_PEERS, "config_key")
    of_value = Window.partitionBy(*_PEERS, "config_key", "config_value")
    of_peer = Window.partitionBy(*_PEERS, "config_key", "logical_client")
    # A client whose instances disagree has several values, and is one peer.
    is_first = F.row_number().over(of_peer.orderBy("config_value")) == 1
    counted = (
        held.withColumn("is_first", is_first)
        .withColumn("peers", F.count_if("is_first").over(of_key))
        .withColumn("holders", F.count("*").over(of_value))
        .withColumn(
            "usual",
            F.max(F.struct("holders", "config_value", "is_default")).over(of_key),
        )
    )
    unusual = (
        counted.where(F.col("peers") >= LEAST_PEERS)
        .withColumn("usual_value", F.col("usual.config_value"))
        .withColumn("usual_clients", F.col("usual.holders"))
        .withColumn("usual_share", F.col("usual.holders") / F.col("peers"))
        .where(F.col("usual_share") >= USUAL_SHARE)
        .where(F.col("config_value") != F.col("usual_value"))
        .where(~(F.col("is_default") & F.col("usual.is_default")))
    )
    of_client = Window.partitionBy("cluster_id", "logical_client")
    return (
        unusual.withColumn("keys", F.count("*").over(of_client))
        .orderBy(
            *(F.desc("keys"), "client_id", "logical_client"),
            *(F.desc("usual_share"), "config_key"),
        )
        .select(
            *("client_id", "principal", *_PEERS, "config_key", "config_value"),
            *("usual_value", "usual_share", "usual_clients", "peers", "instances"),
            "logical_client",
        )
    )


def select_set_keys(active_config_entries: DataFrame) -> DataFrame:
    """Return the entries of keys that some of the peers have set.

    Only these keys have outliers. The other keys, of which all values are defaults, are
    most of the entries. The entries are read twice and should be cached.
    """
    same = [
        F.col(f"e.{name}").eqNullSafe(F.col(f"k.{name}"))
        for name in (*_PEERS, "config_key")
    ]
    is_set = ~F.coalesce("is_default", F.lit(False))
    keys = active_config_entries.where(is_set).select(*_PEERS, "config_key").distinct()
    return active_config_entries.alias("e").join(
        F.broadcast(keys).alias("k"), same, "left_semi"
    )


def group_outliers(outliers: DataFrame) -> DataFrame:
    """Return each unusual value once, the rarest first.

    Args:
        outliers: From select_outliers.
    Returns: cluster_id, client_software_name, client_type, config_key, usual_value,
        usual_clients, config_value, clients (with the value), client_id and principal
        of one of them.
    """
    return (
        outliers.groupBy(
            *(*_PEERS, "config_key", "usual_value", "usual_clients", "config_value"),
            "peers",
        )
        .agg(
            F.count_distinct("logical_client").alias("clients"),
            F.min(F.struct("client_id", "principal")).alias("one"),
        )
        .orderBy(
            F.col("clients") / F.col("peers"),
            *(F.desc("peers"), "config_key", "config_value", "client_type"),
        )
        .select(
            *(*_PEERS, "config_key", "usual_value", "usual_clients", "config_value"),
            *("clients", "one.client_id", "one.principal"),
        )
    )


def count_outliers(outliers: pd.DataFrame) -> pd.DataFrame:
    """Return for a picture: client, client_type and keys, the most first.

    Args:
        outliers: From select_outliers, collected.
    """
    counted = (
        outliers.assign(client=_name_clients(outliers))
        .groupby(["logical_client", "client", "client_type"], dropna=False)[
            "config_key"
        ]
        .nunique()
        .rename("keys")
        .reset_index()
    )
    ordered = counted.sort_values(["keys", "client"], ascending=[False, True])
    return ordered[["client", "client_type", "keys"]]


def _name_clients(outliers: pd.DataFrame) -> pd.Series:
    """Return unique names; the cluster is part of them if there are several."""
    named = outliers["client_id"].fillna(NO_CLIENT_ID) + ", " + outliers["principal"]
    told = tell_clusters_apart(outliers[["cluster_id"]].assign(client=named), "client")
    return told["client"]


def collect_outlier_cells(
    outliers: pd.DataFrame, active_config_entries: DataFrame
) -> pd.DataFrame:
    """Return for a picture: client, config_key and value of the first outliers' keys.

    Args:
        outliers: From select_outliers, collected: they are few, and a join with what
            they were made of is a large plan.
        active_config_entries: What they were made of.
    Returns: A row for each of the first clients, and key by which any of these is an
        outlier; and of USUAL the value that most have. Several values are joined.
    """
    named = outliers.assign(client=_name_clients(outliers))
    names = dict(zip(named["logical_client"], named["client"], strict=True))
    clients = list(names)[:MOST_CLIENTS]
    shown = outliers[outliers["logical_client"].isin(clients)]
    held = (
        active_config_entries.where(F.col("config_value").isNotNull())
        .where(F.col("logical_client").isin(clients))
        .where(F.col("config_key").isin(sorted(set(shown["config_key"]))))
        .select("logical_client", "config_key", F.col("config_value").alias("value"))
        .distinct()
        .toPandas()
    )
    held["client"] = held["logical_client"].map(names)
    usual = shown[["config_key", "usual_value"]].rename(
        columns={"usual_value": "value"}
    )
    every = pd.concat([held, usual.assign(client=USUAL)])
    texts = every.assign(value=every["value"].replace("", "(empty)"))
    texts = texts[["client", "config_key", "value"]].drop_duplicates()
    cells = texts.sort_values("value").groupby(["config_key", "client"])["value"]
    return cells.agg(" | ".join).reset_index()
