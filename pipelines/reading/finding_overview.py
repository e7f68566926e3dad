"""Findings of all clients: by rule, by client, and what changed. Reads only."""

from datetime import UTC, datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .client_states import CLIENT_KEY, same_sql

SEVERITIES = ("error", "warning", "advice")
"""The most severe first."""
_NAME = ("cluster_id", "principal", "client_id")
_FINDING = ("cluster_id", "logical_client", "rule")


def with_known_client(open_findings: DataFrame, clients: DataFrame) -> DataFrame:
    """Give each finding the key of the client that it is about.

    The type of a client may become known after the evaluation. A finding without a
    client of its type belongs to the client with the same cluster, principal and
    client ID.

    Args:
        open_findings: The view.
        clients: Distinct clients: cluster_id, principal, client_id, client_type.
    Returns: The findings; an unknown cluster_id is null, as in the views of clients.
    """
    findings = open_findings.withColumn(
        "cluster_id", F.nullif("cluster_id", F.lit(""))
    ).alias("f")
    known = clients.select(*CLIENT_KEY).alias("c")
    is_same = F.expr(same_sql("f", "c", _NAME))
    is_exact = F.col("f.client_type").eqNullSafe(F.col("c.client_type"))
    best = Window.partitionBy(*(f"f.{one}" for one in _FINDING)).orderBy(
        is_exact.desc(), "c.client_type"
    )
    told = F.when(F.col("c.principal").isNull(), F.col("f.client_type"))
    return (
        findings.join(known, is_same, "left")
        .withColumn("place", F.row_number().over(best))
        .where(F.col("place") == 1)
        .select(
            "f.*", F.coalesce(F.col("c.client_type"), told).alias("known_client_type")
        )
        .withColumn("client_type", F.col("known_client_type"))
        .drop("known_client_type")
    )


def count_by_client(open_findings: DataFrame) -> DataFrame:
    """Return how many findings each client has.

    Returns: cluster_id, principal, client_id, client_type, errors, warnings, advice.
    """
    names = ("errors", "warnings", "advice")
    return open_findings.groupBy(*CLIENT_KEY).agg(
        *(
            F.count_if(F.col("severity") == severity).alias(name)
            for severity, name in zip(SEVERITIES, names, strict=True)
        )
    )


def select_by_rule(open_findings: DataFrame, since: datetime) -> DataFrame:
    """Return what each rule has found.

    Returns: rule, severity (the most severe: a rule is milder if a default decides),
        clients, instances, opened (of the clients, since that time), since (of the
        oldest finding), setting, suggested_value, why and source of the newest one;
        the most severe first, then by clients.
    """
    place = F.array_position(F.array(*map(F.lit, SEVERITIES)), F.col("severity"))
    told = ("setting", "suggested_value", "why", "source")
    return (
        open_findings.groupBy("rule")
        .agg(
            F.min_by("severity", place).alias("severity"),
            F.count("*").alias("clients"),
            F.sum("instances").alias("instances"),
            F.count_if(F.col("since") >= F.lit(since)).alias("opened"),
            F.min("since").alias("oldest"),
            F.max_by(F.struct(*told), "since").alias("newest"),
        )
        .orderBy(place, F.desc("clients"), "rule")
        .select(
            *("rule", "severity", "clients", "instances", "opened"),
            F.col("oldest").alias("since"),
            *(f"newest.{one}" for one in told),
        )
    )


def select_examples(open_findings: DataFrame, most: int) -> DataFrame:
    """Return some findings of each rule, those of most instances first.

    Args:
        open_findings: The view, or part of it.
        most: How many of each rule.
    Returns: rule, place (from 1), and the columns of a client, sentence, since.
    """
    order = Window.partitionBy("rule").orderBy(
        F.desc("instances"), "since", "principal", "client_id"
    )
    return (
        open_findings.withColumn("place", F.row_number().over(order))
        .where(F.col("place") <= most)
        .orderBy("rule", "place")
        .select("rule", "place", *CLIENT_KEY, "sentence", "since")
    )


def select_of_clients(open_findings: DataFrame, chosen: DataFrame) -> DataFrame:
    """Return the findings of chosen clients, the most severe first.

    Args:
        open_findings: From with_known_client.
        chosen: row, and the key of a client.
    Returns: row, and the columns of open_findings.
    """
    found = open_findings.alias("f").join(
        F.broadcast(chosen.select("row", *CLIENT_KEY)).alias("c"),
        F.expr(same_sql("f", "c", CLIENT_KEY)),
    )
    place = F.array_position(F.array(*map(F.lit, SEVERITIES)), F.col("severity"))
    return found.select("c.row", "f.*").orderBy("row", place, "rule")


def select_rows_by_rule(open_findings: DataFrame, clients: DataFrame) -> DataFrame:
    """Return rule and rows (ascending): the clients that each rule holds of.

    Args:
        open_findings: From with_known_client.
        clients: row, and the key of a client.
    """
    return (
        select_of_clients(open_findings, clients)
        .groupBy("rule")
        .agg(F.sort_array(F.collect_set("row")).alias("rows"))
    )


def read_evaluated_at(finding_runs: DataFrame) -> datetime | None:
    """Return when the rules were evaluated last; null: never."""
    (newest,) = finding_runs.agg(F.unix_millis(F.max("evaluated_at"))).collect()[0]
    return None if newest is None else datetime.fromtimestamp(newest / 1_000, UTC)
