"""Telemetry of some days in many small commits, as micro-batches of the job leave it.

The files are made by the kernel that makes those of the job, and committed as it does.
"""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from pipelines.delta_tables.files_writer import append_files
from pipelines.delta_tables.layouts import layout_of
from pipelines.delta_tables.locations import identify_table, locate_path_table
from pipelines.delta_tables.merging import read_version
from pipelines.delta_tables.new_files import NewFile
from pipelines.delta_tables.transactions import Transaction
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES
from udfs.files.daily_files import DailyFiles
from udfs.spark_types import arrow_schema

CLIENTS, POINTS_A_PUSH, PUSHES_A_COMMIT = 400, 50, 60
METRIC_PREFIX = "org.apache.kafka.consumer.fetch.manager.metric."
TOPIC = "clientele.telemetry"
BODY_BYTES = 600
MICROS = 1_000_000
MIDNIGHT = datetime.now(tz=UTC).replace(hour=0, minute=0, second=0, microsecond=0)


class SmallCommits:
    """Writes micro-batches to client_metrics and client_pushes."""

    def __init__(self, spark, tables, days, commits):
        self._spark, self._commits = spark, commits
        self._first_us = int((MIDNIGHT - timedelta(days=days)).timestamp()) * MICROS
        self._step_us = days * 86_400 * MICROS // (commits * PUSHES_A_COMMIT)
        self._random = np.random.default_rng(7)
        self._tables = {
            contract.name: (
                locate_path_table(spark, tables, contract),
                arrow_schema(
                    spark.table(identify_table(spark, tables, contract)).schema
                ),
                # It was made by the first one.
                read_version(spark, identify_table(spark, tables, contract)),
            )
            for contract in (CLIENT_METRICS, CLIENT_PUSHES)
        }

    def write(self, contract):
        """Write all commits of one table, or those that a run before has not."""
        location, schema, first = self._tables[contract.name]
        layout = layout_of(contract)
        for commit in range(first, self._commits):
            columns, received_us = self._make(contract, commit, schema)
            files = DailyFiles(layout)
            days = received_us // (86_400 * MICROS)
            written = [*files.write(columns, days), *files.end()]
            append_files(
                self._spark,
                contract,
                location,
                [
                    NewFile(
                        event_date=one.event_date,
                        statistics=one.statistics,
                        size=len(one.content),
                        path=None,
                        content=one.content,
                    )
                    for one in written
                ],
                Transaction(query_id="small-commits", batch_id=commit),
            )

    def _make(self, contract, commit, schema):
        """Return the columns of one micro-batch, and when each row was received."""
        pushes = np.arange(PUSHES_A_COMMIT) + commit * PUSHES_A_COMMIT
        index = np.zeros(len(pushes), np.int64)
        if contract is CLIENT_METRICS:
            index = np.tile(np.arange(POINTS_A_PUSH), len(pushes))
            pushes = pushes.repeat(POINTS_A_PUSH)
        received_us = self._first_us + pushes * self._step_us
        known = self._describe(pushes, index, received_us)
        columns = {
            field.name: pa.array(
                known[field.name] if field.name in known else [None] * len(pushes),
                field.type,
            )
            for field in schema
        }
        return columns, received_us

    def _describe(self, pushes, index, received_us):
        clients = (pushes % CLIENTS).tolist()
        count = len(pushes)
        values = self._random.integers(0, 100_000, count)
        return {
            "topic": [TOPIC] * count,
            "partition": pushes % 6,
            "offset": pushes // 6,
            "point_index": index,
            "received_at": received_us,
            "push_id": [f"push-{one:012x}" for one in pushes.tolist()],
            "client_instance_id": [f"{one:08d}WnpUR5Cqacwr1O" for one in clients],
            "client_id": [f"client-{one}" for one in clients],
            "principal": [f"User:{one % 40}" for one in clients],
            "client_software_name": ["apache-kafka-java"] * count,
            "client_software_version": ["3.9.2"] * count,
            "client_source_address": [f"10.0.0.{one % 250}" for one in clients],
            "metric": [f"{METRIC_PREFIX}{one}.avg" for one in index.tolist()],
            "kind": ["gauge"] * count,
            "flags": [0] * count,
            "value_double": values / 8,
            "time": received_us,
            "time_unix_nano": received_us * 1_000,
            "group_id": [f"group-{one % 50}" for one in clients],
            **self._describe_push(count),
        }

    def _describe_push(self, count):
        return {
            "client_source_port": [40_000] * count,
            "listener": ["PLAINTEXT"] * count,
            "bridge_id": ["bridge-1"] * count,
            "subscription_id": [7] * count,
            "push_interval_ms": [300_000] * count,
            "compression_type": ["zstd"] * count,
            "terminating": [False] * count,
            "decode_status": ["ok"] * count,
            "point_count": [POINTS_A_PUSH] * count,
            "body_bytes": [BODY_BYTES] * count,
            "body": [self._random.bytes(BODY_BYTES)] * count,
        }
