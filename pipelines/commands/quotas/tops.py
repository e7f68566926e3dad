"""quotas top: who is nearest to a limit, as the proxy has counted."""

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.quota_use import USE_COLUMNS

from .lines import format_columns

MOST_LINES = 20
"""Limits that are printed as text; JSON has all."""
_NAMES = ("USE", "PRINCIPAL", "CLIENT-ID", "KEY", "LIMIT", "USED", "THROTTLED", "BY")


def select_top(effective: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return who uses how much of a limit, the nearest to it first.

    Args:
        effective: Rows of effective_quotas of one cluster.
        keys: Quota keys that are wanted.
    Returns: quota_key, quota_id, principal, client_id (of the first of those who share
        the limit), sharing (how many of them were seen), limit, entity_path, and
        USE_COLUMNS.
    Shape: A row for each limit of which anything was used; clients without one last.
    """
    who = F.struct("principal", "client_id")
    alone = F.when(F.col("quota_id").isNull(), who)
    return (
        effective.where(F.col("quota_key").isin(*keys))
        .where((F.col("used_rate") > 0) | (F.col("throttled_ms") > 0))
        .withColumn("alone", alone)
        .groupBy("quota_key", "quota_id", "alone")
        .agg(
            F.min(who).alias("who"),
            F.count_distinct(who).cast("int").alias("sharing"),
            F.first("limit").alias("limit"),
            F.first("entity_path").alias("entity_path"),
            *(F.max(name).alias(name) for name in USE_COLUMNS),
        )
        .select(
            *("quota_key", "quota_id", "who.*", "sharing", "limit", "entity_path"),
            *USE_COLUMNS,
        )
        .orderBy(F.desc_nulls_last("use"), F.desc("used_rate"), "principal")
    )


def describe_top(rows: Sequence[Row]) -> Iterator[str]:
    """Return the lines of limits, from select_top."""
    if not rows:
        yield "the proxy has counted nothing lately"
        return
    yield from format_columns(_NAMES, [_cells(row) for row in rows[:MOST_LINES]])
    more = len(rows) - MOST_LINES
    if more > 0:
        yield f"and {more} more"


def _cells(row: Row) -> list[str]:
    others = row["sharing"] - 1
    client_id = row["client_id"] + (f" and {others} more" if others else "")
    limit, use = row["limit"], row["use"]
    return [
        "-" if use is None else f"{use:.1%}",
        row["principal"],
        client_id,
        row["quota_key"],
        "unlimited" if limit is None else f"{limit}",
        f"{row['used_rate']:.1f}",
        f"{row['throttled_ms']:.0f} ms",
        row["entity_path"] or "-",
    ]
