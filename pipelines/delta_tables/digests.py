"""Which pushes have other rows in one table than in another, to the last bit.

A digest does not depend on the order of rows. It is 96 bits of two hashes, beside the
number of rows: two different sets of rows look alike once in 10^28 comparisons.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.columns import Column
from pipelines.tables.contract import PUSH

_DIGEST = ("row_count", "digest_xor", "digest_sum")


def digest_pushes(rows: DataFrame, columns: Sequence[Column], *more: str) -> DataFrame:
    """Reduce the rows of each push to one row.

    Args:
        rows: topic, partition, offset, push_id, none of them null; and the columns.
        columns: Whose values make the digest.
        more: SQL of further aggregates, each with its name.
    Returns: topic, partition, offset, push_id, row_count, digest_xor, digest_sum and
        more.
    Nulls: A null differs from every value, and from a null in another column.
    """
    values = ", ".join(value for column in columns for value in _hashed(column))
    hashed = rows.selectExpr(
        "*", f"xxhash64({values}) AS long_hash", f"hash({values}) AS short_hash"
    )
    aggregates = (
        "count(*) AS row_count",
        "bit_xor(long_hash) AS digest_xor",
        "sum(bigint(short_hash)) AS digest_sum",
        *more,
    )
    return hashed.groupBy(*PUSH).agg(*(F.expr(aggregate) for aggregate in aggregates))


def filter_differing(stored: DataFrame, fresh: DataFrame) -> DataFrame:
    """Keep the pushes whose digests differ, or that are on one side only.

    Args:
        stored: From digest_pushes, with places (array of texts).
        fresh: From digest_pushes.
    Returns: topic, partition, offset, push_id, places, stored_rows and fresh_rows,
        never null.
    """
    same = " AND ".join(f"stored.{name} = fresh.{name}" for name in _DIGEST)
    return (
        stored.alias("stored")
        .join(fresh.alias("fresh"), PUSH, "full_outer")
        .where(f"NOT coalesce({same}, false)")
        .selectExpr(
            *PUSH,
            "coalesce(stored.places, CAST(array() AS ARRAY<STRING>)) AS places",
            "coalesce(stored.row_count, 0) AS stored_rows",
            "coalesce(fresh.row_count, 0) AS fresh_rows",
        )
    )


def select_totals(differing: DataFrame) -> DataFrame:
    """Return one row: pushes, stored_rows, fresh_rows and all places, never null."""
    return differing.selectExpr(
        "count(*) AS pushes",
        "coalesce(sum(stored_rows), 0) AS stored_rows",
        "coalesce(sum(fresh_rows), 0) AS fresh_rows",
        "array_distinct(flatten(collect_list(places))) AS places",
    )


def _hashed(column: Column) -> list[str]:
    """Return SQL of what is hashed for a column."""
    name = f"`{column.name}`"
    # A hash passes over nulls, so that (null, 'a') would be ('a', null).
    flags = [f"{name} IS NULL"] if column.is_nullable else []
    if column.sql_type.startswith(("MAP", "STRUCT")):
        return [*flags, f"to_json({name})"]
    if column.sql_type == "DOUBLE":
        # Its hash knows one zero; the texts of the two differ.
        return [*flags, name, f"CASE WHEN {name} = 0 THEN STRING({name}) END"]
    return [*flags, name]
