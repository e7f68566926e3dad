"""What becomes of stored configurations when the rules for sensitive entries hide more.

Each table is judged by itself, so that a value is found wherever it stands, also where
its push is no longer in client_config_pushes. Frames come from here with `purge`, and
what goes on holds no value that the rules hide.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.configs import CONFIG_VIOLATIONS
from pipelines.tables.contract import IS_DELETED

FOUND = "found"
"""Column: how many entries of a row have to be taken out."""

ENTRY = (
    "named_struct('config_key', {key}, 'config_value', {value}, 'config_type', {type}, "
    "'is_default', {is_default})"
)
"""SQL of one of the entries that are judged."""
_IS_FOUND = (
    "(one, i) -> purge.verdicts[i].action = 'drop' OR (purge.verdicts[i].action = "
    "'redact' AND one.config_value IS NOT NULL)"
)


def with_pushed_entries(pushes: DataFrame) -> DataFrame:
    """Add `entries` to rows of client_config_pushes."""
    return pushes.withColumn("entries", F.col("configs"))


def with_held_entries(client_configs: DataFrame) -> DataFrame:
    """Add `entries` to rows of client_configs, in the order of the map."""
    entry = ENTRY.format(
        key="one.key",
        value="one.value.config_value",
        type="one.value.config_type",
        is_default="one.value.is_default",
    )
    entries = F.expr(f"transform(map_entries(configs), one -> {entry})")
    return client_configs.withColumn("entries", entries)


def with_default_entries(config_defaults: DataFrame) -> DataFrame:
    """Add `entries` to rows of config_defaults: the default, then its conflicts."""
    entry = ENTRY.format(
        key="config_key", value="one", type="config_type", is_default="true"
    )
    values = f"concat(array(default_value), conflicting_values), one -> {entry}"
    return config_defaults.withColumn("entries", F.expr(f"transform({values})"))


def with_wire_entries(client_wire_configs: DataFrame, software: str) -> DataFrame:
    """Add `entries` to rows of client_wire_configs, each its own one.

    Args:
        client_wire_configs: The table.
        software: Whose keys they are, whatever software has shown them.
    """
    entry = ENTRY.format(
        key="config_key", value="config_value", type="config_type", is_default="false"
    )
    return client_wire_configs.withColumns(
        {
            "entries": F.expr(f"array({entry})"),
            "client_software_name": F.lit(software),
        }
    )


def with_key_entries(violations: DataFrame) -> DataFrame:
    """Add `entries` to rows of config_violations that name a key: their keys alone."""
    entry = ENTRY.format(
        key="config_key", value="''", type="CAST(NULL AS STRING)", is_default="false"
    )
    # A row without a rule only counts keys.
    has_key = F.col("rule").isNotNull()
    return violations.where(has_key).withColumn("entries", F.expr(f"array({entry})"))


def filter_found(rows: DataFrame) -> DataFrame:
    """Keep rows with something to take out; add FOUND, the number of entries."""
    found = F.expr(f"size(filter(entries, {_IS_FOUND}))")
    return rows.withColumn(FOUND, found).where(F.col(FOUND) > 0)


def select_purged_pushes(found: DataFrame, key: Sequence[str]) -> DataFrame:
    """Return key, configs and content_hash of pushes, as the rules have them."""
    hidden = ENTRY.format(
        key="one.config_key",
        value="CAST(NULL AS STRING)",
        type="one.config_type",
        is_default="one.is_default",
    )
    kept = "filter(entries, (one, i) -> purge.verdicts[i].action <> 'drop')"
    actions = (
        "transform(filter(purge.verdicts, one -> one.action <> 'drop'), one -> "
        "one.action)"
    )
    configs = (
        f"transform({kept}, (one, i) -> IF({actions}[i] = 'redact', {hidden}, one))"
    )
    return found.select(
        *key, F.expr(configs).alias("configs"), _hash().alias("content_hash")
    )


def select_purged_configs(found: DataFrame) -> DataFrame:
    """Return client_configs as the rules have it: instance, push, configs and hash."""
    actions = "transform(purge.verdicts, one -> one.action)"
    actions = f"map_from_arrays(map_keys(configs), {actions})"
    typed = "".join(
        f", '{name}', CAST(NULL AS {sql_type})"
        for name, sql_type in (
            ("value_boolean", "BOOLEAN"),
            ("value_long", "BIGINT"),
            ("value_double", "DOUBLE"),
            ("value_list", "ARRAY<STRING>"),
            ("value_string", "STRING"),
        )
    )
    hidden = (
        "named_struct('config_value', CAST(NULL AS STRING), 'config_type', "
        "held.config_type, 'is_default', held.is_default, 'status', "
        f"IF(held.config_value IS NULL, held.status, 'redacted'){typed})"
    )
    configs = (
        "transform_values(map_filter(configs, (name, held) -> actions[name] <> 'drop'),"
        f" (name, held) -> IF(actions[name] = 'redact', {hidden}, held))"
    )
    return found.withColumn("actions", F.expr(actions)).select(
        "client_instance_id",
        "push_id",
        F.expr(configs).alias("configs"),
        _hash().alias("content_hash"),
    )


def select_new_violations(found: DataFrame, violations: DataFrame) -> DataFrame:
    """Return a row of config_violations for each entry that is taken out of a push.

    Args:
        found: Of client_config_pushes.
        violations: The table; what it says of a push already is not said again.
    """
    push = ["topic", "partition", "offset"]
    hit = (
        "named_struct('place', i, 'rule', purge.verdicts[i].rule, 'action', "
        "IF(purge.verdicts[i].action = 'drop', 'dropped', 'redacted'), 'config_key', "
        "purge.verdicts[i].shown_key, 'is_found', purge.verdicts[i].action = 'drop' OR "
        "(purge.verdicts[i].action = 'redact' AND one.config_value IS NOT NULL))"
    )
    hits = f"filter(transform(entries, (one, i) -> {hit}), one -> one.is_found)"
    known = violations.groupBy(*push).agg(F.max("entry_index").alias("last_index"))
    said = violations.select(*push, "config_key", "rule", "action").distinct()
    columns = [name for name in CONFIG_VIOLATIONS.column_names if name in found.columns]
    order = Window.partitionBy(*push).orderBy("place")
    return (
        found.withColumn("hit", F.explode(F.expr(hits)))
        .select(*columns, "hit.place", "hit.rule", "hit.action", "hit.config_key")
        .join(said, [*push, "config_key", "rule", "action"], "left_anti")
        .join(known, push, "left")
        .withColumn(
            "entry_index",
            (F.coalesce("last_index", F.lit(-1)) + F.row_number().over(order)).cast(
                "int"
            ),
        )
        .withColumn("found_by", F.lit("job"))
        .select(*CONFIG_VIOLATIONS.column_names)
    )


def select_shown_keys(judged: DataFrame) -> DataFrame:
    """Return the merge key and the new config_key of violations that told too much."""
    shown = F.expr("purge.verdicts[0].shown_key")
    return judged.where(shown != F.col("config_key")).select(
        *CONFIG_VIOLATIONS.merge_key, shown.alias("config_key")
    )


def select_purged_defaults(found: DataFrame, key: Sequence[str]) -> DataFrame:
    """Return key, conflicting_values and IS_DELETED of defaults.

    A hidden default is deleted: what it was counted by goes with it, and the next
    pushes teach another.
    """
    allowed = "(one, i) -> i > 0 AND purge.verdicts[i].action = 'allow'"
    left = f"transform(filter(entries, {allowed}), one -> one.config_value)"
    return found.select(
        *key,
        F.expr(left).alias("conflicting_values"),
        F.expr("purge.verdicts[0].action <> 'allow'").alias(IS_DELETED),
    )


def select_purged_wire_configs(found: DataFrame, key: Sequence[str]) -> DataFrame:
    """Return key, config_value and IS_DELETED of rows of client_wire_configs."""
    return found.select(
        *key,
        F.lit(None).cast("string").alias("config_value"),
        F.expr("purge.verdicts[0].action = 'drop'").alias(IS_DELETED),
    )


def _hash() -> Column:
    return F.col("purge.content_hash")
