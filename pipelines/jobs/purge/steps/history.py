"""What becomes of client_config_history when the rules hide more.

What was hidden before and what is hidden now is one value, so that its times that touch
become one row, as if it had never been known.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.configs import CLIENT_CONFIG_HISTORY
from pipelines.tables.contract import IS_DELETED

from .entries import ENTRY

_SOFTWARE, _INSTANCE = "client_software_name", "client_instance_id"
_OPEN = "TIMESTAMP '9999-12-31 00:00:00'"
_GROUP = ("logical_client", "config_key")


def with_history_entries(
    history: DataFrame, software: DataFrame, every_software: Sequence[str]
) -> DataFrame:
    """Add `entries` and client_software_name to rows of client_config_history.

    Args:
        history: The table.
        software: client_instance_id and client_software_name, from other tables.
        every_software: What a row may be that no other table knows.
    Shape: A row for each software of the client instances that held the value. Others
        of the same logical client do not count: it may have had another library before,
        whose rules would hide what no rule of this one hides.
    """
    key = list(CLIENT_CONFIG_HISTORY.merge_key)
    holders = history.select(*key, F.explode(f"{_INSTANCE}s").alias(_INSTANCE))
    known = holders.join(software, _INSTANCE)
    names = known.groupBy(*key).agg(F.collect_set(_SOFTWARE).alias("own"))
    anything = F.array(*[F.lit(name) for name in every_software])
    entry = ENTRY.format(
        key="config_key", value="config_value", type="config_type",
        is_default="is_default",
    )  # fmt: skip
    return (
        history.join(names, key, "left")
        .withColumn(_SOFTWARE, F.explode(F.coalesce("own", anything)))
        .withColumn("entries", F.expr(f"array({entry})"))
    )


def select_purged_history(
    found: DataFrame, history: DataFrame, hidden_value_id: str
) -> DataFrame:
    """Return rows of client_config_history to put or to delete.

    Args:
        found: Of the history, by with_history_entries.
        history: The table.
        hidden_value_id: value_id of a null config_value.
    Returns: Its columns and IS_DELETED; of deleted rows only the key counts.
    """
    key = list(CLIENT_CONFIG_HISTORY.merge_key)
    is_dropped = F.bool_or(F.expr("purge.verdicts[0].action = 'drop'"))
    actions = found.groupBy(*key).agg(is_dropped.alias("is_dropped"))
    groups = actions.where("NOT is_dropped").select(*_GROUP).distinct()
    rows = history.join(actions, key, "left")
    pool = rows.join(groups, list(_GROUP), "left_semi").where(
        F.col("is_dropped").isNotNull() | (F.col("value_id") == hidden_value_id)
    )
    kept = pool.where(~F.coalesce("is_dropped", F.lit(col=False)))
    put = merge_times(
        kept.withColumns(
            {
                "value_id": F.lit(hidden_value_id),
                "config_value": F.lit(None).cast("string"),
            }
        )
    )
    gone = (
        pool.unionByName(rows.where("is_dropped"))
        .select(*key)
        .distinct()
        .join(put.select(*key), key, "left_anti")
        .withColumn(IS_DELETED, F.lit(col=True))
    )
    return put.withColumn(IS_DELETED, F.lit(col=False)).unionByName(
        gone, allowMissingColumns=True
    )


def merge_times(rows: DataFrame) -> DataFrame:
    """Return one row for each stretch in which a value was held: times that touch.

    Args:
        rows: Columns of client_config_history.
    Returns: Its columns.
    """
    value = (*_GROUP, "value_id")
    order = Window.partitionBy(*value).orderBy("valid_from", "until")
    before = F.max("until").over(order.rowsBetween(Window.unboundedPreceding, -1))
    is_new = F.coalesce(F.col("valid_from") > before, F.lit(col=True))
    first = ("principal", "client_id", "client_type", "config_value")
    kind = F.min(F.struct("valid_from", "config_type", "is_default"))
    until = F.when(F.col("end") < F.expr(_OPEN), F.col("end"))
    return (
        rows.withColumn("until", F.coalesce("valid_to", F.expr(_OPEN)))
        .withColumn("is_new", is_new.cast("int"))
        .withColumn("stretch", F.sum("is_new").over(order))
        .groupBy(*value, "stretch")
        .agg(
            *(F.min_by(name, "valid_from").alias(name) for name in first),
            # As make_histories chooses them.
            kind.alias("kind"),
            F.min("valid_from").alias("valid_from"),
            F.max("until").alias("end"),
            F.array_sort(
                F.array_distinct(F.flatten(F.collect_list("client_instance_ids")))
            ).alias("client_instance_ids"),
        )
        .withColumns(
            {name: F.col(f"kind.{name}") for name in ("config_type", "is_default")}
        )
        .withColumn("valid_to", until)
        .withColumn("is_current", F.col("valid_to").isNull())
        .select(*CLIENT_CONFIG_HISTORY.column_names)
    )
