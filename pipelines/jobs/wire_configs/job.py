"""Configurations that the proxy has seen, from their Kafka topic to a Delta table.

`batch` says what becomes of a micro-batch. It may run again from any
point: see `transactions` and `starts`.
"""

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.delta_tables import transactions
from pipelines.delta_tables.batch_tables import find_batch_tables
from pipelines.delta_tables.layouts import layout_of
from pipelines.settings.config_catalogs import Catalogs
from pipelines.settings.records import Settings
from pipelines.settings.rules import make_sensitive_key_rules
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.batch_slices import SlicedBatches
from pipelines.streaming.progress import BatchListener, ProgressObserver, log_batch
from pipelines.streaming.run_stream import JobRun, open_records
from pipelines.streaming.start_records import Ledger
from pipelines.tables.columns import BODY, CLIENT, SUBSCRIPTION, names
from pipelines.tables.configs import CLIENT_CONFIG_CONTRACTS
from pipelines.tables.contract import QUARANTINE
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from udfs.spark_configs import WireTables

from .batch import WireBatchWriter

JOB_NAME = "client_wire_configs_to_delta"
LEDGER = Ledger(
    job_name=JOB_NAME,
    topic_setting="topics.wire_configs",
    contract=CLIENT_WIRE_CONFIGS,
    written_before=(QUARANTINE,),
)
CONTRACTS = (QUARANTINE, CLIENT_WIRE_CONFIGS)
READ_BESIDE = CLIENT_CONFIG_CONTRACTS
"""What views and purge_secrets need; made where nobody pushes, never written here."""
_INSTANCE_ID = CLIENT[0].name


def run(
    spark: SparkSession,
    settings: Settings,
    secrets: SecretReader,
    *,
    catalogs: Catalogs,
    is_once: bool,
    observer: transactions.Observer = transactions.log_progress,
    on_batch: ProgressObserver = log_batch,
    job_run: JobRun | None = None,
) -> StreamingQuery:
    """Start the job.

    Args:
        secrets: Reads the secrets of the Kafka connection.
        catalogs: From settings.load_config_catalogs.
        is_once: Read what the topic holds now and end, instead of going on.
        observer: As client_configs_to_delta has it.
        on_batch: As there.
        job_run: What was decided for this run; it takes what ends it.
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
        job_run=job_run,
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
    return transactions.start_batches(
        opened.records,
        opened.guard(batches.write),
        query_name=JOB_NAME,
        checkpoint_location=opened.checkpoint_location,
        trigger_interval_ms=None if is_once else job.trigger_interval_ms,
    )
