"""What clients behind the proxy produce and fetch, from a Kafka topic to a Delta table.

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
from pipelines.tables.telemetry import QUARANTINE
from pipelines.tables.traffic import CLIENT_TRAFFIC
from udfs.spark_traffic import TrafficTables, encode_traffic_files

from .fold import RECORD_COLUMNS, fold

JOB_NAME = "client_traffic_to_delta"
LEDGER = Ledger(
    job_name=JOB_NAME,
    topic_setting="topics.traffic",
    contract=CLIENT_TRAFFIC,
    written_before=(QUARANTINE,),
)
CONTRACTS = (QUARANTINE, CLIENT_TRAFFIC)
NOT_HERE = frozenset(
    {
        *(BODY.name, CLIENT[0].name, *names(SUBSCRIPTION)),
        *("client_source_address", "client_source_port", "listener"),
    }
)
"""Columns of quarantine that no record of this topic fills."""


def run(
    spark: SparkSession, settings: Settings, context: RunContext, *, catalogs: Catalogs
) -> StreamingQuery:
    """Start the job.

    Args:
        catalogs: From settings.load_config_catalogs.
    Raises: As run_stream; InvalidSetting for a rule that is none.
    """
    max_bytes = settings.client_traffic_to_delta.max_record_bytes
    rules = make_sensitive_key_rules(settings.sensitive_keys, catalogs)

    def make_writing(opened: JobRecords) -> BatchWriting:
        layouts = TrafficTables(
            quarantine=layout_of(QUARANTINE, without=NOT_HERE),
            quarantine_floors=opened.start.floors[QUARANTINE.name],
            source_job=JOB_NAME,
            max_record_bytes=max_bytes,
            rules=rules,
        )
        writer = make_batch_writer(opened.tables, layouts)
        return BatchWriting(write_slice=writer.write)

    spec = JobSpec(
        ledger=LEDGER,
        contracts=CONTRACTS,
        rows_name="rows",
        max_value_bytes=max_bytes,
        make_writing=make_writing,
    )
    return run_stream(spark, settings, spec, context)


def make_batch_writer(tables: TableWriter, layouts: TrafficTables) -> FoldedTable:
    """Return what writes the micro-batches of the job."""
    decode = partial(encode_traffic_files, tables=layouts, row_columns=RECORD_COLUMNS)
    return FoldedTable(tables=tables, contract=CLIENT_TRAFFIC, decode=decode, fold=fold)
