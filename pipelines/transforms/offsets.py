"""Positions in Kafka topics: topic, then partition, then offset."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

Offsets = Mapping[int, int]
"""Partition to offset, of one topic."""


def select_newest_offsets(records: DataFrame, topic: str) -> DataFrame:
    """Return partition and the greatest offset of each, for one topic.

    Args:
        records: Any table with topic, partition and offset.
        topic: Topic to look for; others may be in the table.
    """
    newest = F.max("offset").alias("offset")
    return records.where(F.col("topic") == topic).groupBy("partition").agg(newest)


def filter_beyond(records: DataFrame, floors: Offsets) -> DataFrame:
    """Keep the records whose offset lies above the floor of their partition."""
    return records.where(is_beyond(floors))


def is_beyond(floors: Offsets) -> Column:
    """Return the condition of a record whose offset lies above its partition's floor.

    A partition without a floor has no record yet, so all of its records are new.
    """
    condition = F.lit(True)
    for partition, offset in sorted(floors.items()):
        is_old = (F.col("partition") == partition) & (F.col("offset") <= offset)
        condition = condition & ~is_old
    return condition
