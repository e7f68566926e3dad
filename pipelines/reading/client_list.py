"""The list of all clients: those that need somebody first. Reads only."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .client_states import ACTIVE, CLIENT_KEY, same_sql

_FINDINGS = ("errors", "warnings", "advice")
_LIMIT_OF_OTHERS = {
    "producer": "consumer_byte_rate",
    "consumer": "producer_byte_rate",
    "share_consumer": "producer_byte_rate",
}
"""Client type to the quota key that does not limit it."""


def list_clients(
    known_clients: DataFrame,
    findings: DataFrame | None,
    client_quota_use: DataFrame | None,
    throttling: DataFrame | None = None,
) -> DataFrame:
    """Return all clients, those first that need somebody.

    Args:
        known_clients: The view, or part of it.
        findings: From finding_overview.count_by_client; None: not known.
        client_quota_use: The view; None: not known.
        throttling: CLIENT_KEY and throttle_ms; None: not known.
    Returns: The columns of known_clients, errors, warnings and advice
        (open findings), use (part of the tightest limit of its type that is used) and
        throttled_ms (longest time that brokers told it to wait).
    Nulls: use and throttled_ms, if not known. A client of an unknown cluster has those
        of its name's only cluster.
    """
    clients = known_clients.alias("c")
    columns: list[Column] = [F.col("c.*")]
    if findings is not None:
        clients = clients.join(findings.alias("f"), _same_client("c", "f"), "left")
    for name in _FINDINGS:
        number = F.lit(0) if findings is None else F.coalesce(f"f.{name}", F.lit(0))
        columns.append(number.cast("int").alias(name))
    use, waited = F.lit(None).cast("double"), F.lit(None).cast("double")
    if client_quota_use is not None:
        limits = select_limits(known_clients.select(*CLIENT_KEY), client_quota_use)
        used = limits.groupBy(*CLIENT_KEY).agg(
            F.max("use").alias("use"), F.max("throttled_ms").alias("throttled_ms")
        )
        clients = clients.join(used.alias("u"), _same_client("c", "u"), "left")
        use, waited = F.col("u.use"), F.col("u.throttled_ms")
    if throttling is not None:
        told = throttling.alias("t")
        clients = clients.join(told, _same_client("c", "t"), "left")
        waited = F.col("t.throttle_ms")
    columns += [use.alias("use"), waited.alias("throttled_ms")]
    listed = clients.select(*columns)
    return listed.orderBy(
        *map(F.desc, _FINDINGS),
        F.coalesce(F.col("throttled_ms") > 0, F.lit(False)).desc(),
        F.desc_nulls_last("use"),
        (F.col("state") == ACTIVE).desc(),
        F.desc("active_instances"),
        *("principal", "client_id", "client_type", "cluster_id"),
    )


def select_limits(clients: DataFrame, client_quota_use: DataFrame) -> DataFrame:
    """Return the limits of clients: those that apply to the type of each.

    Args:
        clients: Distinct rows with the key of a client.
        client_quota_use: The view.
    Returns: The columns of clients, quota_key and the other columns of
        client_quota_use but its names of the client. A client of an unknown cluster
        has the limits of its name if all of them are of one cluster.
    """
    # The view writes a missing client ID as the empty text.
    limits = (
        client_quota_use.where(F.col("limit").isNotNull())
        .withColumnsRenamed({"cluster_id": "limit_cluster", "client_id": "limit_id"})
        .withColumnRenamed("principal", "limit_principal")
    )
    is_named = (F.col("principal") == F.col("limit_principal")) & (
        F.coalesce("client_id", F.lit("")) == F.col("limit_id")
    )
    is_there = F.coalesce(F.col("cluster_id") == F.col("limit_cluster"), F.lit(True))
    is_other = F.lit(False)
    for client_type, quota_key in _LIMIT_OF_OTHERS.items():
        is_type = F.col("client_type").eqNullSafe(F.lit(client_type))
        is_other = is_other | (is_type & (F.col("quota_key") == quota_key))
    of_client = Window.partitionBy(*CLIENT_KEY)
    clusters = F.size(F.collect_set("limit_cluster").over(of_client))
    return (
        clients.join(limits, is_named & is_there & ~is_other)
        .withColumn("clusters", clusters)
        .where(F.col("clusters") == 1)
        .drop("clusters", "limit_cluster", "limit_id", "limit_principal")
    )


def _same_client(left: str, right: str) -> Column:
    return F.expr(same_sql(left, right, CLIENT_KEY))
