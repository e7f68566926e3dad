"""Readers: what comes from outside, as it comes."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession


def read_kafka(
    spark: SparkSession,
    options: Mapping[str, str],
    *,
    topic: str,
    starting_offsets: str,
    max_offsets_per_trigger: int,
) -> DataFrame:
    """Return a stream of the Kafka source's own columns, headers included.

    Args:
        spark: The job's session.
        options: Connection options, `kafka.` before each name; they hold secrets.
        topic: Topic to read.
        starting_offsets: JSON of first offsets, for a new checkpoint location only.
        max_offsets_per_trigger: Most records in one micro-batch.
    Raises: nothing yet; a missing record fails the query, for it would be lost.
    Source: Spark, Structured Streaming + Kafka Integration Guide.
    """
    return (
        spark.readStream.format("kafka")
        .options(**options)
        .option("subscribe", topic)
        .option("startingOffsets", starting_offsets)
        .option("maxOffsetsPerTrigger", max_offsets_per_trigger)
        .option("includeHeaders", value=True)
        .option("failOnDataLoss", value=True)
        .load()
    )
