"""The configuration of each client instance: its newest push.

A row is compared by the coordinates of its push alone, so that the wide column of the
table is read only where that push is already there, and may be told otherwise now.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.client_config_tables import CLIENT_CONFIGS

KEY = CLIENT_CONFIGS.merge_key[0]
NEWEST = CLIENT_CONFIGS.newest_by
PUSH_COLUMNS = CLIENT_CONFIGS.column_names
"""What of a push decides what its client instance is; configs as they were pushed."""
PLACE = ("client_software_name", "client_software_version", "client_type")
_ENTRY = (
    "config_value", "config_type", "is_default", "status", "value_boolean",
    "value_long", "value_double", "value_list", "value_string",
)  # fmt: skip


def filter_newest(pushes: DataFrame) -> DataFrame:
    """Keep the newest push of each client instance."""
    order = F.struct(*NEWEST)
    newest = F.max_by(F.struct(*PUSH_COLUMNS), order).alias("push")
    return pushes.groupBy(KEY).agg(newest).select("push.*")


def with_known_push(pushes: DataFrame, known: DataFrame) -> DataFrame:
    """Put beside each push whether the table has its client instance, and is as new.

    Args:
        pushes: One for each client instance.
        known: KEY, NEWEST and position of the rows that the table has of them.
    Returns: The same, with is_newer (than the row that the table has, or it has none),
        is_same (the push that the table has) and the position of that row.
    """
    rows = known.select(KEY, F.struct(*NEWEST).alias("known"), "position")
    order = F.struct(*NEWEST)
    joined = pushes.join(rows, KEY, "left")
    return joined.select(
        *pushes.columns,
        (F.col("known").isNull() | (order > F.col("known"))).alias("is_newer"),
        F.coalesce(order == F.col("known"), F.lit(False)).alias("is_same"),
        "position",
    )


def count_kinds(pushes: DataFrame) -> DataFrame:
    """Count pushes: those of known client instances, and those known themselves."""
    return pushes.agg(
        F.count("position").alias("is_known"), F.count_if("is_same").alias("is_same")
    )


def filter_concerned(
    configs: DataFrame, changed: DataFrame, pushes: DataFrame
) -> DataFrame:
    """Keep the rows whose statuses may have changed, by key and push.

    Args:
        configs: The table.
        changed: PLACE (an unknown type is empty) and config_keys, whose defaults have
            changed.
        pushes: Those of this batch that are looked at anyway.
    """
    client_type = F.coalesce(PLACE[2], F.lit("")).alias(PLACE[2])
    has = F.map_keys("configs").alias("has")
    rows = configs.select(KEY, *NEWEST, *PLACE[:2], client_type, has)
    concerned = rows.join(F.broadcast(changed), [*PLACE]).where(
        F.arrays_overlap("has", "config_keys")
    )
    others = concerned.join(pushes.select(KEY), KEY, "left_anti")
    return others.select(KEY, *NEWEST)


def filter_pushes(ledger: DataFrame, wanted: DataFrame) -> DataFrame:
    """Keep the pushes of the ledger that are wanted, by key and NEWEST."""
    columns = [KEY, *NEWEST]
    return ledger.select(*PUSH_COLUMNS).join(
        F.broadcast(wanted.select(*columns)), columns, "left_semi"
    )


def filter_told_otherwise(rows: DataFrame, configs: DataFrame) -> DataFrame:
    """Keep rows of client_configs that the table, which has their pushes, says not so.

    Args:
        rows: From select_configs.
        configs: The table, with position.
    Returns: The same, with the position of the row that the table has.
    """
    known = configs.select(KEY, F.map_entries("configs").alias("known"), "position")
    same = known.join(F.broadcast(rows.select(KEY)), KEY, "left_semi")
    joined = rows.join(same, KEY).where(
        ~F.map_entries("configs").eqNullSafe(F.col("known"))
    )
    return joined.select(*PUSH_COLUMNS, "position")


def select_configs(pushes: DataFrame) -> DataFrame:
    """End a chain: the columns of client_configs, and others that are there.

    Args:
        pushes: From udfs.spark_configs.with_statuses.
    """
    by_key = F.map_from_entries(F.transform("configs", _as_map_entry))
    return pushes.withColumn("configs", by_key)


def _as_map_entry(entry: Column) -> Column:
    held = F.struct(*(entry[name].alias(name) for name in _ENTRY))
    return F.struct(entry["config_key"].alias("key"), held.alias("value"))
