"""Whom quotas are about: clients that were seen, whether active, what they report.

Reads only. A client is a principal, a client id and a source address in a cluster; its
instances are processes of it.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.cluster import CLIENT_QUOTAS
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.telemetry import (
    CLIENT_METRICS,
    CLIENT_PUSHES,
    IDLE_AFTER_INTERVALS,
)
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

from .client_states import LONGEST_INTERVAL_MS, idle_at_sql
from .fleet_performance import CONSUMED_BYTES, SENT_BYTES
from .throttling import FETCH_AVG, FETCH_MAX, PRODUCE_AVG, PRODUCE_MAX

CLIENT = ("cluster_id", "principal", "client_id", "client_source_address")
"""What names a client; a client id is empty where there is none."""
LONGEST_INTERVAL = timedelta(milliseconds=LONGEST_INTERVAL_MS)
"""Kafka's longest push interval."""
PRODUCER_KEY, CONSUMER_KEY = "producer_byte_rate", "consumer_byte_rate"
REPORTED = {
    PRODUCER_KEY: {
        "reported_throttle_ms_avg": PRODUCE_AVG,
        "reported_throttle_ms_max": PRODUCE_MAX,
        "reported_rate": SENT_BYTES,
    },
    CONSUMER_KEY: {
        "reported_throttle_ms_avg": FETCH_AVG,
        "reported_throttle_ms_max": FETCH_MAX,
        "reported_rate": CONSUMED_BYTES,
    },
}
"""Quota key to column to the metric that says it."""
REPORT_COLUMNS = tuple(next(iter(REPORTED.values())))
LIVE_INSTANCES = "live_instances"
_PUSH = ("client_instance_id", *CLIENT)


def select_quota_clients(
    tables: Mapping[str, DataFrame],
    clusters: tuple[str, ...],
    since: datetime,
    now: datetime,
    expire_after: timedelta,
) -> DataFrame:
    """Return the clients that were seen since a timestamp, and what they report.

    Args:
        tables: By name, those of CLIENT_PUSHES, CLIENT_METRICS, CLIENT_CONFIGS and
            CLIENT_WIRE_CONFIGS that there are.
        clusters: Ids of all clusters that quotas are known of.
        since: Where observing begins; knows its zone, as now does.
        now: Where it ends.
        expire_after: Time for which a pushed configuration or an inferred one keeps a
            client without telemetry active.
    Returns: CLIENT, live_instances, reports (quota key to a struct of REPORT_COLUMNS:
        mean of the means, greatest of the greatest, sum of the rates of its active
        instances).
    Shape: One row a client. One whose cluster is not known is in the only cluster, and
        left out where there are several.
    Nulls: reports is null without an active instance, its fields if the newest push
        lacks the metric. An active client without telemetry counts as one instance.
    """
    seen = [
        tables[name]
        .where(F.col("received_at").between(since, now))
        .transform(with_cluster, clusters)
        .select(*CLIENT, "received_at")
        for name in (CLIENT_CONFIGS.name, CLIENT_WIRE_CONFIGS.name)
        if name in tables
    ]
    if CLIENT_PUSHES.name not in tables:
        if not seen:
            seen = [_select_nobody(tables[CLIENT_QUOTAS.name])]
        none = F.lit(None).cast(_reports_type()).alias("reports")
        others = _count_without_telemetry(seen, now - expire_after)
        return others.select(*CLIENT, LIVE_INSTANCES, none)
    pushes = tables[CLIENT_PUSHES.name].transform(with_cluster, clusters)
    newest = pushes.transform(select_newest_pushes, since, now)
    is_active = ~F.col("terminating") & (
        F.expr(idle_at_sql("received_at")) >= F.lit(now)
    )
    newest = newest.withColumn("is_active", is_active)
    instances = newest
    if CLIENT_METRICS.name in tables:
        reports = tables[CLIENT_METRICS.name].transform(select_reports, now)
        instances = newest.join(reports, "push_id", "left")
    else:
        no_report = F.lit(None).cast(_reports_type())
        instances = newest.withColumn("reports", no_report)
    told = instances.groupBy(*CLIENT).agg(
        F.count_if("is_active").cast("int").alias(LIVE_INSTANCES),
        _sum_up().alias("reports"),
    )
    if not seen:
        return told
    others = _count_without_telemetry(seen, now - expire_after)
    live = F.coalesce(told[LIVE_INSTANCES], others[LIVE_INSTANCES])
    return others.join(told, [*CLIENT], "full").select(
        *CLIENT, live.alias(LIVE_INSTANCES), "reports"
    )


