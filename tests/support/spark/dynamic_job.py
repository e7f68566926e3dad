"""The job of dynamic client configs without its query: micro-batches are handed to it."""

from dataclasses import replace

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables import transactions
from pipelines.delta_tables.locations import identify_table
from pipelines.delta_tables.noted_tables import NotedTables
from pipelines.delta_tables.writers import open_writer
from pipelines.jobs.dynamic_configs.batch import DynamicBatchWriter
from pipelines.jobs.dynamic_configs.job import (
    CONTRACTS,
    LEDGER,
    make_dynamic_tables,
)
from pipelines.jobs.purge.dynamic_configs import DynamicPurge
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import list_software, make_sensitive_key_rules
from pipelines.streaming.positions import TopicBounds
from pipelines.streaming.starts import decide_start
from pipelines.tables.dynamic_configs import DYNAMIC_CONFIG_CONTRACTS
from tests.support.dynamic_records import RECORD_DDL, TOPIC
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.writer_option import writer_override
from tests.unit.udfs.dynamic_configs.read_records import read

MAX_BYTES = 10_000
REGISTRATION_TOPIC = "client_registrations"


class Stop(Exception):
    """What ends a batch in a test."""


class DynamicJob:
    """Tables, and a query that writes to them until a point is reached."""

    def __init__(self, spark, folder, *overrides):
        self.spark, self._folder = spark, folder
        words = [f"tables.root_path={folder}/tables", writer_override(), *overrides]
        self.settings = load_settings("local", words)
        self.stop_at = None
        self.registered = []
        """Records that the registrations' topic holds."""
        make_tables(spark, self.settings.tables, CONTRACTS)
        # Spark has it off in streams, too.
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        self._rules = make_sensitive_key_rules(
            self.settings.sensitive_keys, load_config_catalogs()
        )
        self._query_id, self._next_batch = "query", 0
        self._writer = self._make_writer({})

    def _make_writer(self, floors):
        tables = open_writer(self.spark, self.settings.tables, CONTRACTS, self._observe)
        return DynamicBatchWriter(
            tables=tables,
            states=NotedTables(tables),
            layouts=make_dynamic_tables(
                MAX_BYTES,
                floors,
                self._rules,
                list_software(self.settings.sensitive_keys),
            ),
            topic_id="id",
            read_registrations=lambda _: [
                replace(one, topic=REGISTRATION_TOPIC) for one in read(self.registered)
            ],
        )

    def _observe(self, point, _rows):
        if point == self.stop_at:
            raise Stop

    def write(self, rows):
        """Write the next micro-batch of rows of Kafka's source."""
        self.try_write(rows)
        self._next_batch += 1

    def try_write(self, rows):
        """Write a micro-batch that is the next one still."""
        named = transactions.Transaction(
            query_id=self._query_id, batch_id=self._next_batch
        )
        self._writer.write(self.spark.createDataFrame(rows, RECORD_DDL), named)

    def restart(self):
        """Go on as the same query in another process."""
        self._writer = self._make_writer({})

    def purge(self):
        """Return what takes hidden configs out of the tables."""
        tables = {
            one.name: identify_table(self.spark, self.settings.tables, one)
            for one in DYNAMIC_CONFIG_CONTRACTS
        }
        return DynamicPurge(self.spark, self.settings, tables, self._rules)

    def begin_anew(self):
        """Go on as a query with a new checkpoint location; return the next offset."""
        self._query_id, self._next_batch = f"{self._query_id}'", 0
        start = decide_start(
            self.spark,
            self.settings.tables,
            LEDGER,
            TOPIC,
            TopicBounds(beginning={0: 0}, end={0: 10**9}),
            checkpoint_location=f"{self._folder}/{self._query_id}",
            starting_offsets="earliest",
        )
        self._writer = self._make_writer(start.floors["quarantine"])
        return max(start.starting_offsets[0], 0)

    def rows(self, contract, *columns):
        """Return rows of a table, times in microseconds, in the order of their texts."""
        name = identify_table(self.spark, self.settings.tables, contract)
        table = self.spark.table(name).select(*(columns or contract.column_names))
        as_micros = [
            F.unix_micros(one.name).alias(one.name)
            if one.dataType.typeName() == "timestamp"
            else F.col(one.name)
            for one in table.schema
        ]
        rows = table.select(*as_micros).toArrow().to_pylist()
        return sorted(rows, key=repr)
