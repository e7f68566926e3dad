"""Which clients are stale, and which a release of brokers no longer serves. Reads only.

A client settles on the newest version of an API that it and its broker know. So one
that uses a version below those of a release has no newer one, and one above them has
older ones as well.
"""

from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

BREAKS, WORKS, NOT_SEEN = "breaks", "works", "not_seen"
"""Verdicts."""
WHO = ("cluster_id", "principal", "client_id")
_SOFTWARE = ("client_software_name", "client_software_version")
_FAULT = (
    *("severity", "issue", "fault", "fixed_in", "condition_key", "condition_value"),
)


def read_traffic(spark: SparkSession) -> DataFrame:
    """Return client_traffic; client_id is null if it is empty, as in the views."""
    empty_id = F.nullif("client_id", F.lit(""))
    return spark.table("client_traffic").withColumn("client_id", empty_id)


def select_stale(
    client_software: DataFrame, known_faults: DataFrame, since: datetime
) -> DataFrame:
    """Return what each client runs, with the faults of it.

    Args:
        client_software: The view.
        known_faults: The view.
        since: Clients that were not seen from then on are left out.
    Returns: The columns of client_software and faults, an array of structs, the most
        severe first; with is_sure false where its client type, or the patch release of
        a vendor's build, is not known, or it needs a configuration (condition_key).
    Shape: A row for each row of client_software.
    """
    seen = client_software.where(F.col("last_seen") >= F.lit(since))
    is_sure = (
        ~F.col("c.is_vendor_build")
        & F.col("f.condition_key").isNull()
        & (F.col("f.client_type").isNull() | (F.size("c.client_types") > 0))
    )
    order = F.array(*map(F.lit, ("error", "warning", "advice")))
    fault = F.struct(
        F.array_position(order, F.col("f.severity")).alias("place"),
        *(F.col(f"f.{name}") for name in _FAULT),
        is_sure.alias("is_sure"),
    )
    is_of_type = F.col("f.client_type").isNull() | (
        (F.size("c.client_types") == 0)
        | F.array_contains("c.client_types", F.col("f.client_type"))
    )
    is_in_range = (F.col("c.core_number") >= F.col("f.from_number")) & (
        F.col("c.core_number") < F.col("f.fixed_number")
    )
    named = [F.col(f"c.{name}") for name in seen.columns]
    found = F.array_sort(F.collect_list(F.when(F.col("f.issue").isNotNull(), fault)))
    return (
        seen.alias("c")
        .join(
            F.broadcast(known_faults).alias("f"),
            (F.col("c.family") == F.col("f.family")) & is_of_type & is_in_range,
            "left",
        )
        .groupBy(*named)
        .agg(F.transform(found, lambda one: one.dropFields("place")).alias("faults"))
    )


def select_upgrade(
    client_traffic: DataFrame,
    client_software: DataFrame,
    served: Mapping[int, range],
    names: Mapping[int, str],
    since: datetime,
) -> DataFrame:
    """Return what becomes of clients with brokers that serve some API versions.

    Args:
        client_traffic: As read_traffic returns it.
        client_software: The view; clients that only it has are NOT_SEEN.
        served: API key to the versions that are served, from api_versions.csv.
        names: API key to its name; of others nothing is said.
        since: What was used before is left out.
    Returns: cluster_id, principal, client_id (null: none), client_software_name,
        client_software_version, verdict, lost (array of structs: api_key, api_name,
        api_version, first_version (null: the API is not served), last_used), last_seen.
    Shape: A row for each client and software.
    """
    spark = client_traffic.sparkSession
    used = _select_used(client_traffic.where(F.col("window_start") >= F.lit(since)))
    lost = (
        used.join(F.broadcast(_list_apis(spark, served, names)), "api_key")
        .where(
            F.col("first_version").isNull()
            | (F.col("api_version") < F.col("first_version"))
        )
        .groupBy(*WHO, *_SOFTWARE)
        .agg(
            F.array_sort(
                F.collect_list(
                    F.struct(
                        *("api_key", "api_version", "api_name", "first_version"),
                        "last_used",
                    )
                )
            ).alias("lost")
        )
    )
    judged = used.groupBy(*WHO, *_SOFTWARE).agg(F.max("last_used").alias("last_seen"))
    known = judged.join(lost, _same(judged, lost), "left").select(
        *(judged[name] for name in judged.columns),
        F.coalesce(lost["lost"], F.array()).alias("lost"),
    )
    others = client_software.where(F.col("last_seen") >= F.lit(since))
    unseen = others.join(judged, _same(others, judged), "left_anti").select(
        *WHO, *_SOFTWARE, "last_seen"
    )
    verdict = F.when(F.size("lost") > 0, BREAKS).otherwise(WORKS)
    return known.withColumn("verdict", verdict).unionByName(
        unseen.withColumns({"lost": F.array(), "verdict": F.lit(NOT_SEEN)})
    )


def _same(one: DataFrame, other: DataFrame) -> list[Column]:
    return [one[name].eqNullSafe(other[name]) for name in (*WHO, *_SOFTWARE)]


def _select_used(traffic: DataFrame) -> DataFrame:
    """Return each API version that a client has used, and when last."""
    version = F.col("one.api_version").alias("api_version")
    return (
        traffic.withColumn("one", F.explode("api_versions"))
        .select(
            *("cluster_id", "principal", *_SOFTWARE, "received_at"),
            "client_id",
            F.col("one.api_key").alias("api_key"),
            version,
        )
        .groupBy(*WHO, *_SOFTWARE, "api_key", "api_version")
        .agg(F.max("received_at").alias("last_used"))
    )


def _list_apis(
    spark: SparkSession, served: Mapping[int, range], names: Mapping[int, str]
) -> DataFrame:
    rows = [
        (key, name, served[key].start if key in served else None)
        for key, name in names.items()
    ]
    return spark.createDataFrame(
        rows, "api_key INT, api_name STRING, first_version INT"
    )
