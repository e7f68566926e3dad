"""Configurations that the proxy has seen, from their Kafka topic to a Delta table.

`wire_config_batches` says what becomes of a micro-batch. It may run again from any
point: see `sinks` and `job_starts`.
"""

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines import sinks
from pipelines.client_config_tables import CLIENT_CONFIG_CONTRACTS
from pipelines.delta_tables.batch_tables import find_batch_tables
from pipelines.delta_tables.table_layouts import layout_of
from pipelines.delta_tables.wire_config_batches import WireBatchWriter
from pipelines.sensitive_rules import make_sensitive_key_rules
from pipelines.settings.config_catalogs import Catalogs
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.batch_progress import (
    BatchListener,
    ProgressObserver,
    log_batch,
)
from pipelines.streaming.batch_slices import SlicedBatches
from pipelines.streaming.job_records import open_records
from pipelines.streaming.job_starts import Ledger
from pipelines.table_columns import BODY, CLIENT, SUBSCRIPTION, names
from pipelines.tables import QUARANTINE
from pipelines.wire_config_tables import CLIENT_WIRE_CONFIGS
from udfs.spark_configs import WireTables

JOB_NAME = "client_wire_configs_to_delta"
LEDGER = Ledger(
    job_name=JOB_NAME,
    topic_setting="topics.wire_configs",
    contract=CLIENT_WIRE_CONFIGS,
    written_before=(QUARANTINE,),
)
CONTRACTS = (QUARANTINE, CLIENT_WIRE_CONFIGS)
READ_BESIDE = CLIENT_CONFIG_CONTRACTS
"""What views and purge-secrets need; made where nobody pushes, never written here."""
_INSTANCE_ID = CLIENT[0].name


def run(
    spark: SparkSession,
    settings: Settings,
    secrets: SecretReader,
    *,
    catalogs: Catalogs,
    is_once: bool,
    observer: sinks.Observer = sinks.log_progress,
    on_batch: ProgressObserver = log_batch,
) -> StreamingQuery:
    """Start the job.

    Args:
        spark: A session with Delta and the Kafka source.
        settings: Of one environment.
        secrets: Reads the secrets of the Kafka connection.
        catalogs: From settings.load_config_catalogs.
        is_once: Read what the topic holds now and end, instead of going on.
        observer: As client_configs_to_delta has it.
        on_batch: As there.
    Raises: MissingService, IncompatibleTable, UnsafeStart, InvalidSetting,
        UnresolvedSecret; nothing has been read then.
    """
    job = settings.client_wire_configs_to_delta
    opened = open_records(
        spark,
        settings,
        secrets,
        LEDGER,
        job=job,
        topic=settings.topics.wire_configs,
        contracts=(*READ_BESIDE, *CONTRACTS),
    )
    listener = BatchListener(JOB_NAME, on_batch, rows_name="values")
    spark.streams.addListener(listener)
    not_here = {BODY.name, _INSTANCE_ID, *names(SUBSCRIPTION)}
    writer = WireBatchWriter(
        tables=find_batch_tables(spark, settings.tables, CONTRACTS, observer),
        layouts=WireTables(
            quarantine=layout_of(QUARANTINE, without=not_here),
            quarantine_floors=opened.start.floors[QUARANTINE.name],
            source_job=JOB_NAME,
            max_config_bytes=job.max_config_bytes,
            rules=make_sensitive_key_rules(settings.sensitive_keys, catalogs),
        ),
    )
    batches = SlicedBatches(
        read_ranges=opened.read_ranges,
        write_slice=writer.write,
        note_counts=listener.note_counts,
        observer=observer,
        checkpoint_location=opened.checkpoint_location,
        max_value_bytes=job.max_config_bytes,
    )
    return sinks.start_batches(
        opened.records,
        batches.write,
        query_name=JOB_NAME,
        checkpoint_location=opened.checkpoint_location,
        trigger_interval_ms=None if is_once else job.trigger_interval_ms,
    )
