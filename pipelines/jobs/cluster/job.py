"""What a cluster's feed tells, from its Kafka topic to Delta tables.

`batch` says what becomes of a micro-batch. It may run again from any point: see
`noted_tables`, `transactions` and `starts`.
"""

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.delta_tables.layouts import layout_of
from pipelines.delta_tables.noted_tables import NotedTables
from pipelines.errors import UnsafeStart
from pipelines.settings.records import Settings
from pipelines.streaming.run_stream import (
    BatchWriting,
    JobRecords,
    JobSpec,
    RunContext,
    run_stream,
)
from pipelines.streaming.start_records import Ledger
from pipelines.tables.cluster import CLUSTER_CHANGES, CLUSTER_CONTRACTS
from pipelines.tables.columns import BODY, IDENTITY, RECEIVED, SUBSCRIPTION, names
from pipelines.tables.telemetry import QUARANTINE
from udfs.spark_cluster import ClusterTables

from .batch import ClusterBatchWriter, OnChange

JOB_NAME = "cluster_metadata_to_delta"
LEDGER = Ledger(
    job_name=JOB_NAME,
    topic_setting="topics.cluster",
    contract=CLUSTER_CHANGES,
    written_before=(QUARANTINE,),
)
CONTRACTS = (QUARANTINE, *CLUSTER_CONTRACTS)
SLICE_BYTES = 8 << 20
"""Of the records of a slice: they are Python's objects, all at once."""
NOT_HERE = frozenset({BODY.name, *names((*RECEIVED, *IDENTITY, *SUBSCRIPTION))})
"""Columns of quarantine that no record of a cluster fills."""


def run(
    spark: SparkSession,
    settings: Settings,
    context: RunContext,
    *,
    config_types: Mapping[str, str],
    on_change: OnChange = lambda _session, _tables: None,
) -> StreamingQuery:
    """Start the job.

    Args:
        config_types: Name of a broker's config to the name of its type.
        on_change: Told which tables have changed, after each micro-batch.
    Raises: As run_stream; UnsafeStart where the topic has more than one partition.
    """
    max_bytes = settings.cluster_metadata_to_delta.max_record_bytes

    def make_writing(opened: JobRecords) -> BatchWriting:
        _check_partitions(opened)
        writer = ClusterBatchWriter(
            tables=opened.tables,
            states=NotedTables(opened.tables),
            layouts=make_cluster_tables(
                max_bytes, opened.start.floors[QUARANTINE.name]
            ),
            config_types=config_types,
            topic_id=opened.start.topic_id,
            on_change=on_change,
        )
        return BatchWriting(write_slice=writer.write)

    spec = JobSpec(
        ledger=LEDGER,
        contracts=CONTRACTS,
        rows_name="changes",
        max_value_bytes=max_bytes,
        make_writing=make_writing,
        is_transactional=True,
        slice_bytes=SLICE_BYTES,
    )
    return run_stream(spark, settings, spec, context)


def make_cluster_tables(max_bytes: int, floors: Mapping[int, int]) -> ClusterTables:
    """Say what becomes of the records of a micro-batch.

    Args:
        max_bytes: Largest value of a record.
        floors: What quarantine holds already.
    """
    return ClusterTables(
        quarantine=layout_of(QUARANTINE, without=NOT_HERE),
        quarantine_floors=floors,
        source_job=JOB_NAME,
        max_record_bytes=max_bytes,
    )


def _check_partitions(opened: JobRecords) -> None:
    """Refuse a topic without an order of all records."""
    count = len(opened.start.starting_offsets)
    if count != 1:
        raise UnsafeStart(
            f"topic {opened.start.topic} has {count} partitions: records of a cluster "
            f"are true in one order alone; make it anew with one partition"
        )
