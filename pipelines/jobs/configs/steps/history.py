"""From the pushes of logical clients to how long each of them was so, and back.

A push says what its client instance has until the instance pushes again, or ends. Its
end is known from telemetry, where it sends any; silence is one where telemetry of
others is there to tell it from telemetry that has not been read yet. What ended after
the newest push of its logical client is left open here, and is for those to say who
know what time it is.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.configs import CLIENT_CONFIG_HISTORY
from pipelines.tables.telemetry import IDLE_AFTER_INTERVALS

from .types import FAMILY, INSTANCE, join_same, list_keys, share_possible_types

CLIENT = "logical_client"
PUSH_COLUMNS = (*FAMILY, INSTANCE, "received_at", "push_id", "configs")
"""What of a push is history. Who its logical client is other pushes say, too."""
TURN_COLUMNS = (CLIENT, "client_type", *PUSH_COLUMNS)
_MICROS_PER_MS = 1000
_KEY = list(CLIENT_CONFIG_HISTORY.merge_key)
_ROW = CLIENT_CONFIG_HISTORY.column_names


def select_families(pushes: DataFrame, ledger: DataFrame | None) -> DataFrame:
    """Return FAMILY of the logical clients whose history some pushes change.

    Args:
        pushes: New ones.
        ledger: Those known, where one of their client instances may have pushed before,
            perhaps as another logical client; null: none has.
    """
    families = pushes.select(*FAMILY)
    if ledger is not None:
        instances = F.broadcast(pushes.select(INSTANCE).distinct())
        known = ledger.select(*FAMILY, INSTANCE).join(instances, INSTANCE, "left_semi")
        families = families.unionByName(known.select(*FAMILY))
    return families.distinct()


def select_family_pushes(pushes: DataFrame, families: DataFrame) -> DataFrame:
    """Return what decides the history of some logical clients.

    Args:
        pushes: All that there are, PUSH_COLUMNS.
        families: From select_families.
    Returns: PUSH_COLUMNS, config_keys, and is_own, whether a push is of the families;
        others of their client instances go without configs and config_keys.
    """
    own = join_same(pushes, families, FAMILY, "left_semi")
    instances = F.broadcast(own.select(INSTANCE).distinct())
    # As another logical client, an instance no longer is what it was.
    other = (
        join_same(pushes, families, FAMILY, "left_anti")
        .withColumn("configs", F.lit(None).cast(pushes.schema["configs"].dataType))
        .join(instances, INSTANCE, "left_semi")
        .select(*PUSH_COLUMNS)
    )
    is_own = own.withColumn("is_own", F.lit(True))
    both = is_own.unionByName(other.withColumn("is_own", F.lit(False)))
    return both.select("*", list_keys())


def select_turns(pushes: DataFrame) -> DataFrame:
    """Say until when each push counts, and what all of its instance tell of its type.

    Args:
        pushes: From select_family_pushes, with POSSIBLE.
    Returns: PUSH_COLUMNS, POSSIBLE and next_at, when the same instance pushed again.
    Nulls: next_at is null for its last push.
    """
    order = Window.partitionBy(INSTANCE).orderBy("received_at", "push_id")
    next_at = F.lead("received_at").over(order)
    turns = pushes.withColumn("next_at", next_at).transform(share_possible_types)
    return turns.where("is_own").drop("is_own", "config_keys")


def filter_replaced(turns: DataFrame) -> DataFrame:
    """Keep the last push of instances whose logical client has a newer one.

    Returns: CLIENT, INSTANCE, received_at and newest_at, of that logical client.
    """
    newest_at = F.max("received_at").over(Window.partitionBy(CLIENT))
    narrow = turns.select(CLIENT, INSTANCE, "received_at", "next_at")
    dated = narrow.withColumn("newest_at", newest_at).where("next_at IS NULL")
    return dated.where("received_at < newest_at").drop("next_at")


def select_ends(
    replaced: DataFrame, instances: DataFrame, pushes: DataFrame, oldest_us: int
) -> DataFrame:
    """Say which of these instances have ended before the newest push, by telemetry.

    Args:
        replaced: From filter_replaced.
        instances: The table client_instances.
        pushes: The table client_pushes.
        oldest_us: The oldest received_at, microseconds since 1970; as a literal it
            spares the files of older telemetry.
    Returns: INSTANCE and ended_at.
    """
    keys = F.broadcast(replaced.select(INSTANCE))
    oldest = F.timestamp_micros(F.lit(oldest_us))
    since = pushes.where(F.col("event_date") >= F.to_date(oldest)).where(
        F.col("received_at") >= oldest
    )
    # Telemetry may be read later than configurations are.
    known_to = since.agg(F.max("received_at").alias("known_to"))
    last = (
        since.select(INSTANCE, "received_at", "push_interval_ms")
        .join(keys, INSTANCE, "left_semi")
        .groupBy(INSTANCE)
        .agg(F.max(F.struct("received_at", "push_interval_ms")).alias("last"))
    )
    silence_us = F.col("last.push_interval_ms") * F.lit(
        IDLE_AFTER_INTERVALS * _MICROS_PER_MS
    ).cast("bigint")
    silent_at = F.timestamp_micros(F.unix_micros("last.received_at") + silence_us)
    silent = (
        last.select(INSTANCE, silent_at.alias("silent_at"))
        .crossJoin(F.broadcast(known_to))
        .where("silent_at <= known_to")
    )
    known = instances.select(INSTANCE, "terminated_at").join(
        keys, INSTANCE, "left_semi"
    )
    told = known.join(silent, INSTANCE, "full").select(
        INSTANCE, F.coalesce("terminated_at", "silent_at").alias("ended_at")
    )
    # One that pushed its configuration later has not ended then.
    is_end = "ended_at >= received_at AND ended_at < newest_at"
    return replaced.join(told, INSTANCE).where(is_end).select(INSTANCE, "ended_at")


def select_holdings(turns: DataFrame, ends: DataFrame | None) -> DataFrame:
    """End a chain: what udfs.spark_configs.select_histories takes.

    Args:
        turns: From select_turns, with logical_client and client_type.
        ends: From select_ends; null where no telemetry is known.
    """
    held_to = F.col("next_at")
    if ends is not None:
        turns = turns.join(F.broadcast(ends), INSTANCE, "left")
        held_to = F.coalesce("next_at", "ended_at")
    return turns.select(
        *TURN_COLUMNS,
        F.col("received_at").alias("held_from"),
        held_to.alias("held_to"),
    ).repartition(CLIENT)


def compare_histories(
    made: DataFrame,
    history: DataFrame,
    families: DataFrame,
    kept_from_us: int | None = None,
) -> DataFrame:
    """Say how the table differs from what its rows should be.

    Args:
        made: All rows of the logical clients of some families.
        history: The table, with position.
        families: From select_families. Their logical clients of other types are those
            that instances were taken for before they had pushed more keys.
        kept_from_us: Rows that were no longer so before this moment, microseconds since
            1970, are passed over: retention takes them out of the table. Null: none.
    Returns: The rows that differ, by the table's columns, with is_gone (the table has
        it and must not) and the position of the row that the table has.
    """
    known = join_same(history, families, FAMILY, "left_semi").select(
        *_KEY, F.struct(*_ROW).alias("known"), "position"
    )
    rows = made.select(*_KEY, F.struct(*_ROW).alias("row"))
    joined = rows.join(known, _KEY, "full")
    differing = joined.where("NOT row <=> known")
    if kept_from_us is not None:
        is_gone = [_is_closed_before(kept_from_us, one) for one in ("row", "known")]
        differing = differing.where(~(is_gone[0] & is_gone[1]))
    keys = {name: F.col(name) for name in _KEY}
    others = {name: F.col(f"row.{name}") for name in _ROW if name not in keys}
    return differing.select(
        *((keys | others)[name].alias(name) for name in _ROW),
        F.col("row").isNull().alias("is_gone"),
        "position",
    )


def _is_closed_before(moment_us: int, row: str) -> Column:
    """Say whether a row, or none, was no longer so before a moment."""
    valid_to = F.col(f"{row}.valid_to")
    is_closed = valid_to < F.timestamp_micros(F.lit(moment_us))
    is_old = ~F.col(f"{row}.is_current") & is_closed
    return F.col(row).isNull() | F.coalesce(is_old, F.lit(False))
