"""One client in depth: what it did over time, and what happened to it. Reads only."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .client_states import ACTIVE
from .fleet_performance import CONSUMED_BYTES, ERRORS, SENT_BYTES
from .groups import REBALANCE_LATENCY, REBALANCES
from .lag import LAG_MAX
from .latency import name_metrics, select_request_latency
from .naming import with_client
from .points import choose_metrics
from .rollups import instance_values
from .throttling import FETCH_MAX, PRODUCE_MAX

_PRODUCER = "org.apache.kafka.producer."
LATENCY = "request latency, ms"
PANELS = {
    "sent, bytes/s": SENT_BYTES,
    "read, bytes/s": CONSUMED_BYTES,
    "throttled (produce), ms": PRODUCE_MAX,
    "throttled (fetch), ms": FETCH_MAX,
    "errors, records/s": ERRORS,
    "retries, records/s": f"{_PRODUCER}record.retry.rate",
    "behind, records": LAG_MAX,
}
"""What is shown with its unit, to the metric."""
CONFIG_CHANGED, REBALANCED = "configuration changed", "rebalanced"
"""What may happen to a client."""


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


def select_panels(points: DataFrame) -> DataFrame:
    """Return what a client did, as panels of a picture.

    Args:
        points: Of one client, as read_points returns them.
    Returns: cluster_id, at, panel (LATENCY, or one of PANELS), client (as with_client
        names it) and value; panels in their order. A panel in which all values are zero
        is left out: nothing was throttled, nothing failed.
    """
    columns = ("cluster_id", "client_instance_id", "client_id", "at")
    reported = (
        points.transform(choose_metrics, tuple(PANELS.values()))
        .transform(instance_values)
        .select(*columns, "value", name_metrics(PANELS).alias("panel"))
    )
    latency = points.transform(select_request_latency).select(
        *columns, F.col("latency_ms").alias("value"), F.lit(LATENCY).alias("panel")
    )
    every = latency.unionByName(reported).where(F.col("value").isNotNull())
    is_busy = every.groupBy("panel").agg(F.max(F.abs("value")).alias("most"))
    place = F.array_position(F.array(*map(F.lit, (LATENCY, *PANELS))), F.col("panel"))
    return (
        every.join(F.broadcast(is_busy.where("most > 0")), "panel", "left_semi")
        .transform(with_client)
        .orderBy(place, "at", "client")
        .select("cluster_id", "at", "panel", "client", "value")
    )


def select_marks(
    points: DataFrame, changes: DataFrame | None, *, window_s: int
) -> DataFrame:
    """Return at and what: the first event of each kind in each window.

    Args:
        points: Of one client, as read_points returns them.
        changes: From config_overview.select_changes, of the same client; None: unknown.
        window_s: Window length in seconds.
    """
    rebalanced = (
        points.transform(choose_metrics, (REBALANCES, REBALANCE_LATENCY))
        .transform(instance_values)
        .where(F.col("amount") > 0)
        .select("at", F.lit(REBALANCED).alias("what"))
    )
    happened = rebalanced
    if changes is not None:
        changed = F.lit(CONFIG_CHANGED).alias("what")
        happened = happened.union(changes.select("valid_from", changed))
    return (
        happened.groupBy("what", F.window("at", f"{window_s} seconds"))
        .agg(F.min("at").alias("at"))
        .select("at", "what")
    )


def select_configuration(entries: DataFrame, instances: DataFrame) -> DataFrame:
    """Return what a client runs with, what it set itself first.

    Args:
        entries: Rows of client_config_entries of the client.
        instances: Rows of known_instances of the client. Active instances count; if
            none is active, the one seen last.
    Returns: config_key, config_value, status, source, is_pushed, instances (count). A
        hidden value is null.
    """
    is_active = F.col("state") == ACTIVE
    newest = Window.orderBy(F.desc(is_active), F.desc("last_seen"))
    holders = (
        instances.where(F.col("client_instance_id").isNotNull())
        .withColumn("place", F.row_number().over(newest))
        .where(is_active | (F.col("place") == 1))
        .select("client_instance_id")
    )
    # The proxy alone has reported values without an instance.
    of_proxy = entries.where(F.col("client_instance_id").isNull())
    columns = ("config_key", "config_value", "status", "source", "is_pushed")
    return (
        entries.join(F.broadcast(holders), "client_instance_id", "left_semi")
        .unionByName(of_proxy)
        .groupBy(*columns, "is_default")
        .agg(F.countDistinct("client_instance_id").alias("instances"))
        .orderBy(
            F.coalesce("is_default", F.lit(False)), F.desc("is_pushed"), "config_key"
        )
        .drop("is_default")
    )
