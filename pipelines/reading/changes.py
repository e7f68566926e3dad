"""Changes since a timestamp: clients, versions, configs, quotas, brokers and findings.

Reads only. Each change is one row. A client that opens a new connection, or starts
another instance, did not appear: it appeared when its first instance was first seen.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .brokers import select_broker_history
from .config_overview import select_changes as select_config_changes
from .quota_overview import select_quota_changes

APPEARED, LEFT, VERSION, CONFIG = "appeared", "left", "version", "config"
QUOTA, BROKER, OPENED, CLOSED = "quota", "broker", "finding opened", "finding closed"
KINDS = (APPEARED, LEFT, VERSION, CONFIG, QUOTA, BROKER, OPENED, CLOSED)
"""Values of the column what."""
CHANGE = (
    *("at", "what", "cluster_id", "principal", "client_id", "client_type", "name"),
    *("before", "after"),
)
_CLIENT = ("cluster_id", "principal", "client_id", "client_type")
_GONE = ("idle", "terminated", "expired")
_HIDDEN = "(hidden)"

Tables = Mapping[str, DataFrame]


def select_changes(tables: Tables, since: datetime) -> DataFrame:
    """Return all changes, newest first.

    Args:
        tables: By name, those of SOURCES that exist.
        since: First timestamp; knows its zone.
    Returns: CHANGE, all texts but at. name is the software of a client that appeared or
        left, the software, config key, quota, broker or rule that changed.
    Nulls: Columns of a client if the change is not about one client; cluster_id, before
        and after if they are unknown, or there is no value.
    """
    parts = [
        select(*(tables[name] for name in names), since)
        for names, select in SOURCES
        if {*names} <= tables.keys()
    ]
    found = reduce(DataFrame.unionByName, parts)
    return found.orderBy(F.desc("at"), "what", *_CLIENT, "name")


def select_appeared(known_clients: DataFrame, since: datetime) -> DataFrame:
    """Return the clients whose first instance was first seen since then, as CHANGE.

    A client that only the proxy knows has no such time: client_wire_configs stores the
    newest sighting of each key, not the first one.
    """
    return known_clients.where(F.col("first_seen") >= F.lit(since)).select(
        *_about_client("first_seen", APPEARED, _software()),
        F.lit(None).cast("string").alias("before"),
        F.col("state").alias("after"),
    )


def select_left(known_clients: DataFrame, since: datetime) -> DataFrame:
    """Return the clients without an active instance that were seen since then."""
    is_gone = F.col("state").isin(*_GONE)
    return known_clients.where(is_gone & (F.col("last_seen") >= F.lit(since))).select(
        *_about_client("last_seen", LEFT, _software()),
        F.lit("active").alias("before"),
        F.col("state").alias("after"),
    )


def select_version_changes(known_instances: DataFrame, since: datetime) -> DataFrame:
    """Return the starts of another version of the software of a client.

    Instances of one version overlap in a roll-out. A version starts when its instance
    starts and no older instance of the client runs that version any more.
    """
    software = (*_CLIENT, "client_software_name")
    of_version = (
        Window.partitionBy(*software, "client_software_version")
        .orderBy("first_seen", "client_instance_id")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    of_client = Window.partitionBy(*software).orderBy(
        "first_seen", "client_software_version"
    )
    held_to = F.max("last_seen").over(of_version)
    starts = (
        known_instances.where(F.col("first_seen").isNotNull())
        .where(F.col("client_software_version").isNotNull())
        .withColumn("held_to", held_to)
        .where(F.col("held_to").isNull() | (F.col("first_seen") > F.col("held_to")))
        .withColumn("before", F.lag("client_software_version").over(of_client))
    )
    is_other = F.col("before") != F.col("client_software_version")
    return starts.where(is_other & (F.col("first_seen") >= F.lit(since))).select(
        *_about_client("first_seen", VERSION, F.col("client_software_name")),
        "before",
        F.col("client_software_version").alias("after"),
    )


def select_values(
    timeline: DataFrame, known_instances: DataFrame, since: datetime
) -> DataFrame:
    """Return the values of configurations that changed, as CHANGE."""
    is_one = F.count_distinct("cluster_id") == 1
    clusters = known_instances.groupBy("logical_client").agg(
        F.when(is_one, F.max("cluster_id")).alias("cluster_id")
    )
    own = timeline.select("logical_client", "principal", "client_id", "client_type")
    named = own.distinct().join(clusters, "logical_client", "left")
    same = [
        F.col(f"c.{name}").eqNullSafe(F.col(f"n.{name}"))
        for name in ("principal", "client_id", "client_type")
    ]
    shown = F.transform("before", lambda one: F.coalesce(one, F.lit(_HIDDEN)))
    changes = select_config_changes(timeline, since)
    return (
        changes.alias("c")
        .join(named.alias("n"), reduce(Column.__and__, same), "left")
        .select("c.*", "n.cluster_id")
        .select(
            *_about_client("valid_from", CONFIG, F.col("config_key")),
            F.array_join(shown, " | ").alias("before"),
            F.coalesce("config_value", F.lit(_HIDDEN)).alias("after"),
        )
    )


def select_quotas(client_quotas: DataFrame, since: datetime) -> DataFrame:
    """Return the quotas that were set, changed or removed, as CHANGE."""
    return select_quota_changes(client_quotas, since).select(
        *_about_cluster(QUOTA, F.concat_ws(" ", "entity_path", "quota_key")),
        F.col("before").cast("string").alias("before"),
        F.col("after").cast("string").alias("after"),
    )


def select_brokers(
    registrations: DataFrame, configs: DataFrame, changes: DataFrame, since: datetime
) -> DataFrame:
    """Return the events of brokers, as CHANGE; after is the event in words."""
    broker = F.concat(F.lit("broker "), F.col("broker_id").cast("string"))
    words = F.concat_ws(" ", "what", F.nullif("detail", F.lit("")))
    history = select_broker_history(registrations, configs, changes)
    return (
        history.where(F.col("at") >= F.lit(since))
        .withColumn("after", words)
        .select(
            *_about_cluster(BROKER, F.coalesce(broker, F.lit("all brokers"))),
            F.lit(None).cast("string").alias("before"),
            "after",
        )
    )


def select_findings(client_findings: DataFrame, since: datetime) -> DataFrame:
    """Return the findings that opened or closed, as CHANGE; values are severities.

    A finding that held at one evaluation only was never open.
    """
    was_open = F.col("until").isNull() | (F.col("since") < F.col("until"))
    known = client_findings.where(was_open).withColumn(
        "cluster_id", F.nullif("cluster_id", F.lit(""))
    )
    none = F.lit(None).cast("string")
    parts = [
        known.where(F.col(column) >= F.lit(since)).select(
            *_about_client(column, what, F.col("rule")),
            before.alias("before"),
            after.alias("after"),
        )
        for column, what, before, after in (
            ("since", OPENED, none, F.col("severity")),
            ("until", CLOSED, F.col("severity"), none),
        )
    ]
    return reduce(DataFrame.unionByName, parts)


SOURCES: tuple[tuple[tuple[str, ...], Callable[..., DataFrame]], ...] = (
    (("known_clients",), select_appeared),
    (("known_clients",), select_left),
    (("known_instances",), select_version_changes),
    (("client_config_timeline", "known_instances"), select_values),
    (("client_quotas",), select_quotas),
    (
        ("broker_registrations", "broker_static_configs", "cluster_changes"),
        select_brokers,
    ),
    (("client_findings",), select_findings),
)
"""Tables and views, and the function that returns their changes."""
SOURCE_NAMES = tuple(dict.fromkeys(name for names, _ in SOURCES for name in names))


def _software() -> Column:
    return F.concat_ws(" ", "client_software_name", "client_software_version")


def _about_client(at: str, what: str, name: Column) -> list[Column]:
    client = [F.col(one) for one in _CLIENT]
    return [F.col(at).alias("at"), F.lit(what).alias("what"), *client, _named(name)]


def _about_cluster(what: str, name: Column) -> list[Column]:
    nobody = [F.lit(None).cast("string").alias(one) for one in _CLIENT[1:]]
    cluster = F.col("cluster_id")
    return [F.col("at"), F.lit(what).alias("what"), cluster, *nobody, _named(name)]


def _named(name: Column) -> Column:
    return name.alias("name")
