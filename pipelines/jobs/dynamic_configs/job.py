"""Dynamic client configs (KIP-649), from their Kafka topic to Delta tables.

`batch` says what becomes of a micro-batch. It may run again from any point: see
`noted_tables`, `transactions` and `starts`.
"""

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.delta_tables.layouts import layout_of
from pipelines.delta_tables.noted_tables import NotedTables
from pipelines.errors import UnsafeStart
from pipelines.settings.config_catalogs import Catalogs
from pipelines.settings.records import Settings
from pipelines.settings.rules import list_software, make_sensitive_key_rules
from pipelines.streaming.run_stream import (
    BatchWriting,
    JobRecords,
    JobSpec,
    RunContext,
    run_stream,
)
from pipelines.streaming.start_records import Ledger
from pipelines.tables.columns import BODY, IDENTITY, RECEIVED, SUBSCRIPTION, names
from pipelines.tables.configs import CLIENT_CONFIG_CONTRACTS
from pipelines.tables.dynamic_configs import (
    DYNAMIC_CONFIG_CHANGES,
    DYNAMIC_CONFIG_CONTRACTS,
)
from pipelines.tables.telemetry import QUARANTINE
from udfs.sensitive.sensitive_keys import SensitiveKeyRules
from udfs.spark_configs import DynamicTables

from .batch import DynamicBatchWriter
from .registrations import make_registration_reader

JOB_NAME = "dynamic_configs_to_delta"
LEDGER = Ledger(
    job_name=JOB_NAME,
    topic_setting="topics.client_configs",
    contract=DYNAMIC_CONFIG_CHANGES,
    written_before=(QUARANTINE,),
)
CONTRACTS = (QUARANTINE, *DYNAMIC_CONFIG_CONTRACTS)
READ_BESIDE = CLIENT_CONFIG_CONTRACTS
"""What the view of effective configs needs; made where nobody pushes, never written
here."""
SLICE_BYTES = 8 << 20
"""Of the records of a slice: they are Python's objects, all at once."""
NOT_HERE = frozenset({BODY.name, *names((*RECEIVED, *IDENTITY, *SUBSCRIPTION))})
"""Columns of quarantine that no record of the topic fills."""


def run(
    spark: SparkSession, settings: Settings, context: RunContext, *, catalogs: Catalogs
) -> StreamingQuery:
    """Start the job.

    Args:
        catalogs: From settings.load_config_catalogs.
    Raises: As run_stream; UnsafeStart where the topic has more than one partition,
        InvalidSetting for a rule that is none.
    """
    max_bytes = settings.dynamic_configs_to_delta.max_record_bytes
    rules = make_sensitive_key_rules(settings.sensitive_keys, catalogs)

    def make_writing(opened: JobRecords) -> BatchWriting:
        _check_partitions(opened)
        layouts = make_dynamic_tables(
            max_bytes,
            opened.start.floors[QUARANTINE.name],
            rules,
            list_software(settings.sensitive_keys),
        )
        writer = DynamicBatchWriter(
            tables=opened.tables,
            states=NotedTables(opened.tables),
            layouts=layouts,
            topic_id=opened.start.topic_id,
            read_registrations=make_registration_reader(
                opened.options, settings.topics.client_registrations, layouts
            ),
        )
        return BatchWriting(write_slice=writer.write)

    spec = JobSpec(
        ledger=LEDGER,
        contracts=(*READ_BESIDE, *CONTRACTS),
        rows_name="changes",
        max_value_bytes=max_bytes,
        make_writing=make_writing,
        is_transactional=True,
        slice_bytes=SLICE_BYTES,
    )
    return run_stream(spark, settings, spec, context)


def make_dynamic_tables(
    max_bytes: int,
    floors: Mapping[int, int],
    rules: SensitiveKeyRules,
    software: tuple[str, ...],
) -> DynamicTables:
    """Say what becomes of the records of a micro-batch.

    Args:
        max_bytes: Largest value of a record.
        floors: What quarantine holds already.
        rules: That say what must not be written.
        software: From list_software.
    """
    return DynamicTables(
        quarantine=layout_of(QUARANTINE, without=NOT_HERE),
        quarantine_floors=floors,
        source_job=JOB_NAME,
        max_record_bytes=max_bytes,
        rules=rules,
        software=software,
    )


def _check_partitions(opened: JobRecords) -> None:
    """Refuse a topic without an order of all records."""
    count = len(opened.start.starting_offsets)
    if count != 1:
        raise UnsafeStart(
            f"topic {opened.start.topic} has {count} partitions: what was set for a "
            f"client is true in one order alone; make it anew with one partition"
        )
