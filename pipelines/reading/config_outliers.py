"""Whose configuration is another than that of their peers. Reads only.

Peers are logical clients of one type and software. A value is unusual where most peers
agree on another one: what everybody sets to something else, as a client id, is nobody's
outlier, and neither is what half of them do.
"""

import pandas as pd
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

LEAST_PEERS = 4
"""Logical clients; of fewer, nobody can say what is usual."""
USUAL_SHARE = 0.6
"""Part of the peers that have the usual value, at least."""
MOST_CLIENTS = 9
"""Columns of a picture, beside the usual."""
NO_CLIENT_ID = "(no client id)"
USUAL = "usual"
"""Stands in a picture for what most have."""
_PEERS = ("client_software_name", "client_type")
_CLIENT = ("logical_client", "principal", "client_id", *_PEERS)


def select_outliers(client_config_entries: DataFrame) -> DataFrame:
    """Return the values that few clients have, where most of their peers agree.

    Args:
        client_config_entries: The view, or part of it.
    Returns: client_id, principal, client_software_name, client_type, config_key,
        config_value, usual_value, usual_share (of the peers), peers (their number),
        instances (of the client, with the value), logical_client; by the client with
        most such keys, then by share.
    Nulls: What is hidden is passed over.
    """
    known = client_config_entries.where(F.col("config_value").isNotNull())
    held = known.groupBy(*_CLIENT, "config_key", "config_value").agg(
        F.countDistinct("client_instance_id").alias("instances"),
        F.bool_and(F.coalesce("is_default", F.lit(False))).alias("is_default"),
    )
    of_key = Window.partitionBy(*_PEERS, "config_key")
    of_value = Window.partitionBy(*_PEERS, "config_key", "config_value")
    counted = (
        held.withColumn("peers", F.size(F.collect_set("logical_client").over(of_key)))
        .withColumn("holders", F.size(F.collect_set("logical_client").over(of_value)))
        .withColumn(
            "usual",
            F.max(F.struct("holders", "config_value", "is_default")).over(of_key),
        )
    )
    share = F.col("usual.holders") / F.col("peers")
    unusual = (
        counted.where(F.col("peers") >= LEAST_PEERS)
        .withColumn("usual_value", F.col("usual.config_value"))
        .withColumn("usual_share", share)
        .where(F.col("usual_share") >= USUAL_SHARE)
        .where(F.col("config_value") != F.col("usual_value"))
        # What two releases have by themselves is nobody's configuration.
        .where(~(F.col("is_default") & F.col("usual.is_default")))
    )
    of_client = Window.partitionBy("logical_client")
    return (
        unusual.withColumn("keys", F.count("*").over(of_client))
        .orderBy(
            *(F.desc("keys"), "client_id", "logical_client"),
            *(F.desc("usual_share"), "config_key"),
        )
        .select(
            *("client_id", "principal", *_PEERS, "config_key", "config_value"),
            *("usual_value", "usual_share", "peers", "instances", "logical_client"),
        )
    )


def count_outliers(outliers: pd.DataFrame) -> pd.DataFrame:
    """Return for a picture: client, client_type and keys, the most first.

    Args:
        outliers: From select_outliers, collected.
    """
    named = outliers["client_id"].fillna(NO_CLIENT_ID) + ", " + outliers["principal"]
    counted = (
        outliers.assign(client=named)
        .groupby(["logical_client", "client", "client_type"], dropna=False)[
            "config_key"
        ]
        .nunique()
        .rename("keys")
        .reset_index()
    )
    ordered = counted.sort_values(["keys", "client"], ascending=[False, True])
    return ordered[["client", "client_type", "keys"]]


def collect_outlier_cells(
    outliers: pd.DataFrame, client_config_entries: DataFrame
) -> pd.DataFrame:
    """Return for a picture: client, config_key and value of the first outliers' keys.

    Args:
        outliers: From select_outliers, collected: they are few, and a join with what
            they were made of is a large plan.
        client_config_entries: What they were made of.
    Returns: A row for each of the first clients, and key by which any of these is an
        outlier; and of USUAL the value that most have. Several values are joined.
    """
    clients = list(dict.fromkeys(outliers["logical_client"]))[:MOST_CLIENTS]
    shown = outliers[outliers["logical_client"].isin(clients)]
    held = (
        client_config_entries.where(F.col("config_value").isNotNull())
        .where(F.col("logical_client").isin(clients))
        .where(F.col("config_key").isin(sorted(set(shown["config_key"]))))
        .select(
            F.coalesce("client_id", F.lit(NO_CLIENT_ID)).alias("client"),
            "config_key",
            F.col("config_value").alias("value"),
        )
        .distinct()
        .toPandas()
    )
    usual = shown[["config_key", "usual_value"]].rename(
        columns={"usual_value": "value"}
    )
    every = pd.concat([held, usual.assign(client=USUAL)]).drop_duplicates()
    texts = every.assign(value=every["value"].replace("", "(empty)"))
    cells = texts.sort_values("value").groupby(["config_key", "client"])["value"]
    return cells.agg(" | ".join).reset_index()
