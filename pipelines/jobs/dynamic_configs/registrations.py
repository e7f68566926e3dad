"""The topic of registrations, read as a whole.

Bridges have the topic compacted after minutes, so it is a snapshot and no log: the job
keeps no offsets of it. It reads all of it whenever the configs' topic tells of new
registrations, and what compaction has removed is no loss.
"""

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from pipelines.delta_tables.batch_files import select_pushes
from pipelines.streaming.positions import read_topic_bounds
from pipelines.streaming.sources import read_kafka_ranges
from udfs.dynamic_configs.topic_records import TopicRecord, iter_records
from udfs.spark_configs import DynamicTables, encode_dynamic_config_files

TOPIC_SETTING = "topics.client_registrations"
ReadRegistrations = Callable[[SparkSession], Sequence[TopicRecord]]


def make_registration_reader(
    options: Mapping[str, str], topic: str, layouts: DynamicTables
) -> ReadRegistrations:
    """Return what reads all registrations of a topic, in the order of their offsets.

    Args:
        options: Of the Kafka connection; they hold secrets.
        layouts: As of the records of the configs' topic.
    The reader raises MissingService or MissingTopic.
    """

    def read(session: SparkSession) -> Sequence[TopicRecord]:
        bounds = read_topic_bounds(session, options, topic, topic_setting=TOPIC_SETTING)
        records = read_kafka_ranges(
            session,
            options,
            topic=topic,
            ranges={p: (bounds.beginning[p], end) for p, end in bounds.end.items()},
            is_transactional=True,
        )
        return decode_registrations(records, layouts)

    return read


def decode_registrations(
    records: DataFrame, layouts: DynamicTables
) -> Sequence[TopicRecord]:
    """Return the records that can be read; bridges count and log the others."""
    encoded = records.transform(encode_dynamic_config_files, layouts)
    return list(iter_records(encoded.transform(select_pushes).toArrow()))
