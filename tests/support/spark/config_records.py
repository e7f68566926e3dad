"""Records of the topic of configurations as the bridge writes them, and their job."""

import dataclasses
from datetime import UTC, datetime

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.bridge.protocol.push_config import ClientConfig, write_push_config
from pipelines.delta_tables import transactions
from pipelines.delta_tables.writers import open_writer
from pipelines.jobs.configs.batch import BatchWriter
from pipelines.jobs.configs.job import CONTRACTS, LEDGER, NO_FLOORS, make_config_tables
from pipelines.settings import (
    load_client_type_keys,
    load_config_catalogs,
    load_settings,
)
from pipelines.streaming.batch_slices import SlicedBatches
from pipelines.streaming.positions import TopicBounds
from pipelines.streaming.starts import decide_start
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.writer_option import writer_override
from udfs.sensitive.sensitive_key_rules import CONFIG_TYPE_NAMES

TOPIC = "configs"
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
        TOPIC,
        0,
        offset,
        KAFKA_TIME,
        write_push_config(list(entries)) if body is None else body,
        [
            (name, text.encode() if isinstance(text, str) else text)
            for name, text in headers.items()
        ],
    )


def _is_in(ranges):
    return " OR ".join(
        f"partition = {partition} AND offset >= {first} AND offset < {end}"
        for partition, (first, end) in ranges.items()
    )


class ConfigJob:
    """The job without its query: micro-batches are handed to it."""

    def __init__(self, spark, folder, *overrides, rules=()):
        """Make its tables; rules come before those of the settings."""
        self.spark = spark
        settings = load_settings(
            "local",
            [f"tables.root_path={folder}/tables", writer_override(), *overrides],
        )
        known = settings.sensitive_keys
        keys = dataclasses.replace(known, rules=(*rules, *known.rules))
        self.settings = dataclasses.replace(settings, sensitive_keys=keys)
        self.on_point = None
        self._folder = folder
        make_tables(spark, self.settings.tables, CONTRACTS)
        # Spark has it off in streams, too.
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        self._next_batch = 0
        self._query_id = "query"
        self._writer = self._make_writer(NO_FLOORS)

    def _make_writer(self, floors):
        tables, job = self.settings.tables, self.settings.client_configs_to_delta
        return BatchWriter(
            settings=tables,
            tables=open_writer(self.spark, tables, CONTRACTS, self._observe),
            layouts=make_config_tables(
                self.settings, load_config_catalogs(), load_client_type_keys(), floors
            ),
            has_references=job.store_defaults == "references",
        )

    def _observe(self, point, rows):
        if self.on_point is not None:
            self.on_point(point, rows)

    def write(self, *records):
        """Write the next micro-batch."""
        self.try_write(*records)
        self._next_batch += 1

    def try_write(self, *records):
        """Write a micro-batch that is the next one still."""
        frame = self.spark.createDataFrame(list(records), RECORD_DDL)
        self._writer.write(
            frame,
            transactions.Transaction(
                query_id=self._query_id, batch_id=self._next_batch
            ),
        )

    def try_write_slices(self, *records, slice_bytes):
        """Write a micro-batch that is the next one still, in slices."""
        frame = self.spark.createDataFrame(list(records), RECORD_DDL)
        batches = SlicedBatches(
            read_ranges=lambda _, ranges: frame.where(_is_in(ranges)),
            write_slice=self._writer.write,
            note_counts=lambda *_, **__: None,
            observer=self._observe,
            checkpoint_location=f"{self._folder}/{self._query_id}",
            max_value_bytes=self.settings.client_configs_to_delta.max_config_bytes,
            slice_bytes=slice_bytes,
        )
        context = self.spark.sparkContext
        context.setLocalProperty(transactions.QUERY_ID_PROPERTY, self._query_id)
        try:
            batches.write(frame, self._next_batch)
        finally:
            context.setLocalProperty(transactions.QUERY_ID_PROPERTY, None)

    def begin_anew(self):
        """Go on as a query with a new checkpoint location; return the next offset."""
        self._query_id += "'"
        self._next_batch = 0
        start = decide_start(
            self.spark,
            self.settings.tables,
            LEDGER,
            TOPIC,
            TopicBounds(beginning={0: 0}, end={0: 10**9}),
            checkpoint_location=f"{self._folder}/{self._query_id}",
            starting_offsets="earliest",
        )
        self._writer = self._make_writer(start.floors)
        return max(start.starting_offsets[0], 0)

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
