"""Answers about brokers: differences of their configs, and changes. Reads only."""

from datetime import datetime, timedelta
from functools import reduce

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

NAMES_BROKER = (
    *("advertised.listeners", "broker.id", "broker.rack", "controller.listener.names"),
    *("listeners", "log.dir", "log.dirs", "metadata.log.dir", "node.id"),
)
"""Configs that say which broker it is, and that ought to differ."""
NOT_TOLD = "not told"
"""Source of a config that other brokers have told, and one has not."""
_VALUE = ("config_value", "source", "effective_value", "effective_source")
_GRACE = timedelta(minutes=10)
"""For a full snapshot to reach the tables."""
_OF_LOOKS = "^(fenced|unfenced|(rack|endpoints|static configs) .* -> .*)$"
"""Parts of what a registration has changed that are events of their own: a look has no
other record to tell them by."""
_OWN_EVENTS = (
    *("RegisterBroker", "FenceBroker", "UnfenceBroker", "BrokerRegistrationChange"),
    "Config",
)


def with_last_observation(
    brokers: DataFrame, changes: DataFrame, now: datetime, full_set: timedelta
) -> DataFrame:
    """Add observed_at, and replace the state `live` by `unknown` if that is too old.

    Args:
        brokers: Rows of the view brokers.
        changes: Rows of cluster_changes.
        now: The time of the answer; knows its zone.
        full_set: Interval between full snapshots, each of which observes the cluster
            again, even if nothing changed.
    Nulls: observed_at of a cluster that no bridge observed: a file is read once, and
        never becomes outdated.
    """
    newest = F.max("observed_at")
    observed = changes.groupBy("cluster_id").agg(
        F.when(F.max_by("source", "offset") != "file", newest).alias("observed_at")
    )
    is_old = F.col("observed_at") < F.lit(now - full_set - _GRACE)
    state = F.when(is_old & (F.col("state") == "live"), "unknown")
    return brokers.join(F.broadcast(observed), "cluster_id", "left").withColumn(
        "state", F.coalesce(state, "state")
    )


def select_drift(configs: DataFrame) -> DataFrame:
    """Return the configs in which brokers of one cluster differ.

    Args:
        configs: Rows of broker_configs of the brokers to compare.
    Returns: cluster_id, config_name, config_value, source, effective_value,
        effective_source, and brokers (sorted IDs): a row for each value of a config
        whose static or effective value is not equal on all brokers of the cluster.
    """
    brokers = configs.select("cluster_id", "broker_id").distinct()
    names = configs.select("cluster_id", "config_name").distinct()
    key = ["cluster_id", "config_name"]
    told = configs.select(*key, "broker_id", *_VALUE)
    every = names.join(F.broadcast(brokers), "cluster_id").join(
        told, [*key, "broker_id"], "left"
    )
    every = every.withColumn("source", F.coalesce("source", F.lit(NOT_TOLD)))
    values = every.groupBy(*key, *_VALUE).agg(
        F.sort_array(F.collect_set("broker_id")).alias("brokers")
    )
    of_name = Window.partitionBy(*key)
    # A default that somebody has written down is no other value.
    what = F.struct("config_value", F.col("source") == NOT_TOLD, "effective_value")
    differing = values.withColumn("kinds", F.size(F.collect_set(what).over(of_name)))
    return differing.where("kinds > 1").drop("kinds")


def select_drift_cells(drift: DataFrame) -> DataFrame:
    """Return for a picture: cluster_id, config_name, broker (its ID) and value.

    Args:
        drift: From select_drift.
    Returns: The value as text: the effective one if it is known, else the static one.
    """
    known = F.coalesce("effective_value", "config_value")
    is_missing = F.col("source") == NOT_TOLD
    value = F.when(is_missing, F.lit(NOT_TOLD)).otherwise(
        F.coalesce(known, F.lit("null"))
    )
    return (
        drift.select(
            *("cluster_id", "config_name", value.alias("value")),
            F.explode("brokers").alias("broker_id"),
        )
        .withColumn("broker", F.col("broker_id").cast("string"))
        .orderBy("config_name", "cluster_id", "broker_id")
        .select("cluster_id", "config_name", "broker", "value")
    )


def read_changes(spark: SparkSession) -> DataFrame:
    """Return what changed in the clusters, newest first.

    Returns: valid_from, cluster_id, record_type, entity, change, source.
    """
    return (
        spark.table("cluster_changes")
        .where("change IS NOT NULL AND record_type <> 'full_set'")
        .orderBy(F.desc("valid_from"), F.desc("offset"))
        .select("valid_from", "cluster_id", "record_type", "entity", "change", "source")
    )


