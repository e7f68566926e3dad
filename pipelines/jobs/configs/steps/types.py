"""What type of client an instance is, by all that it pushed.

A push tells of the type of its client by its keys, and one with fewer keys tells less.
So all pushes of a client instance tell it together. Of an instance id that several
principals or client ids use, each has its own: it is no secret, and who borrows it must
not say what its owner is.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

INSTANCE = "client_instance_id"
FAMILY = ("principal", "client_id")
"""What logical clients that differ in their type alone have in common."""
WHO = (INSTANCE, *FAMILY)
"""Whose pushes tell the type together."""
POSSIBLE = "possible_types"
"""Column: bits, as udfs.spark_configs.with_possible_types adds it."""


def list_keys() -> Column:
    """Return config_keys of pushes, as with_possible_types takes it."""
    return F.col("configs.config_key").alias("config_keys")


def join_same(
    rows: DataFrame, others: DataFrame, names: Sequence[str], how: str
) -> DataFrame:
    """Join rows with few others that have the same in some columns, nulls too.

    Returns: The columns of rows and, of an inner join, the other columns of others.
    """
    renamed = others.withColumnsRenamed({name: f"same_{name}" for name in names})
    is_same = [F.col(name).eqNullSafe(F.col(f"same_{name}")) for name in names]
    joined = rows.join(F.broadcast(renamed), is_same, how)
    return joined.drop(*(f"same_{name}" for name in names))


def share_possible_types(pushes: DataFrame) -> DataFrame:
    """Put POSSIBLE of each push as all pushes of its WHO have it together."""
    possible = F.bit_and(POSSIBLE).over(Window.partitionBy(*WHO))
    return pushes.withColumn(POSSIBLE, possible)


def with_types(pushes: DataFrame, types: DataFrame) -> DataFrame:
    """Add POSSIBLE to pushes.

    Args:
        pushes: Have WHO.
        types: From summarise_possible_types, of all that there are.
    """
    return join_same(pushes, types, WHO, "inner")


def summarise_possible_types(pushes: DataFrame) -> DataFrame:
    """Return WHO and POSSIBLE, one row for each WHO."""
    return pushes.groupBy(*WHO).agg(F.bit_and(POSSIBLE).alias(POSSIBLE))
