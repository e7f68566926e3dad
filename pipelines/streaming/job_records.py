"""The records that a streaming job reads, from where its tables end."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from pipelines.delta_tables.table_locations import qualify_path
from pipelines.delta_tables.table_setup import ensure_tables
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader
from pipelines.settings.stream_job_settings import StreamJobSettings
from pipelines.sources import read_kafka, read_kafka_ranges
from pipelines.tables import TableContract

from .batch_slices import ReadRanges
from .job_starts import JobStart, Ledger, decide_start
from .kafka_connection import spark_source_options
from .kafka_positions import read_topic_bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecords:
    """What a job reads, and where it began."""

    records: DataFrame
    """A streaming DataFrame: columns of Spark's Kafka source."""
    start: JobStart
    checkpoint_location: str
    """With its file system."""
    read_ranges: ReadRanges
    """Reads a part of the topic again."""


def open_records(
    spark: SparkSession,
    settings: Settings,
    secrets: SecretReader,
    ledger: Ledger,
    *,
    job: StreamJobSettings,
    topic: str,
    contracts: Sequence[TableContract],
) -> JobRecords:
    """Bring the tables of a job up to date and open its topic.

    Args:
        spark: A session with Delta and the Kafka source.
        settings: Of one environment.
        secrets: Reads the secrets of the Kafka connection.
        ledger: Of the job.
        job: Its settings.
        topic: Its topic.
        contracts: Its tables.
    Raises: MissingService, IncompatibleTable, UnsafeStart, InvalidSetting,
        UnresolvedSecret; nothing has been read then.
    """
    options = spark_source_options(settings.kafka, secrets)
    bounds = read_topic_bounds(spark, options, topic)
    ensure_tables(spark, settings.tables, contracts)
    checkpoint_location = qualify_path(spark, job.checkpoint_location)
    start = decide_start(
        spark,
        settings.tables,
        ledger,
        topic,
        bounds,
        checkpoint_location=checkpoint_location,
        starting_offsets=job.starting_offsets,
    )
    records = read_kafka(
        spark,
        options,
        topic=topic,
        starting_offsets=start.starting_offsets_json,
        max_offsets_per_trigger=job.max_offsets_per_trigger,
    )
    return JobRecords(
        records=records,
        start=start,
        checkpoint_location=checkpoint_location,
        read_ranges=lambda session, ranges: read_kafka_ranges(
            session, options, topic=topic, ranges=ranges
        ),
    )
