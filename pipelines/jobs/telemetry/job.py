"""Pushed client metrics, from their Kafka topic to four Delta tables.

A micro-batch writes client_metrics, quarantine, client_instances and, last, the ledger
client_pushes. It may run again from any point: see `transactions` and `starts`.
"""

from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.delta_tables import transactions
from pipelines.delta_tables.batch_files import BatchCounts, BatchFiles
from pipelines.delta_tables.layouts import layout_of
from pipelines.delta_tables.ways import StoreFile
from pipelines.delta_tables.writers import TableWriter
from pipelines.settings.records import Settings
from pipelines.streaming.run_stream import (
    BatchWriting,
    JobRecords,
    JobSpec,
    RunContext,
    run_stream,
)
from pipelines.streaming.start_records import JobStart, Ledger
from pipelines.tables.telemetry import (
    CLIENT_METRICS,
    CLIENT_PUSHES,
    QUARANTINE,
    TELEMETRY_CONTRACTS,
)
from udfs.spark import PushTables, encode_push_files

from .instances import InstanceWriter
from .steps import PUSH_COLUMNS

JOB_NAME = "client_telemetry_to_delta"
WRITTEN = (CLIENT_METRICS, QUARANTINE, CLIENT_PUSHES)
"""The tables whose files the workers make."""
MAX_DECIDING_BYTES = 64 << 20
"""Of the pushes that say who their client instances are, from all tasks of a batch.
A bridge writes some hundred bytes of each; 16 KiB are the most that is taken."""
LEDGER = Ledger(
    job_name=JOB_NAME,
    topic_setting="topics.telemetry",
    contract=CLIENT_PUSHES,
    written_before=(CLIENT_METRICS, QUARANTINE),
)


def run(spark: SparkSession, settings: Settings, context: RunContext) -> StreamingQuery:
    """Start the job.

    Raises: As run_stream.
    """
    max_bytes = settings.client_telemetry_to_delta.max_decompressed_bytes
    spec = JobSpec(
        ledger=LEDGER,
        contracts=TELEMETRY_CONTRACTS,
        rows_name="points",
        max_value_bytes=max_bytes,
        make_writing=partial(_make_writing, spark, max_bytes),
    )
    return run_stream(spark, settings, spec, context)


def _make_writing(
    spark: SparkSession, max_decompressed_bytes: int, opened: JobRecords
) -> BatchWriting:
    tables = opened.tables
    writer = _BatchWriter(
        tables=tables,
        layouts=_layouts(opened.start, max_decompressed_bytes),
        store=tables.find_store(spark, WRITTEN),
        instances=InstanceWriter(tables=tables),
        partitions=max(1, len(opened.start.starting_offsets)),
    )
    # Where workers store the files, what they hold is bounded, and little returns.
    is_bounded = writer.store is not None
    return BatchWriting(
        write_slice=writer.write_slice,
        write_at_once=writer.write_at_once if is_bounded else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _BatchWriter:
    """Writes micro-batches; what it needs beside them stays the same for a query."""

    tables: TableWriter
    layouts: PushTables
    store: StoreFile | None
    """Writes files where the tables are; null where workers may not."""
    instances: InstanceWriter
    partitions: int
    """Of the topic, when the job began."""

    def write_at_once(
        self, records: DataFrame, transaction: transactions.Transaction
    ) -> BatchCounts | None:
        """Write a micro-batch to every table, the ledger last.

        Nulls: None, and nothing is written, where the driver would have to hold more
            of its client instances than MAX_DECIDING_BYTES.
        """
        encoded = self._encode(records, MAX_DECIDING_BYTES)
        batch = self.tables.decode(encoded)
        if batch.is_too_much:
            self.tables.discard(batch, WRITTEN)
            return None
        return self._write_tables(batch, transaction)

    def write_slice(
        self, records: DataFrame, transaction: transactions.Transaction
    ) -> BatchCounts:
        """Write a slice, whose size is bounded, in the same way."""
        encoded = self._encode(records, None)
        if self.store is not None:
            return self._write_tables(self.tables.decode(encoded), transaction)
        # Kafka is read and bodies are decoded once; each table fetches its files.
        with transactions.persisted(encoded):
            return self._write_tables(self.tables.decode(encoded), transaction)

    def _encode(self, records: DataFrame, max_deciding_bytes: int | None) -> DataFrame:
        # A task makes at least one file a table, so there are no more than cores.
        cores = records.sparkSession.sparkContext.defaultParallelism
        tasks = min(cores, self.partitions)
        return records.coalesce(cores).transform(
            encode_push_files,
            self.layouts,
            PUSH_COLUMNS,
            self.store,
            max_deciding_bytes=max_deciding_bytes and max_deciding_bytes // tasks,
        )

    def _write_tables(
        self, batch: BatchFiles, transaction: transactions.Transaction
    ) -> BatchCounts:
        self.tables.append(batch, CLIENT_METRICS, transaction)
        self.tables.append(batch, QUARANTINE, transaction)
        session = batch.encoded.sparkSession
        self.instances.write(session, batch.deciding, transaction)
        self.tables.append(batch, CLIENT_PUSHES, transaction)
        return batch.count(CLIENT_METRICS)


def _layouts(start: JobStart, max_decompressed_bytes: int) -> PushTables:
    """Say what the files of each table look like, and what the tables hold already."""
    return PushTables(
        points=layout_of(CLIENT_METRICS),
        pushes=layout_of(CLIENT_PUSHES),
        quarantine=layout_of(QUARANTINE),
        points_floors=start.floors[CLIENT_METRICS.name],
        quarantine_floors=start.floors[QUARANTINE.name],
        source_job=JOB_NAME,
        max_decompressed_bytes=max_decompressed_bytes,
    )
