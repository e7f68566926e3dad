"""Pushed client metrics, from their Kafka topic to four Delta tables.

A micro-batch writes client_metrics, quarantine, client_instances and, last, the ledger
client_pushes. It may run again from any point: see `sinks` and `job_starts`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines import sinks
from pipelines.job_starts import JobStart, decide_start
from pipelines.kafka_connection import spark_source_options
from pipelines.kafka_positions import read_topic_bounds
from pipelines.secret_references import SecretReader
from pipelines.setting_records import Settings
from pipelines.sources import read_kafka
from pipelines.table_locations import identify_table, qualify_path
from pipelines.table_setup import ensure_tables
from pipelines.tables import (
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    CONTRACTS,
    QUARANTINE,
    TableContract,
)
from pipelines.transforms.batch_counts import count_batch
from pipelines.transforms.client_instances import (
    PUSH_COLUMNS,
    count_changes,
    filter_changed,
    filter_newer_pushes,
    select_instance_facts,
    select_instances,
)
from pipelines.transforms.client_metrics import (
    explode_points,
    select_client_metrics,
    with_identity,
)
from pipelines.transforms.client_pushes import select_client_pushes, with_decode_results
from pipelines.transforms.envelopes import filter_usable, with_envelope
from pipelines.transforms.offsets import filter_beyond
from pipelines.transforms.quarantine import (
    filter_quarantined,
    select_quarantine,
    with_reason,
)
from udfs.spark import decode_pushes

JOB_NAME = "client_telemetry_to_delta"


def run(
    spark: SparkSession,
    settings: Settings,
    secrets: SecretReader,
    *,
    is_once: bool,
    observer: sinks.Observer = sinks.log_progress,
) -> StreamingQuery:
    """Start the job.

    Args:
        spark: A session with Delta and the Kafka source.
        settings: Of one environment.
        secrets: Reads the secrets of the Kafka connection.
        is_once: Read what the topic holds now and end, instead of going on.
        observer: Told each point of each micro-batch, `before` and `after` each table
            and `before commit`, with the number of rows.
    Raises: MissingService, IncompatibleTable, UnsafeStart, InvalidSetting,
        UnresolvedSecret; nothing has been read then.
    """
    job, topic = settings.client_telemetry_to_delta, settings.topics.telemetry
    options = spark_source_options(settings.kafka, secrets)
    bounds = read_topic_bounds(spark, options, topic)
    ensure_tables(spark, settings.tables, CONTRACTS)
    checkpoint_location = qualify_path(spark, job.checkpoint_location)
    start = decide_start(
        spark,
        settings.tables,
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
    writer = _BatchWriter(
        tables={c.name: identify_table(spark, settings.tables, c) for c in CONTRACTS},
        start=start,
        max_decompressed_bytes=job.max_decompressed_bytes,
        observer=observer,
    )
    return sinks.start_batches(
        records,
        writer.write,
        query_name=JOB_NAME,
        checkpoint_location=checkpoint_location,
        trigger_interval_ms=None if is_once else job.trigger_interval_ms,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _BatchWriter:
    """Writes micro-batches; what it needs beside them stays the same for a query."""

    tables: Mapping[str, str]
    """Contract name to SQL identifier."""
    start: JobStart
    max_decompressed_bytes: int
    observer: sinks.Observer

    def write(self, records: DataFrame, batch_id: int) -> None:
        """Write one micro-batch to every table, the ledger last."""
        transaction = sinks.Transaction(
            query_id=sinks.read_query_id(records), batch_id=batch_id
        )
        # Kafka is read and bodies are decoded once; each write takes what it needs.
        with sinks.persisted(records.transform(with_envelope)) as envelopes:
            decoded = envelopes.transform(filter_usable).transform(
                decode_pushes, max_decompressed_bytes=self.max_decompressed_bytes
            )
            with sinks.persisted(decoded):
                self._write_tables(envelopes, decoded, transaction)

    def _write_tables(
        self, envelopes: DataFrame, decoded: DataFrame, transaction: sinks.Transaction
    ) -> None:
        pushes = envelopes.transform(with_decode_results, decoded)
        usable = pushes.transform(filter_usable)
        metrics_floors = self.start.floors[CLIENT_METRICS.name]
        quarantine_floors = self.start.floors[QUARANTINE.name]
        counts = count_batch(pushes, metrics_floors, quarantine_floors)
        counted = counts.collect()[0]
        points = (
            decoded.transform(filter_beyond, metrics_floors)
            .transform(explode_points)
            .transform(with_identity, envelopes)
            .transform(select_client_metrics)
        )
        rejected = (
            pushes.transform(filter_beyond, quarantine_floors)
            .transform(filter_quarantined)
            .transform(with_reason)
            .transform(select_quarantine, JOB_NAME)
        )
        self._append(points, CLIENT_METRICS, transaction, counted["points"])
        self._append(rejected, QUARANTINE, transaction, counted["quarantined"])
        self._merge_instances(usable, transaction)
        accepted = usable.transform(select_client_pushes)
        self._append(accepted, CLIENT_PUSHES, transaction, counted["pushes"])
        self.observer("before commit", counted["records"])

    def _append(
        self,
        rows: DataFrame,
        contract: TableContract,
        transaction: sinks.Transaction,
        row_count: int,
    ) -> None:
        with self._observed(contract, row_count):
            if row_count:
                table = self.tables[contract.name]
                sinks.append(rows, contract, table, transaction, row_count=row_count)

    def _merge_instances(
        self, usable: DataFrame, transaction: sinks.Transaction
    ) -> None:
        """Merge the client instances that this batch changes; mostly there are none."""
        session = usable.sparkSession
        instances = session.table(self.tables[CLIENT_INSTANCES.name])
        pushes = usable.select(*PUSH_COLUMNS)
        facts = pushes.transform(select_instance_facts)
        with sinks.persisted(facts.transform(filter_changed, instances)) as changed:
            counted = changed.transform(count_changes).collect()[0]
            rows, oldest_needed_us = changed, counted["oldest_needed_us"]
            if oldest_needed_us is not None:
                ledger = session.table(self.tables[CLIENT_PUSHES.name])
                newer = ledger.transform(filter_newer_pushes, changed, oldest_needed_us)
                facts = pushes.unionByName(newer).transform(select_instance_facts)
                rows = facts.transform(filter_changed, instances)
            with self._observed(CLIENT_INSTANCES, counted["changes"]):
                if counted["changes"]:
                    table = self.tables[CLIENT_INSTANCES.name]
                    changes = rows.transform(select_instances)
                    sinks.merge(changes, CLIENT_INSTANCES, table, transaction)

    @contextmanager
    def _observed(self, contract: TableContract, row_count: int) -> Iterator[None]:
        """Tell the observer what is about to be written, and that it is."""
        self.observer(f"before {contract.name}", row_count)
        yield
        self.observer(f"after {contract.name}", row_count)
