"""Options of Spark's Kafka source that the jobs' memory depends on; no Kafka is asked."""

import pytest

from pipelines.streaming.sources import MAX_POLL_RECORDS, read_kafka, read_kafka_ranges

SERVERS = {"kafka.bootstrap.servers": "127.0.0.1:1"}
OPTION = "kafka.max.poll.records"


def read_stream(spark, options):
    records = read_kafka(
        spark,
        options,
        topic="t",
        starting_offsets="earliest",
        max_offsets_per_trigger=9,
    )
    return records._jdf.queryExecution().analyzed().extraOptions().get(OPTION)


def read_batch(spark, options):
    records = read_kafka_ranges(spark, options, topic="t", ranges={0: (0, 1)})
    return records._jdf.queryExecution().logical().options().apply(OPTION)


@pytest.mark.parametrize("read", [read_stream, read_batch])
def test_a_consumer_makes_few_records_at_once_unless_it_is_told_otherwise(spark, read):
    assert read(spark, SERVERS) == str(MAX_POLL_RECORDS)
    assert read(spark, SERVERS | {OPTION: "7"}) == "7"
