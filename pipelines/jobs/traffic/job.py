"""What clients behind the proxy produce and fetch, from a Kafka topic to a Delta table.

`batch` says what becomes of a micro-batch. It may run again from any
point: see `transactions` and `starts`.
"""

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.delta_tables.layouts import layout_of
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
from udfs.spark_traffic import TrafficTables

from .batch import TrafficBatchWriter

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
        writer = TrafficBatchWriter(tables=opened.tables, layouts=layouts)
        return BatchWriting(write_slice=writer.write)

    spec = JobSpec(
        ledger=LEDGER,
        contracts=CONTRACTS,
        rows_name="rows",
        max_value_bytes=max_bytes,
        make_writing=make_writing,
    )
    return run_stream(spark, settings, spec, context)
