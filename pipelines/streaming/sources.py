"""Readers: what comes from outside, as it comes."""

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

MAX_POLL_RECORDS = 20
"""Records that a consumer makes of compressed batches at once.

Kafka's own number is 500: of 1 MiB each, which takes little room where the producer has
compressed them, they would be half of the job's heap for each task. And Spark keeps the
consumer of each partition, with what it has not handed on yet, for minutes.
"""
_RANGES_GROUP = "spark-kafka-source-ranges"
"""Begins as the stream's, for which there are rights. With a name of its own for each
range, which is Spark's way, there would be consumers for each of them; nothing is
committed, and nobody joins the group."""


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
        options: Connection options, `kafka.` before each name; they hold secrets.
        topic: Topic to read.
        starting_offsets: JSON of first offsets, for a new checkpoint location only.
        max_offsets_per_trigger: Most records in one micro-batch.
    Raises: nothing yet; a missing record fails the query, for it would be lost.
    Source: Spark, Structured Streaming + Kafka Integration Guide.
    """
    return (
        spark.readStream.format("kafka")
        .option("kafka.max.poll.records", MAX_POLL_RECORDS)
        .options(**options)
        .option("subscribe", topic)
        .option("startingOffsets", starting_offsets)
        .option("maxOffsetsPerTrigger", max_offsets_per_trigger)
        .option("includeHeaders", value=True)
        .option("failOnDataLoss", value=True)
        .load()
    )


def read_kafka_ranges(
    spark: SparkSession,
    options: Mapping[str, str],
    *,
    topic: str,
    ranges: Mapping[int, tuple[int, int]],
) -> DataFrame:
    """Return a part of a topic, with the columns of read_kafka.

    Args:
        options: As read_kafka takes them.
        topic: Topic to read.
        ranges: Partition to its first offset, and the offset behind its last one.
    Raises: nothing yet; a missing record fails whatever reads it.
    """
    starts = {partition: first for partition, (first, _) in ranges.items()}
    ends = {partition: end for partition, (_, end) in ranges.items()}
    return (
        spark.read.format("kafka")
        .option("kafka.max.poll.records", MAX_POLL_RECORDS)
        .options(**options)
        .option("assign", json.dumps({topic: sorted(ranges)}))
        .option("startingOffsets", json.dumps({topic: starts}))
        .option("endingOffsets", json.dumps({topic: ends}))
        .option("kafka.group.id", _RANGES_GROUP)
        .option("includeHeaders", value=True)
        .option("failOnDataLoss", value=True)
        .load()
    )
