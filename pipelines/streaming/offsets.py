"""Positions in Kafka topics: topic, then partition, then offset."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
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
