"""The configuration of each client instance: its newest push.

A row is compared by the coordinates of its push alone, so that the wide column of the
table is read only where that push is already there, and may be told otherwise now.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.configs import CLIENT_CONFIGS

from .types import WHO, join_same, list_keys

KEY = CLIENT_CONFIGS.merge_key[0]
NEWEST = CLIENT_CONFIGS.newest_by
PUSH_COLUMNS = CLIENT_CONFIGS.column_names
"""What of a push decides what its client instance is; configs as they were pushed."""
PLACE = ("client_software_name", "client_software_version", "client_type")
NAMED = ("client_type", "logical_client")
"""What all pushes of a client instance say together."""
_ENTRY = (
    "config_value", "config_type", "is_default", "status", "value_boolean",
    "value_long", "value_double", "value_list", "value_string",
)  # fmt: skip


def filter_newest(pushes: DataFrame) -> DataFrame:
    """Keep the newest push of each client instance; add pushes, their number.

    Of a record that Kafka holds twice the first one counts.
    """
    first = (-F.col("partition"), -F.col("offset"))
    order = F.struct(*NEWEST, *first)
    newest = F.max_by(F.struct(*PUSH_COLUMNS), order).alias("push")
    count = F.count("*").alias("pushes")
    return pushes.groupBy(KEY).agg(newest, count).select("push.*", "pushes")


def with_known_push(pushes: DataFrame, known: DataFrame) -> DataFrame:
    """Put beside each push whether the table has its client instance, and is as new.

    Args:
        pushes: One for each client instance.
        known: KEY, NEWEST and position of the rows that the table has of them.
    Returns: The same, with is_newer (than the row that the table has, or it has none),
        is_same (the push that the table has), is_late (neither) and the position of
        that row.
    """
    rows = known.select(KEY, F.struct(*NEWEST).alias("known"), "position")
    order = F.struct(*NEWEST)
    joined = pushes.join(rows, KEY, "left")
    return joined.select(
        *pushes.columns,
        (F.col("known").isNull() | (order > F.col("known"))).alias("is_newer"),
        F.coalesce(order == F.col("known"), F.lit(False)).alias("is_same"),
        F.coalesce(order < F.col("known"), F.lit(False)).alias("is_late"),
        "position",
    )


def count_kinds(pushes: DataFrame) -> DataFrame:
    """Count client instances.

    Args:
        pushes: From with_known_push, of filter_newest.
    Returns: is_known (the table has them), is_repeated (they pushed several times),
        is_same and is_late.
    """
    return pushes.agg(
        F.count("position").alias("is_known"),
        F.count_if(F.col("pushes") > 1).alias("is_repeated"),
        F.count_if("is_same").alias("is_same"),
        F.count_if("is_late").alias("is_late"),
    )


def select_told_keys(
    pushes: DataFrame, ledger: DataFrame, newest: DataFrame
) -> DataFrame:
    """Return WHO and config_keys of all pushes of some client instances.

    Args:
        pushes: Of this batch.
        ledger: Those known; only client instances that the table has may be in it.
        newest: From with_known_push, of the batch.
    """
    known = F.broadcast(newest.where("position IS NOT NULL").select(KEY))
    old = ledger.select(*WHO, list_keys()).join(known, KEY, "left_semi")
    return pushes.select(*WHO, list_keys()).unionByName(old.select(*WHO, "config_keys"))


def select_late(configs: DataFrame, newest: DataFrame, types: DataFrame) -> DataFrame:
    """Return rows of the table of which the batch has only older pushes.

    Args:
        configs: The table.
        newest: From with_known_push, of the batch.
        types: WHO and POSSIBLE of the batch's client instances.
    Returns: WHO, NEWEST, known_type (that of the table) and POSSIBLE.
    """
    late = F.broadcast(newest.where("is_late").select(KEY))
    known_type = F.col("client_type").alias("known_type")
    rows = configs.select(*WHO, *NEWEST, known_type).join(late, KEY, "left_semi")
    return join_same(rows, types, WHO, "inner")


def filter_retyped(late: DataFrame) -> DataFrame:
    """Keep rows whose type is another one now; return KEY, NEWEST and NAMED.

    Args:
        late: From select_late, with NAMED.
    """
    retyped = late.where("NOT client_type <=> known_type")
    return retyped.select(KEY, *NEWEST, *NAMED)


def select_concerned(configs: DataFrame, changed: DataFrame) -> DataFrame:
    """Return rows whose statuses may have changed: KEY, NEWEST and NAMED.

    Args:
        configs: The table.
        changed: PLACE (an unknown type is empty) and config_keys, whose defaults have
            changed.
    """
    places = changed.withColumnsRenamed({name: f"changed_{name}" for name in PLACE})
    known = {name: F.coalesce(name, F.lit("")) for name in PLACE}
    is_there = [known[name] == F.col(f"changed_{name}") for name in PLACE]
    has = F.map_keys("configs").alias("has")
    rows = configs.select(KEY, *NEWEST, *PLACE, "logical_client", has)
    concerned = rows.join(F.broadcast(places), is_there).where(
        F.arrays_overlap("has", "config_keys")
    )
    return concerned.select(KEY, *NEWEST, *NAMED)


def choose_wanted(again: Sequence[DataFrame], newest: DataFrame) -> DataFrame:
    """Return rows that are looked at again, once: KEY, NEWEST and NAMED.

    Args:
        again: Some of them each; of a client instance the first one's counts.
        newest: From with_known_push, of the batch; what it writes or looks at anyway
            is left out.
    """
    looked_at = newest.where("is_newer OR is_same").select(KEY)
    wanted, *others = again
    for one in others:
        wanted = wanted.unionByName(one.join(wanted.select(KEY), KEY, "left_anti"))
    return wanted.join(looked_at, KEY, "left_anti").select(KEY, *NEWEST, *NAMED)


def filter_pushes(ledger: DataFrame, wanted: DataFrame) -> DataFrame:
    """Return the pushes of the ledger that are wanted, by KEY and NEWEST.

    Args:
        ledger: All of them.
        wanted: From choose_wanted; says NAMED of them.
    Returns: PUSH_COLUMNS; one row of a record that was copied in Kafka, and so stands
        twice in the ledger.
    """
    columns = [name for name in PUSH_COLUMNS if name not in NAMED]
    found = ledger.select(*columns).join(F.broadcast(wanted), [KEY, *NEWEST])
    return found.transform(filter_newest).select(*PUSH_COLUMNS)


def filter_told_otherwise(rows: DataFrame, configs: DataFrame) -> DataFrame:
    """Keep rows of client_configs that the table, which has their pushes, says not so.

    Args:
        rows: From select_configs.
        configs: The table, with position.
    Returns: The same, with the position of the row that the table has.
    """
    said = F.struct("client_type", F.map_entries("configs"))
    known = configs.select(KEY, said.alias("known"), "position")
    same = known.join(F.broadcast(rows.select(KEY)), KEY, "left_semi")
    joined = rows.join(same, KEY).where(~said.eqNullSafe(F.col("known")))
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
