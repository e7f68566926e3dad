"""Configurations at a moment, what differs between two, and who disagrees. Reads only.

A value is what was pushed. A null one was hidden: history and ledger hold no references
to defaults, and client_config_entries has filled them in. Two hidden values count as
the same, for nobody can tell.
"""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

LOGICAL_CLIENT = ("logical_client", "principal", "client_id", "client_type")
VALUE = ("config_key", "config_value", "is_default")

# The SQL functions are made of the same texts.
BY_VALUE = {
    "is_before": "bool_or(side = 1)",
    "is_after": "bool_or(side = 2)",
    "default_before": "bool_or(side = 1 AND is_default)",
    "default_after": "bool_or(side = 2 AND is_default)",
}
"""Aggregates of one value of one key over both sides."""
BY_KEY = {
    "before": "sort_array(collect_list(IF(is_before, named_struct('config_value', "
    "config_value, 'is_default', default_before), NULL)))",
    "after": "sort_array(collect_list(IF(is_after, named_struct('config_value', "
    "config_value, 'is_default', default_after), NULL)))",
    "is_different": "bool_or(is_before <> is_after)",
}
"""Aggregates of one key over its values."""
CHANGE = (
    "CASE WHEN size(before) = 0 THEN 'added' WHEN size(after) = 0 THEN 'removed' "
    "ELSE 'changed' END"
)


def select_configs_at(timeline: DataFrame, at: datetime) -> DataFrame:
    """Return the values that logical clients had at a moment.

    Args:
        timeline: client_config_timeline, or client_config_history.
        at: The moment; knows its zone.
    Returns: LOGICAL_CLIENT, VALUE, config_type, client_instance_ids.
    Shape: One row for each value; several of one key where instances disagreed.
    """
    moment = F.lit(at)
    is_over = F.coalesce(F.col("valid_to") <= moment, F.lit(col=False))
    return timeline.where((F.col("valid_from") <= moment) & ~is_over).select(
        *LOGICAL_CLIENT, *VALUE, "config_type", "client_instance_ids"
    )


def read_instance_configs_at(
    spark: SparkSession, client_configs: DataFrame, at: datetime
) -> DataFrame:
    """Return the same as select_instance_configs_at, from client_config_pushes."""
    pushes = spark.table("client_config_pushes")
    return select_instance_configs_at(pushes, client_configs, at)


def select_instance_configs_at(
    client_config_pushes: DataFrame, client_configs: DataFrame, at: datetime
) -> DataFrame:
    """Return the values that client instances had pushed last at a moment.

    Args:
        client_config_pushes: The table; pushes that were not decoded are passed over.
        client_configs: The table, or part of it: the client instances that are meant,
            and who they are, by all that they pushed.
        at: The moment; knows its zone.
    Returns: As select_configs_at; client_instance_ids holds the one.
    Shape: One row for each client instance and key.
    """
    newest = F.max_by("configs", F.struct("received_at", "push_id"))
    clients = client_configs.select("client_instance_id", *LOGICAL_CLIENT)
    return (
        client_config_pushes.where(F.col("decode_status") == "ok")
        .where(F.col("received_at") <= F.lit(at))
        .groupBy("client_instance_id")
        .agg(newest.alias("configs"))
        .join(clients, "client_instance_id")
        .select("*", F.inline("configs"))
        .withColumn("client_instance_ids", F.array("client_instance_id"))
        .select(*LOGICAL_CLIENT, *VALUE, "config_type", "client_instance_ids")
    )


def collect_instances(values: DataFrame) -> DataFrame:
    """Return values of client instances, one row for all that have the same.

    Args:
        values: From select_instance_configs_at.
    Returns: The same columns; client_instance_ids holds all of them, sorted.
    """
    names = [name for name in values.columns if name != "client_instance_ids"]
    instances = F.sort_array(F.flatten(F.collect_list("client_instance_ids")))
    return values.groupBy(*names).agg(instances.alias("client_instance_ids"))


def client_config_diff(
    before: DataFrame, after: DataFrame, *, by: Sequence[str] = ()
) -> DataFrame:
    """Return the keys whose values differ between two configurations.

    Args:
        before: VALUE and by, of one client at a moment, or of one of two clients.
        after: VALUE and by, of the same client at another moment, or of the other one.
        by: Columns that tell clients apart where each side has several of them, as
            LOGICAL_CLIENT does; without them all of a side count as one, since two
            clients that are compared differ in these columns.
    Returns: by, config_key, before and after (arrays of struct config_value,
        is_default, sorted), change (added, removed, changed); by by and config_key.
    Shape: One row a key, of each client that by tells apart. A value that is the
        default on one side and was set to the same on the other is no difference.
    Nulls: config_value is null where it was hidden.
    """
    key = [*by, "config_key"]
    sides = before.select(*by, *VALUE, F.lit(1).alias("side")).unionByName(
        after.select(*by, *VALUE, F.lit(2).alias("side"))
    )
    return (
        sides.groupBy(*key, "config_value")
        .agg(*(F.expr(text).alias(name) for name, text in BY_VALUE.items()))
        .groupBy(*key)
        .agg(*(F.expr(text).alias(name) for name, text in BY_KEY.items()))
        .where("is_different")
        .select(*key, "before", "after", F.expr(CHANGE).alias("change"))
        .orderBy(*key)
    )
