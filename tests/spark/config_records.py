"""Records of the topic of configurations as the bridge writes them, and their job."""

from datetime import UTC, datetime

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines import sinks
from pipelines.batch_tables import find_batch_tables
from pipelines.bridge.protocol.push_config import ClientConfig, write_push_config
from pipelines.config_batches import BatchWriter
from pipelines.jobs.client_configs_to_delta import CONTRACTS, make_config_tables
from pipelines.settings import (
    load_client_type_keys,
    load_config_catalogs,
    load_settings,
)
from pipelines.table_setup import ensure_tables
from udfs.sensitive_key_rules import CONFIG_TYPE_NAMES

START_MS = 1_767_225_600_000
KAFKA_TIME = datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)
RECORD_DDL = (
    "topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, value BINARY, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
HEADERS = {
    "client_instance_id": "tpzDWnpUR5Cqacwr1O5FOA",
    "client_id": "orders",
    "client_software_name": "apache-kafka-java",
    "client_software_version": "4.3.1",
    "principal": "User:alice",
    "listener": "PLAINTEXT",
    "client_source_address": "10.0.0.7",
    "client_source_port": "51234",
    "bridge_id": "bridge-1",
    "received_at_ms": str(START_MS),
    "push_id": "push-1",
    "redacted_keys": "",
}


def entry(key, value, type_name="STRING", *, is_default=False):
    """Return an entry; a type that is no name is none."""
    known = type_name in CONFIG_TYPE_NAMES
    type_id = CONFIG_TYPE_NAMES.index(type_name) if known else -1
    return ClientConfig(key, value, type_id, is_default)


def make_record(offset, *entries, body=None, without=(), **changes):
    """Return a record of the topic `configs`; a header may be text, bytes or None."""
    headers = {k: v for k, v in (HEADERS | changes).items() if k not in without}
    return (
        "configs",
        0,
        offset,
        KAFKA_TIME,
        write_push_config(list(entries)) if body is None else body,
        [
            (name, text.encode() if isinstance(text, str) else text)
            for name, text in headers.items()
        ],
    )


class ConfigJob:
    """The job without its query: micro-batches are handed to it."""

    def __init__(self, spark, folder, *overrides):
        self.spark = spark
        self.settings = load_settings(
            "local", [f"tables.root_path={folder}/tables", *overrides]
        )
        self.points = []
        ensure_tables(spark, self.settings.tables, CONTRACTS)
        job = self.settings.client_configs_to_delta
        self._writer = BatchWriter(
            settings=self.settings.tables,
            tables=find_batch_tables(
                spark, self.settings.tables, CONTRACTS, self.observe
            ),
            layouts=make_config_tables(
                self.settings, load_config_catalogs(), load_client_type_keys()
            ),
            has_references=job.store_defaults == "references",
            note_counts=lambda *_, **__: None,
        )
        self._next_batch = 0
        self.query_id = "query"

    def observe(self, point, rows):
        """Note a point of a micro-batch; a test may raise here."""
        self.points.append((point, rows))

    def write(self, *records, batch_id=None):
        """Write one micro-batch."""
        if batch_id is None:
            batch_id, self._next_batch = self._next_batch, self._next_batch + 1
        context = self.spark.sparkContext
        context.setLocalProperty(sinks.QUERY_ID_PROPERTY, self.query_id)
        try:
            frame = self.spark.createDataFrame(list(records), RECORD_DDL)
            self._writer.write(frame, batch_id)
        finally:
            context.setLocalProperty(sinks.QUERY_ID_PROPERTY, None)

    def begin_anew(self):
        """Go on as a query with a new checkpoint location does."""
        self.query_id += "'"
        self._next_batch = 0

    def read(self, contract):
        """Return a table."""
        path = f"{self.settings.tables.root_path}/{contract.name}"
        return self.spark.read.format("delta").load(path)

    def rows(self, contract, *columns):
        """Return rows of a table as sorted tuples."""
        return sorted(map(tuple, self.read(contract).select(*columns).collect()))

    def versions(self, contract):
        """Return what was done to a table, oldest first."""
        path = f"{self.settings.tables.root_path}/{contract.name}"
        history = self.spark.sql(f"DESCRIBE HISTORY delta.`{path}`")
        ordered = history.orderBy(F.col("version")).collect()
        return [row["operation"] for row in ordered]
