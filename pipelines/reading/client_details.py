"""Details of chosen clients: one question for all of them together. Reads only.

Each answer has the column row, which comes with the chosen clients.
"""

from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .client_list import select_limits
from .client_states import ACTIVE, CLIENT_KEY, INSTANCE_KEY, TELEMETRY, same_sql
from .presence import step_of
from .rollups import roll_up
from .throttling import THROTTLE_METRICS

_PRODUCER = "org.apache.kafka.producer."
_CONSUMER = "org.apache.kafka.consumer."
REBALANCES = f"{_CONSUMER}coordinator.rebalance.total"
LINES = (
    f"{_PRODUCER}request.latency.avg",
    f"{_PRODUCER}node.request.latency.avg",
    f"{_PRODUCER}record.queue.time.avg",
    f"{_PRODUCER}outgoing.byte.rate",
    f"{_PRODUCER}records.per.request.avg",
    f"{_PRODUCER}batch.size.avg",
    f"{_CONSUMER}fetch.manager.bytes.consumed.rate",
    f"{_CONSUMER}fetch.manager.records.consumed.rate",
    f"{_CONSUMER}fetch.manager.records.lag.max",
    f"{_CONSUMER}fetch.manager.fetch.latency.avg",
    f"{_CONSUMER}node.request.latency.avg",
    f"{_CONSUMER}coordinator.commit.latency.avg",
    f"{_CONSUMER}poll.idle.ratio.avg",
    f"{_CONSUMER}time.between.poll.max",
    f"{_CONSUMER}coordinator.assigned.partitions",
    *THROTTLE_METRICS,
    f"{_PRODUCER}record.error.total",
    f"{_PRODUCER}record.retry.total",
    REBALANCES,
    f"{_CONSUMER}coordinator.rebalance.latency.total",
)
"""Metrics that a client's page draws, in their order."""


def select_instances(known_instances: DataFrame, chosen: DataFrame) -> DataFrame:
    """Return the instances of chosen clients, the active ones first.

    Args:
        known_instances: The view.
        chosen: row, and CLIENT_KEY.
    Returns: row and the columns of known_instances.
    """
    found = known_instances.alias("i").join(
        F.broadcast(chosen.select("row", *CLIENT_KEY)).alias("c"),
        F.expr(same_sql("i", "c", CLIENT_KEY)),
    )
    return found.select("c.row", "i.*").orderBy(
        "row", (F.col("state") == ACTIVE).desc(), F.desc("last_seen")
    )


def select_kinds(instances: DataFrame, family: Column) -> DataFrame:
    """Return the kind of each client, as rule_coverage counts them.

    Args:
        instances: From select_instances.
        family: Software family of an instance.
    Returns: row, family (of the newest instance), client_type.
    """
    seen_at = F.coalesce("first_seen", "last_seen")
    return instances.groupBy("row").agg(
        F.max_by(family, seen_at).alias("family"),
        F.max("client_type").alias("client_type"),
    )


def select_current_configs(entries: DataFrame, instances: DataFrame) -> DataFrame:
    """Return what chosen clients run with now, what they set themselves first.

    Only active instances count; of a client without any, the one seen last.

    Args:
        entries: client_config_entries or effective_client_configs.
        instances: From select_instances.
    Returns: row, config_key, config_value, source, status, is_default, dynamic_value,
        state (of the dynamic value) and instances.
    Nulls: A hidden value is null; dynamic_value and state of client_config_entries.
    """
    newest = Window.partitionBy("row").orderBy(
        (F.col("state") == ACTIVE).desc(), F.desc("last_seen"), "client_instance_id"
    )
    running = instances.withColumn("place", F.row_number().over(newest)).where(
        (F.col("place") == 1) | (F.col("state") == ACTIVE)
    )
    holders = running.select("row", _holder()).distinct()
    dynamic = [
        F.col(name)
        if name in entries.columns
        else F.lit(None).cast("string").alias(name)
        for name in ("dynamic_value", "state")
    ]
    return (
        entries.withColumn("holder", _holder())
        .select(
            *("holder", "config_key", "config_value", "source", "status", "is_default"),
            *dynamic,
        )
        .join(F.broadcast(holders), "holder")
        .groupBy(
            *("row", "config_key", "config_value", "source", "status", "is_default"),
            *("dynamic_value", "state"),
        )
        .agg(F.count("*").alias("instances"))
        .orderBy(
            *("row", F.coalesce("is_default", F.lit(True))),
            *((F.col("source") == "pushed").desc(), F.desc("source")),
            *("config_key", "config_value"),
        )
    )