def count_changes(changes: DataFrame) -> DataFrame:
    """Count what has changed, by day and type of record.

    Args:
        changes: From read_changes.
    Returns: day, record_type and changes.
    """
    day = F.date_trunc("day", "valid_from").alias("day")
    counted = changes.groupBy(day, "record_type").agg(F.count("*").alias("changes"))
    return counted.orderBy("day", "record_type")


def select_broker_history(
    registrations: DataFrame, configs: DataFrame, changes: DataFrame
) -> DataFrame:
    """Return what happened to brokers.

    Args:
        registrations: Of broker_registrations.
        configs: Of broker_static_configs.
        changes: Of cluster_changes.
    Returns: at, cluster_id, broker_id, what and detail, a row for each event. The first
        registration of a broker with its configs is one event.
    Nulls: broker_id of a dynamic default, which applies to all brokers.
    """
    began = registrations.select(
        F.col("registered_at").alias("at"),
        *("cluster_id", "broker_id"),
        F.lit("registered").alias("what"),
        F.concat(
            F.lit("incarnation "),
            "incarnation_id",
            F.coalesce(F.concat(F.lit(", epoch "), "broker_epoch"), F.lit("")),
        ).alias("detail"),
    )
    ended = registrations.where("ended_at IS NOT NULL").select(
        F.col("ended_at").alias("at"),
        *("cluster_id", "broker_id"),
        F.col("end_reason").alias("what"),
        F.concat(F.lit("incarnation "), "incarnation_id").alias("detail"),
    )
    events = _select_events(changes)
    changed = select_static_changes(configs)
    # Of one moment, in the order in which it must have happened.
    parts = [
        part.withColumn("place", F.lit(place))
        for place, part in enumerate((ended, began, events, changed))
    ]
    every = reduce(DataFrame.unionByName, parts)
    order = ("at", "cluster_id", "broker_id", "place", "what")
    return every.orderBy(*order).drop("place")


def _select_events(changes: DataFrame) -> DataFrame:
    """Say what the ledger tells of brokers, as select_broker_history says it."""
    told = changes.where(F.col("record_type").isin(*_OWN_EVENTS)).where(
        "change IS NOT NULL AND entity RLIKE '^brokers/[0-9]*$'"
    )
    is_config = F.col("record_type") == "Config"
    name = F.substring_index("change", " ", 1)
    rest = F.expr("substring(change, length(substring_index(change, ' ', 1)) + 2)")
    is_default = F.col("entity") == "brokers/"
    kind = F.when(is_default, "dynamic default").otherwise("dynamic")
    parts = F.filter(F.split("change", "; "), lambda one: one.rlike(_OF_LOOKS))
    is_look = F.col("record_type") == "RegisterBroker"
    events = told.select(
        F.col("valid_from").alias("at"),
        "cluster_id",
        F.expr("try_cast(substring_index(entity, '/', -1) AS INT)").alias("broker_id"),
        F.when(is_config, name)
        .when(is_look, F.array_join(parts, "; "))
        .otherwise(F.col("change"))
        .alias("what"),
        F.when(is_config, F.concat(rest, F.lit(" ("), kind, F.lit(")")))
        .otherwise(F.lit(""))
        .alias("detail"),
    )
    return events.where("what != ''")


def select_static_changes(configs: DataFrame) -> DataFrame:
    """Say how static values changed, as select_broker_history says it."""
    of_config = Window.partitionBy("cluster_id", "broker_id", "config_name").orderBy(
        "valid_from"
    )
    before = F.lag(F.struct("config_value", "incarnation_id")).over(of_config)
    now = configs.withColumn("before", before)
    differing = now.where("before IS NOT NULL").where(
        ~F.col("config_value").eqNullSafe(F.col("before.config_value"))
    )
    is_new = F.col("incarnation_id") != F.col("before.incarnation_id")
    null = F.lit("null")
    return differing.select(
        F.col("valid_from").alias("at"),
        *("cluster_id", "broker_id"),
        F.col("config_name").alias("what"),
        F.concat(
            F.coalesce("before.config_value", null),
            F.lit(" -> "),
            F.coalesce("config_value", null),
            F.when(is_new, F.lit(" (static, new incarnation)")).otherwise(
                F.lit(" (static)")
            ),
        ).alias("detail"),
    )