def _count_without_telemetry(
    seen: Sequence[DataFrame], active_since: datetime
) -> DataFrame:
    """Return CLIENT and live_instances of clients, as if none had telemetry."""
    is_active = F.max("received_at") >= F.lit(active_since)
    every = reduce(DataFrame.union, seen)
    return every.groupBy(*CLIENT).agg(is_active.cast("int").alias(LIVE_INSTANCES))


def _select_nobody(quotas: DataFrame) -> DataFrame:
    """Return CLIENT of no client, where there is no table that shows any."""
    texts = [F.lit("").alias(name) for name in CLIENT if name != "cluster_id"]
    nobody = quotas.select("cluster_id", *texts, F.now().alias("received_at"))
    return nobody.where(F.lit(False)).select(*CLIENT, "received_at")


def with_cluster(rows: DataFrame, clusters: tuple[str, ...]) -> DataFrame:
    """Put cluster_id into rows, the only cluster's where a row has none.

    Rows that are in no cluster then are dropped, and a null client_id becomes empty.
    """
    only = F.lit(clusters[0] if len(clusters) == 1 else None).cast("string")
    known = F.coalesce("cluster_id", only) if "cluster_id" in rows.columns else only
    return (
        rows.withColumn("cluster_id", known)
        .where(F.col("cluster_id").isNotNull())
        .withColumn("client_id", F.coalesce("client_id", F.lit("")))
    )


def select_newest_pushes(
    pushes: DataFrame, since: datetime, now: datetime
) -> DataFrame:
    """Return of each client instance and cluster the newest push in a time.

    Returns: client_instance_id, CLIENT, received_at, push_id, push_interval_ms,
        terminating.
    """
    newest = F.max(
        F.struct("received_at", "push_id", "push_interval_ms", "terminating")
    )
    return (
        pushes.where(F.col("event_date") >= F.lit(since.date()))
        .where(F.col("received_at").between(since, now))
        .groupBy(*_PUSH)
        .agg(newest.alias("newest"))
        .select(*_PUSH, "newest.*")
    )


def select_reports(client_metrics: DataFrame, now: datetime) -> DataFrame:
    """Return what pushes of late say of throttling and rates.

    Points of a topic or a node are passed over: a client has one of the whole.

    Returns: push_id, reports (as in select_quota_clients).
    Nulls: NaN, as of a client that has sent nothing yet, and infinity are null.
    """
    since = now - IDLE_AFTER_INTERVALS * LONGEST_INTERVAL
    wanted = [metric for of_key in REPORTED.values() for metric in of_key.values()]
    number = F.coalesce("value_double", F.col("value_long").cast("double"))
    is_whole = F.col("topic_name").isNull() & F.col("node_id").isNull()
    values = {
        key: {
            column: F.max(F.when(F.col("metric") == metric, F.col("number")))
            for column, metric in of_key.items()
        }
        for key, of_key in REPORTED.items()
    }
    return (
        client_metrics.where(F.col("event_date") >= F.lit(since.date()))
        .where(F.col("received_at").between(since, now))
        .where(F.col("metric").isin(*wanted) & is_whole)
        .withColumn("number", F.when(F.abs(number) < F.lit(math.inf), number))
        .groupBy("push_id")
        .agg(_map_reports(values).alias("reports"))
    )


def _sum_up() -> Column:
    """Return the reports of a client's active instances as one."""
    how = dict(zip(REPORT_COLUMNS, (F.avg, F.max, F.sum), strict=True))
    values = {
        key: {
            column: how[column](
                F.when(F.col("is_active"), F.col("reports")[key].getField(column))
            )
            for column in of_key
        }
        for key, of_key in REPORTED.items()
    }
    return F.when(F.count_if("is_active") > 0, _map_reports(values))


def _map_reports(values: Mapping[str, Mapping[str, Column]]) -> Column:
    pairs: list[Column] = []
    for key, of_key in values.items():
        fields = (value.cast("double").alias(name) for name, value in of_key.items())
        pairs += [F.lit(key), F.struct(*fields)]
    return F.create_map(*pairs)


def _reports_type() -> str:
    fields = ", ".join(f"{name}: DOUBLE" for name in REPORT_COLUMNS)
    return f"MAP<STRING, STRUCT<{fields}>>"
