"""Pushed client configurations, from their Kafka topic to Delta tables.

1. Source: `run_stream` reads the topic from where the ledger ends.
2. Decode and judge: `decode_config_pushes` runs in Python workers. It decodes pushes,
   applies the rules for sensitive keys by `judge_config_entries`, and writes the files
   of the facts: violations, quarantine, ledger.
3. Defaults: `report_defaults` collects the defaults that clients report, and
   `resolve_config_defaults` sets statuses and typed values.
4. Fold: the pure functions in `folds` compare pushes with the rows that `known` finds.
5. Write: `states` appends new rows and merges changed ones. `batch` states the order.

A micro-batch may run again from any point: see `transactions` and `starts`.
"""

from collections.abc import Mapping

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
from pipelines.tables.columns import BODY, SUBSCRIPTION, names
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIG_PUSHES,
    CONFIG_VIOLATIONS,
)
from pipelines.tables.telemetry import QUARANTINE
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
    context: RunContext,
    *,
    catalogs: Catalogs,
    client_type_keys: Mapping[str, frozenset[str]],
    kept_closed_days: int = 0,
) -> StreamingQuery:
    """Start the job.

    Args:
        catalogs: From settings.load_config_catalogs.
        client_type_keys: From settings.load_client_type_keys.
        kept_closed_days: As the file of retention has it for client_config_history.
    Raises: As run_stream; InvalidSetting for a rule that is none.
    """
    job = settings.client_configs_to_delta

    def make_writing(opened: JobRecords) -> BatchWriting:
        writer = BatchWriter(
            settings=settings.tables,
            tables=opened.tables,
            layouts=make_config_tables(
                settings, catalogs, client_type_keys, floors=opened.start.floors
            ),
            has_references=job.store_defaults == "references",
            kept_closed_days=kept_closed_days,
        )
        return BatchWriting(write_slice=writer.write)

    spec = JobSpec(
        ledger=LEDGER,
        contracts=CONTRACTS,
        rows_name="configurations",
        max_value_bytes=job.max_config_bytes,
        make_writing=make_writing,
    )
    return run_stream(spark, settings, spec, context)


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
