"""Answers about configurations: software, values that are set, and changes.

Reads only. Entries are rows of the view active_config_entries.
"""

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .config_diffs import LOGICAL_CLIENT

MOST_VALUES = 20
"""Bars of a picture that can be read."""
_EXAMPLES = 3


def select_who_runs_what(known_instances: DataFrame) -> DataFrame:
    """Return one row for each software, version and client type that is active.

    Args:
        known_instances: The view, or part of it.
    Returns: software, client_type, clients, instances (counts), last_seen.
    """
    software = F.concat_ws(" ", "client_software_name", "client_software_version")
    client = F.struct("cluster_id", "principal", "client_id", "client_type")
    return (
        known_instances.where(F.col("state") == "active")
        .groupBy(software.alias("software"), "client_type")
        .agg(
            F.count_distinct(client).alias("clients"),
            F.count("client_instance_id").alias("instances"),
            F.max("last_seen").alias("last_seen"),
        )
        .orderBy(F.desc("clients"), F.desc("instances"), "software", "client_type")
    )


def select_dynamic_configs(effective_client_configs: DataFrame) -> DataFrame:
    """Return what is set dynamically for each client, and what became of it.

    Returns: client_id, principal, client_type, config_key, dynamic_value,
        dynamic_source, state, config_value (in force, as far as it is known), source,
        wire_value, is_obeyed, dynamic_since, client_instance_id; what is not applied
        first.
    """
    return (
        effective_client_configs.where(F.col("state").isNotNull())
        .select(
            *("client_id", "principal", "client_type", "config_key", "dynamic_value"),
            *("dynamic_source", "state", "config_value", "source", "wire_value"),
            *("is_obeyed", "dynamic_since", "client_instance_id"),
        )
        .orderBy(
            *(F.col("state") == "applied", "config_key", "state"),
            *("principal", "client_id", "client_instance_id"),
        )
    )


def select_overridden_keys(client_config_entries: DataFrame) -> DataFrame:
    """Return the keys that clients set themselves, the most frequent first.

    A value that a client reports as a default is not set, even if the value is hidden
    or invalid.

    Returns: config_key, logical_clients, instances (counts), different_values, status
        (the different ones, sorted), examples (up to three values, the most usual
        first).
    Nulls: A redacted value is counted as a value, once, and never an example.
    """
    is_set = ~F.coalesce("is_default", F.lit(False))
    known = client_config_entries.where(F.col("is_pushed") & is_set)
    by_value = known.groupBy("config_key", "config_value").agg(
        F.collect_set("logical_client").alias("holders"),
        F.count("*").alias("instances"),
        F.collect_set("status").alias("statuses"),
    )
    usual = F.struct(-F.col("instances"), "config_value")
    examples = F.sort_array(
        F.collect_list(F.when(F.col("config_value").isNotNull(), usual))
    )
    return (
        by_value.groupBy("config_key")
        .agg(
            F.size(F.array_distinct(F.flatten(F.collect_list("holders")))).alias(
                "logical_clients"
            ),
            F.sum("instances").alias("instances"),
            F.count("*").alias("different_values"),
            F.concat_ws(
                ", ",
                F.sort_array(F.array_distinct(F.flatten(F.collect_list("statuses")))),
            ).alias("status"),
            F.concat_ws(
                " | ", F.slice(examples, 1, _EXAMPLES).getField("config_value")
            ).alias("examples"),
        )
        .orderBy(F.desc("logical_clients"), F.desc("instances"), "config_key")
    )


def select_set_values(client_config_entries: DataFrame) -> DataFrame:
    """Return each value that is not a default, and who has it.

    Returns: config_key, config_value, status, client_type, client_id, principal,
        instances (count).
    Nulls: A hidden value is null.
    """
    who = ("client_type", "client_id", "principal")
    return (
        client_config_entries.where(F.col("is_pushed") & ~F.col("is_default"))
        .groupBy("config_key", "config_value", "status", *who)
        .agg(F.count("*").alias("instances"))
        .orderBy("config_key", F.desc("instances"), "client_id")
    )


def select_value_spread(client_config_entries: DataFrame, config_key: str) -> DataFrame:
    """Return how many clients have each value of one key.

    Returns: value, clients, instances; the most frequent first, at most MOST_VALUES.
    Nulls: A hidden value is `(hidden)`. Clients that did not push the key, and whose
        default is unknown, are not counted.
    """
    value = F.coalesce("config_value", F.lit("(hidden)"))
    label = F.when(F.col("is_default"), F.concat(value, F.lit(" (default)")))
    return (
        client_config_entries.where(F.col("config_key") == config_key)
        .groupBy(F.coalesce(label, value).alias("value"))
        .agg(
            F.count_distinct(F.struct("cluster_id", "logical_client")).alias("clients"),
            F.count("*").alias("instances"),
        )
        .orderBy(F.desc("clients"), F.desc("instances"), "value")
        .limit(MOST_VALUES)
    )


def select_changes(timeline: DataFrame, since: datetime) -> DataFrame:
    """Return the values that logical clients took up since a moment, newest first.

    Args:
        timeline: client_config_timeline, or client_config_history.
        since: The moment; knows its zone.
    Returns: valid_from, client_id, client_type, principal, config_key, config_value,
        before (sorted: the values held just before this one began, or else those that
        ended last), valid_to.
    Shape: One row for each value of a key that had others before; the first
        configuration of a logical client is no change, and neither is a value that was
        among those before.
    Nulls: A hidden value is null, in before as well.
    """
    row = [*LOGICAL_CLIENT, "config_key", "config_value", "valid_from", "valid_to"]
    earlier = timeline.select(
        "logical_client",
        "config_key",
        F.col("config_value").alias("earlier_value"),
        F.col("valid_from").alias("earlier_from"),
        F.col("valid_to").alias("earlier_to"),
    )
    # Of a null and a time, least() takes the time: what is held still ended last.
    ended = F.least("earlier_to", "valid_from").alias("ended")
    # As structs, for collect_set() leaves nulls out.
    values = F.sort_array(F.collect_set(F.struct("earlier_value")))
    is_among = F.exists("before", lambda one: one.eqNullSafe(F.col("config_value")))
    is_earlier = F.col("earlier_from") < F.col("valid_from")
    return (
        timeline.where(F.col("valid_from") >= F.lit(since))
        .join(earlier, ["logical_client", "config_key"])
        .where(is_earlier)
        .groupBy(*row, ended)
        .agg(values.getField("earlier_value").alias("values"))
        .groupBy(*row)
        .agg(F.max_by("values", "ended").alias("before"))
        .where(~is_among)
        .orderBy(F.desc("valid_from"), "client_id", "config_key")
        .select(
            "valid_from",
            "client_id",
            "client_type",
            "principal",
            "config_key",
            "before",
            "config_value",
            "valid_to",
        )
    )
