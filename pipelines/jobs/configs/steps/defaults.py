"""What pushes tell of the defaults of client software.

A default is counted by pushes, each of which is written once: so what a batch tells is
added to the table. What the first batch of a checkpoint location tells is all that the
ledger holds, for nobody knows what of it the table counts already.
A value that does not fit its type is told by nobody: no client can run with it, and a
later value would stand beside it as overridden. That is said of each entry by itself,
so that it is the same in whatever batch the entry comes.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.configs import CONFIG_DEFAULTS

KEY = CONFIG_DEFAULTS.merge_key
PLACE = KEY[:3]
PUSH_COLUMNS = (*PLACE, "received_at", "push_id", "configs")
"""What of a push is told."""
_ROW = CONFIG_DEFAULTS.column_names
_FIRST = ("default_value", "config_type", "first_seen", "first_push_id")


def select_told_entries(pushes: DataFrame) -> DataFrame:
    """Return the entries that pushes call defaults.

    Args:
        pushes: PUSH_COLUMNS; configs as they are stored.
    Returns: KEY, received_at, push_id, config_value and config_type.
    Shape: One row for each such entry.
    Nulls: A redacted entry tells nothing. An unknown client type is the empty text.
    """
    return pushes.select(
        *PLACE[:2],
        F.coalesce(PLACE[2], F.lit("")).alias(PLACE[2]),
        "received_at",
        "push_id",
        F.inline(F.filter("configs", _is_told)),
    ).drop("is_default")


def summarise_told_defaults(told: DataFrame) -> DataFrame:
    """Say what pushes call defaults.

    Args:
        told: From select_told_entries; those only whose value fits their type.
    Returns: KEY, first (the oldest of them), evidence_count and told (all values).
    """
    first = F.struct(
        F.col("config_value").alias("default_value"),
        "config_type",
        F.col("received_at").alias("first_seen"),
        F.col("push_id").alias("first_push_id"),
    )
    order = F.struct("received_at", "push_id", "config_value")
    return told.groupBy(*KEY).agg(
        F.min_by(first, order).alias("first"),
        F.count("*").alias("evidence_count"),
        F.collect_set("config_value").alias("told"),
    )


def add_to_defaults(told: DataFrame, defaults: DataFrame) -> DataFrame:
    """Add what was told to what the table knows.

    Args:
        told: From summarise_told_defaults.
        defaults: The table, with position.
    Returns: The rows that change, by the table's columns, with the position of the old
        row, is_gone (never) and is_changed (another default value than before, or none
        before).
    """
    known = _as_known(
        defaults.join(F.broadcast(told.select(*KEY)), [*KEY], "left_semi")
    )
    joined = told.join(known, [*KEY], "left")
    was_told = F.col("known").isNotNull()
    told_order = F.struct("first.first_seen", "first.first_push_id")
    known_order = F.struct("known.first_seen", "known.first_push_id")
    is_older = was_told & (known_order <= told_order)
    first = F.when(is_older, _struct("known")).otherwise(_struct("first"))
    before = F.array_append("known.conflicting_values", F.col("known.default_value"))
    merged = joined.select(
        *KEY,
        "known",
        "position",
        first.alias("first"),
        (F.col("evidence_count") + F.coalesce("known.evidence_count", F.lit(0))).alias(
            "evidence_count"
        ),
        F.when(was_told, F.array_union("told", before))
        .otherwise(F.col("told"))
        .alias("told"),
    )
    return _compare(merged)


def replace_defaults(told: DataFrame, defaults: DataFrame) -> DataFrame:
    """Say how the table differs from all that was ever told.

    Args:
        told: From summarise_told_defaults, of the ledger and the batch.
        defaults: The table, with position.
    Returns: As add_to_defaults; rows that nothing tells are gone.
    """
    return _compare(told.join(_as_known(defaults), [*KEY], "full"))


def select_changed_keys(rows: DataFrame) -> DataFrame:
    """Return PLACE and config_keys, those of rows of add_to_defaults."""
    return rows.groupBy(*PLACE).agg(F.collect_set("config_key").alias("config_keys"))


def filter_places(defaults: DataFrame, pushes: DataFrame) -> DataFrame:
    """Keep the defaults of the software and client type of some pushes."""
    places = pushes.select(
        *PLACE[:2], F.coalesce(PLACE[2], F.lit("")).alias(PLACE[2])
    ).distinct()
    return defaults.join(F.broadcast(places), [*PLACE], "left_semi")


def _is_told(entry: Column) -> Column:
    return entry["is_default"] & entry["config_value"].isNotNull()


def _struct(name: str) -> Column:
    return F.struct(*(F.col(f"{name}.{one}").alias(one) for one in _FIRST))


def _as_known(defaults: DataFrame) -> DataFrame:
    return defaults.select(*KEY, F.struct(*_ROW).alias("known"), "position")


def _compare(merged: DataFrame) -> DataFrame:
    """Keep the rows that the table does not say already."""
    first = {name: F.col(f"first.{name}") for name in _FIRST}
    others = F.array_except("told", F.array("first.default_value"))
    row = {
        **{name: F.col(name) for name in KEY},
        **first,
        "evidence_count": F.col("evidence_count"),
        "conflicting_values": F.array_sort(others),
    }
    is_gone = F.col("first").isNull()
    was_told = F.col("known").isNotNull()
    compared = merged.select(
        F.struct(*(row[name].alias(name) for name in _ROW)).alias("row"),
        "known",
        "position",
        is_gone.alias("is_gone"),
        (
            ~was_told
            | is_gone
            | ~F.col("first.default_value").eqNullSafe(F.col("known.default_value"))
        ).alias("is_changed"),
    )
    return compared.where("is_gone OR NOT row <=> known").select(
        "row.*", "position", "is_gone", "is_changed"
    )
