"""The job of a cluster's feed without its query: micro-batches are handed to it."""

import json

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables import transactions
from pipelines.delta_tables.locations import identify_table
from pipelines.delta_tables.noted_tables import NotedTables
from pipelines.delta_tables.writers import open_writer
from pipelines.jobs.cluster.batch import ClusterBatchWriter
from pipelines.jobs.cluster.job import CONTRACTS, LEDGER, make_cluster_tables
from pipelines.settings import load_settings
from pipelines.streaming.positions import TopicBounds
from pipelines.streaming.starts import decide_start
from pipelines.tables.cluster import CLUSTER_STATES
from tests.support.cluster_records import RECORD_DDL, TOPIC
from tests.support.cluster_tables import TYPES
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.writer_option import writer_override

MAX_BYTES = 10_000


class ClusterJob:
    """Tables, and a query that writes to them until a point is reached."""

    def __init__(self, spark, folder, *overrides):
        self.spark, self._folder = spark, folder
        words = [f"tables.root_path={folder}/tables", writer_override(), *overrides]
        self.settings = load_settings("local", words)
        self.stop_at = None
        self.changed = []
        make_tables(spark, self.settings.tables, CONTRACTS)
        # Spark has it off in streams, too.
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        self._query_id, self._next_batch = "query", 0
        self._writer = self._make_writer({})

    def _make_writer(self, floors):
        tables = open_writer(self.spark, self.settings.tables, CONTRACTS, self._observe)
        return ClusterBatchWriter(
            tables=tables,
            states=NotedTables(tables),
            layouts=make_cluster_tables(MAX_BYTES, floors),
            config_types=TYPES,
            topic_id="id",
            on_change=lambda _, names: self.changed.append(names),
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

    def read(self, contract):
        """Return a table."""
        name = identify_table(self.spark, self.settings.tables, contract)
        return self.spark.table(name)

    def rows(self, contract, *columns):
        """Return rows of a table as sorted tuples, times as texts."""
        names = columns or contract.column_names
        table = self.read(contract).select(*names)
        return sorted(map(tuple, table.collect()), key=repr)

    def states(self):
        """Return all rows of all tables of states, as the histories have them."""
        found = {}
        for contract in CLUSTER_STATES:
            table = self.read(contract)
            as_micros = [
                F.unix_micros(one.name).alias(one.name)
                if one.dataType.typeName() == "timestamp"
                else F.col(one.name)
                for one in table.schema
            ]
            rows = table.select(*as_micros).toArrow().to_pylist()
            found[contract.name] = canonical(rows)
        return found


class Stop(Exception):
    """What ends a batch in a test."""


def canonical(rows):
    """Return rows so that they can be compared."""
    return sorted(json.dumps(row, sort_keys=True) for row in rows)
