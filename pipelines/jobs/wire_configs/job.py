"""Configurations that the proxy has seen, from their Kafka topic to a Delta table.

`fold` adds the records of a micro-batch to the stored rows. A micro-batch may run again
from any point: see `transactions` and `starts`.
"""

from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.delta_tables.folded_tables import FoldedTable
from pipelines.delta_tables.layouts import layout_of
from pipelines.delta_tables.writers import TableWriter
from pipelines.settings.config_catalogs import Catalogs
from pipelines.settings.records import Settings
from pipelines.settings.rules import make_sensitive_key_rules
from pipelines.streaming.run_stream import (
    BatchWriting,
    JobRecords,
    JobSpec,
    RunContext,
    run_stream,
)
from pipelines.streaming.start_records import Ledger
from pipelines.tables.columns import BODY, CLIENT, SUBSCRIPTION, names
from pipelines.tables.configs import CLIENT_CONFIG_CONTRACTS
from pipelines.tables.telemetry import QUARANTINE
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from udfs.spark_configs import WireTables, encode_wire_config_files

from .fold import ENTRY_COLUMNS, fold

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
    spark: SparkSession, settings: Settings, context: RunContext, *, catalogs: Catalogs
) -> StreamingQuery:
    """Start the job.

    Args:
        catalogs: From settings.load_config_catalogs.
    Raises: As run_stream; InvalidSetting for a rule that is none.
    """
    max_bytes = settings.client_wire_configs_to_delta.max_config_bytes
    rules = make_sensitive_key_rules(settings.sensitive_keys, catalogs)
    not_here = {BODY.name, _INSTANCE_ID, *names(SUBSCRIPTION)}

    def make_writing(opened: JobRecords) -> BatchWriting:
        layouts = WireTables(
            quarantine=layout_of(QUARANTINE, without=not_here),
            quarantine_floors=opened.start.floors[QUARANTINE.name],
            source_job=JOB_NAME,
            max_config_bytes=max_bytes,
            rules=rules,
        )
        writer = make_batch_writer(opened.tables, layouts)
        return BatchWriting(write_slice=writer.write)

    spec = JobSpec(
        ledger=LEDGER,
        contracts=(*READ_BESIDE, *CONTRACTS),
        rows_name="values",
        max_value_bytes=max_bytes,
        make_writing=make_writing,
    )
    return run_stream(spark, settings, spec, context)


def make_batch_writer(tables: TableWriter, layouts: WireTables) -> FoldedTable:
    """Return what writes the micro-batches of the job."""
    decode = partial(
        encode_wire_config_files, tables=layouts, entry_columns=ENTRY_COLUMNS
    )
    return FoldedTable(
        tables=tables, contract=CLIENT_WIRE_CONFIGS, decode=decode, fold=fold
    )
