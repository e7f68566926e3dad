"""Readers: what comes from outside, as it comes."""

import json
import uuid
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

MAX_POLL_RECORDS = 20
"""Records that a consumer makes of compressed batches at once.

Kafka's own number is 500: of 1 MiB each, which takes little room where the producer has
compressed them, they would be half of the job's heap for each task. And Spark keeps the
consumer of each partition, with what it has not handed on yet, for minutes.
"""
ISOLATION = {True: "read_committed", False: "read_uncommitted"}
"""Kafka's names; the second is its default."""
_RANGES_GROUP = "spark-kafka-source-ranges"
"""Begins as the stream's, for which there are rights."""
# Others in the same JVM may be of other processes.
_range_groups = defaultdict[frozenset[tuple[str, str]], str](
    lambda: f"{_RANGES_GROUP}-{uuid.uuid4()}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """How records are waited for that are few: a micro-batch has a price of its own."""

    min_records: int
    """So many begin a micro-batch at once."""
    max_wait_ms: int
    """Longest time between two looks that take fewer."""


def read_kafka(
    spark: SparkSession,
    options: Mapping[str, str],
    *,
    topic: str,
    starting_offsets: str,
    max_offsets_per_trigger: int,
    is_transactional: bool = False,
    gathering: Gathering | None = None,
) -> DataFrame:
    """Return a stream of the Kafka source's own columns, headers included.

    Args:
        options: Connection options, `kafka.` before each name; they hold secrets.
        topic: Topic to read.
        starting_offsets: JSON of first offsets, for a new checkpoint location only.
        max_offsets_per_trigger: Most records in one micro-batch.
        is_transactional: Whether records of aborted transactions are passed over.
        gathering: Not for a run that ends when all is read: Spark would leave the last
            records where they are.
    Raises: nothing yet; a missing record fails the query, for it would be lost.
    Source: Spark, Structured Streaming + Kafka Integration Guide.
    """
    gathered = {}
    if gathering is not None:
        least = min(gathering.min_records, max_offsets_per_trigger)
        gathered["minOffsetsPerTrigger"] = str(least)
        gathered["maxTriggerDelay"] = f"{gathering.max_wait_ms}ms"
    return (
        spark.readStream.format("kafka")
        .option("kafka.max.poll.records", MAX_POLL_RECORDS)
        .option("kafka.isolation.level", ISOLATION[is_transactional])
        .options(**options)
        .option("subscribe", topic)
        .option("startingOffsets", starting_offsets)
        .option("maxOffsetsPerTrigger", max_offsets_per_trigger)
        .options(**gathered)
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
    is_transactional: bool = False,
) -> DataFrame:
    """Return a part of a topic, with the columns of read_kafka.

    Args:
        options: As read_kafka takes them.
        topic: Topic to read.
        ranges: Partition to its first offset, and the offset behind its last one.
        is_transactional: As read_kafka takes it.
    Raises: nothing yet; a missing record fails whatever reads it.
    """
    starts = {partition: first for partition, (first, _) in ranges.items()}
    ends = {partition: end for partition, (_, end) in ranges.items()}
    return (
        spark.read.format("kafka")
        .option("kafka.max.poll.records", MAX_POLL_RECORDS)
        .option("kafka.isolation.level", ISOLATION[is_transactional])
        .options(**options)
        .option("assign", json.dumps({topic: sorted(ranges)}))
        .option("startingOffsets", json.dumps({topic: starts}))
        .option("endingOffsets", json.dumps({topic: ends}))
        .option("kafka.group.id", name_ranges_group(options))
        .option("includeHeaders", value=True)
        .option("failOnDataLoss", value=True)
        .load()
    )


def name_ranges_group(options: Mapping[str, str]) -> str:
    """Return the group in which this process reads ranges with some options.

    With a group for each range, which is Spark's way, there would be consumers for each
    of them. Spark keeps consumers by group and partition, and takes no other options
    for one that it has: another cluster may have a topic of the same name. Nobody joins
    the group, and nothing is committed. The name says nothing of the options, which
    hold secrets.
    """
    return _range_groups[frozenset(options.items())]
