"""Pushed client configurations, from their Kafka topic to Delta tables.

`batch` says what becomes of a micro-batch. It may run again from any point:
see `transactions` and `starts`.
"""

from collections.abc import Mapping

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
from pipelines.tables.columns import BODY, SUBSCRIPTION, names
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIG_PUSHES,
    CONFIG_VIOLATIONS,
)
from pipelines.tables.contract import QUARANTINE
from udfs.spark_configs import ConfigTables, make_client_type_keys

from .batch import BatchWriter

JOB_NAME = "client_configs_to_delta"
LEDGER = Ledger(
    job_name=JOB_NAME,
    topic_setting="topics.configs",
    contract=CLIENT_CONFIG_PUSHES,
    written_before=(CONFIG_VIOLATIONS, QUARANTINE),
)
CONTRACTS = (QUARANTINE, *CLIENT_CONFIG_CONTRACTS)
NO_FLOORS: Mapping[str, Mapping[int, int]] = {
    contract.name: {} for contract in LEDGER.written_before
}


def run(
    spark: SparkSession,
    settings: Settings,
    secrets: SecretReader,
    *,
    catalogs: Catalogs,
    client_type_keys: Mapping[str, frozenset[str]],
    is_once: bool,
    observer: transactions.Observer = transactions.log_progress,
    on_batch: ProgressObserver = log_batch,
    job_run: JobRun | None = None,
) -> StreamingQuery:
    """Start the job.

    Args:
        secrets: Reads the secrets of the Kafka connection.
        catalogs: From settings.load_config_catalogs.
        client_type_keys: From settings.load_client_type_keys.
        is_once: Read what the topic holds now and end, instead of going on.
        observer: Told each point of each micro-batch, `before` and `after` each table
            and `before commit`, with the number of rows.
        on_batch: Told of each micro-batch that is written, and how far behind it is.
        job_run: What was decided for this run; it takes what ends it.
    Raises: MissingService, IncompatibleTable, UnsafeStart, InvalidSetting,
        UnresolvedSecret; nothing has been read then.
    """
    job = settings.client_configs_to_delta
    opened = open_records(
        spark,
        settings,
        secrets,
        LEDGER,
        job=job,
        topic=settings.topics.configs,
        contracts=CONTRACTS,
        job_run=job_run,
    )
    listener = BatchListener(JOB_NAME, on_batch, rows_name="configurations")
    spark.streams.addListener(listener)
    writer = BatchWriter(
        settings=settings.tables,
        tables=find_batch_tables(spark, settings.tables, CONTRACTS, observer),
        layouts=make_config_tables(
            settings, catalogs, client_type_keys, floors=opened.start.floors
        ),
        has_references=job.store_defaults == "references",
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


def make_config_tables(
    settings: Settings,
    catalogs: Catalogs,
    client_type_keys: Mapping[str, frozenset[str]],
    floors: Mapping[str, Mapping[int, int]] = NO_FLOORS,
) -> ConfigTables:
    """Say what becomes of the records of a micro-batch.

    Args:
        catalogs: As run takes them.
        client_type_keys: As run takes them.
        floors: What tables hold already, as a JobStart has it.
    Raises: InvalidSetting for a rule that is none.
    """
    not_here = {BODY.name, *names(SUBSCRIPTION)}
    return ConfigTables(
        pushes=layout_of(CLIENT_CONFIG_PUSHES),
        violations=layout_of(CONFIG_VIOLATIONS),
        quarantine=layout_of(QUARANTINE, without=not_here),
        violations_floors=floors[CONFIG_VIOLATIONS.name],
        quarantine_floors=floors[QUARANTINE.name],
        source_job=JOB_NAME,
        max_config_bytes=settings.client_configs_to_delta.max_config_bytes,
        rules=make_sensitive_key_rules(settings.sensitive_keys, catalogs),
        type_keys=make_client_type_keys(client_type_keys),
    )
