"""One client in depth: what it did over time, and what happened to it. Reads only."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .groups import REBALANCE_LATENCY, REBALANCES
from .overview import select_request_latency, with_client, with_value
from .rollups import with_amounts

_PRODUCER = "org.apache.kafka.producer."
_CONSUMER = "org.apache.kafka.consumer."
LATENCY = "request latency, ms"
PANELS = {
    "sent, bytes/s": f"{_PRODUCER}outgoing.byte.rate",
    "read, bytes/s": f"{_CONSUMER}fetch.manager.bytes.consumed.rate",
    "throttled (produce), ms": f"{_PRODUCER}produce.throttle.time.max",
    "throttled (fetch), ms": f"{_CONSUMER}fetch.manager.fetch.throttle.time.max",
    "errors, records/s": f"{_PRODUCER}record.error.rate",
    "retries, records/s": f"{_PRODUCER}record.retry.rate",
    "behind, records": f"{_CONSUMER}fetch.manager.records.lag.max",
}
"""What is shown with its unit, to the metric."""
CONFIG_CHANGED, REBALANCED = "configuration changed", "rebalanced"
"""What may happen to a client."""
_MOST_MARKS = 40


def find_busiest(clients: DataFrame) -> str:
    """Return the client id with most pushes; empty where there is none.

    Args:
        clients: The view, or part of it.
    """
    found = (
        clients.where(F.col("client_id").isNotNull())
        .groupBy("client_id")
        .agg(F.sum("pushes").alias("pushes"))
        .orderBy(F.desc("pushes"), "client_id")
        .first()
    )
    return "" if found is None else str(found["client_id"])


def select_panels(client_metrics: DataFrame) -> DataFrame:
    """Return what a client did, as panels of a picture.

    Args:
        client_metrics: Points of one client.
    Returns: received_at, panel (LATENCY, or one of PANELS), client (as with_client
        names it) and value; panels in their order. One in which all values are zero
        is left out: nothing was throttled, nothing failed.
    """
    names = F.create_map(*(F.lit(one) for pair in PANELS.items() for one in pair[::-1]))
    told = (
        client_metrics.where(F.col("metric").isin(*PANELS.values()))
        .where(F.col("topic_name").isNull() & F.col("node_id").isNull())
        .transform(with_value)
        .select(
            *("client_instance_id", "client_id", "received_at", "value"),
            names[F.col("metric")].alias("panel"),
        )
    )
    latency = client_metrics.transform(select_request_latency).select(
        *("client_instance_id", "client_id", "received_at"),
        F.col("latency_ms").alias("value"),
        F.lit(LATENCY).alias("panel"),
    )
    every = latency.unionByName(told).where(F.col("value").isNotNull())
    is_busy = every.groupBy("panel").agg(F.max(F.abs("value")).alias("most"))
    place = F.array_position(F.array(*map(F.lit, (LATENCY, *PANELS))), F.col("panel"))
    return (
        every.join(F.broadcast(is_busy.where("most > 0")), "panel", "left_semi")
        .transform(with_client)
        .orderBy(place, "received_at", "client")
        .select("received_at", "panel", "client", "value")
    )


def select_marks(client_metrics: DataFrame, changes: DataFrame | None) -> DataFrame:
    """Return what happened to a client: at and what, the newest of each kind.

    Args:
        client_metrics: Points of one client.
        changes: From config_overview.select_changes, of the same client; None: not
            known.
    """
    rebalanced = (
        client_metrics.where(F.col("metric").isin(REBALANCES, REBALANCE_LATENCY))
        .transform(with_amounts)
        .where(F.col("amount") > 0)
        .select(F.col("received_at").alias("at"), F.lit(REBALANCED).alias("what"))
        .distinct()
        .orderBy(F.desc("at"))
        .limit(_MOST_MARKS)
    )
    if changes is None:
        return rebalanced
    changed = (
        changes.select(
            F.col("valid_from").alias("at"), F.lit(CONFIG_CHANGED).alias("what")
        )
        .distinct()
        .orderBy(F.desc("at"))
        .limit(_MOST_MARKS)
    )
    return rebalanced.union(changed)


def select_configuration(client_config_entries: DataFrame) -> DataFrame:
    """Return what a client runs with, what it set itself first.

    Returns: config_key, config_value, status, source, is_pushed, instances (count).
    Nulls: A hidden value is null.
    """
    return (
        client_config_entries.groupBy(
            *(
                "config_key",
                "config_value",
                "status",
                "source",
                "is_pushed",
                "is_default",
            )
        )
        .agg(F.countDistinct("client_instance_id").alias("instances"))
        .orderBy(
            F.coalesce("is_default", F.lit(False)), F.desc("is_pushed"), "config_key"
        )
        .drop("is_default")
    )