def select_holders(entries: DataFrame, instances: DataFrame) -> DataFrame:
    """Return which clients hold each value now that some client set itself.

    Args:
        entries: client_config_entries.
        instances: From select_instances.
    Returns: config_key, config_value, rows (ascending); hidden values are left out.
    """
    active = instances.where(F.col("state") == ACTIVE)
    holders = active.select("row", _holder()).distinct()
    return (
        entries.where(F.col("config_value").isNotNull())
        .where(~F.coalesce("is_default", F.lit(False)))
        .select(_holder(), "config_key", "config_value")
        .join(holders, "holder")
        .groupBy("config_key", "config_value")
        .agg(F.sort_array(F.collect_set("row")).alias("rows"))
    )


def select_quotas(client_quota_use: DataFrame, chosen: DataFrame) -> DataFrame:
    """Return the limits of chosen clients.

    Args:
        client_quota_use: The view.
        chosen: row, and the key of a client.
    Returns: row, used_percent, and the columns of client_quota_use.
    """
    clients = F.broadcast(chosen.select("row", *CLIENT_KEY))
    return (
        select_limits(clients, client_quota_use)
        .withColumn("used_percent", 100 * F.col("use"))
        .orderBy("row", "quota_key")
    )


def select_lines(
    points: DataFrame,
    instances: DataFrame,
    *,
    start: datetime,
    step_ms: int,
) -> DataFrame:
    """Return the metrics of chosen clients over time, by the semantics of each.

    Args:
        points: From points.read_points, of LINES; of cumulative sums one push earlier.
        instances: From select_instances.
        start: Start of step 0.
        step_ms: Length of a step; raised for clients that push less often.
    Returns: row, metric, kind, unit, step, value and amount, as rollups.roll_up has
        them.
    """
    step_s = max(1, -(-step_ms // 1_000))
    interval_ms = F.max("push_interval_ms").over(Window.partitionBy("row"))
    owners = (
        instances.where(F.col("known_by") == TELEMETRY)
        .withColumn("is_slow", F.coalesce(interval_ms > step_s * 1_000, F.lit(False)))
        .select("row", "client_instance_id", "is_slow")
    )
    owned = points.join(F.broadcast(owners), "client_instance_id")
    # One client that pushes each hour makes no window of an hour for the others.
    usual, slow = (
        owned.where(F.col("is_slow") == is_slow).transform(
            roll_up, by=("row",), window_s=step_s
        )
        for is_slow in (False, True)
    )
    return (
        usual.unionByName(slow)
        .withColumn("step", step_of("window_start", start, step_ms))
        .drop("window_start")
    )


def select_changes(
    changes: DataFrame, chosen: DataFrame, *, start: datetime, step_ms: int
) -> DataFrame:
    """Return what changed of chosen clients, newest first.

    Args:
        changes: From changes.select_changes.
        chosen: row, and the key of a client.
        start: Start of step 0.
        step_ms: Length of a step.
    Returns: row, step, at, what, name, before, after. Changes of an unknown cluster
        are of each client of that name.
    """
    clients = F.broadcast(chosen.select("row", *CLIENT_KEY)).alias("c")
    is_name = F.expr(same_sql("x", "c", CLIENT_KEY[1:]))
    is_there = F.coalesce(F.col("x.cluster_id") == F.col("c.cluster_id"), F.lit(True))
    return (
        changes.alias("x")
        .join(clients, is_name & is_there)
        .select("c.row", "at", "what", "name", "before", "after")
        .withColumn("step", step_of("at", start, step_ms))
        .orderBy("row", F.desc("at"), "what", "name")
    )


def select_throttled_steps(
    client_traffic: DataFrame, chosen: DataFrame, *, start: datetime, step_ms: int
) -> DataFrame:
    """Return row and the steps in which brokers throttled chosen clients.

    Args:
        client_traffic: What the proxy counted, of the time.
        chosen: row, and the key of a client.
    """
    is_client = F.expr(
        "t.cluster_id = coalesce(c.cluster_id, t.cluster_id) "
        "AND t.principal = c.principal AND t.client_id = coalesce(c.client_id, '')"
    )
    clients = F.broadcast(chosen.select("row", *CLIENT_KEY)).alias("c")
    throttled = client_traffic.where(F.col("throttle_ms_max") > 0).alias("t")
    return (
        throttled.join(clients, is_client)
        .groupBy("row")
        .agg(F.collect_set(step_of("window_start", start, step_ms)).alias("steps"))
    )


def _holder() -> Column:
    """Return whose a value is."""
    return F.expr(INSTANCE_KEY).alias("holder")
