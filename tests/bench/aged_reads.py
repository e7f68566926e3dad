"""What jobs read of tables that are 400 days old: full snapshots and config pushes.

Usage: python -m tests.bench.aged_reads [--days 400] [--records 100] [--pushes 2000]

The tables are as compaction leaves them: a file for each day.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables.noted_offsets import Note
from pipelines.delta_tables.writers import open_writer
from pipelines.jobs.cluster.batch import read_sets
from pipelines.jobs.cluster.states import Extent
from pipelines.jobs.configs.folds.history import HISTORY_PUSH_SCHEMA
from pipelines.jobs.configs.known import StoredTables
from pipelines.settings import load_settings
from pipelines.tables.cluster import CLUSTER_CHANGES
from pipelines.tables.configs import CLIENT_CONFIG_PUSHES
from tests.bench.effective_quotas import append
from tests.bench.process_tree import cpu_seconds
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.local_session import start_session
from udfs.cluster.cluster_records import ClusterRecord

SETS_A_DAY = 24
ROUNDS = 5


def with_day(rows, a_day):
    """Give rows their days, in one file for each of them."""
    day = F.date_add(F.lit("2026-01-01"), (F.col("id") / a_day).cast("int"))
    return rows.withColumn("event_date", day).repartition("event_date")


def fill_changes(spark, folder, days, records):
    size = records + 1
    rows = with_day(spark.range(days * SETS_A_DAY * size), SETS_A_DAY * size)
    number = (F.col("id") / size).cast("bigint")
    is_end = F.col("id") % size == records
    append(
        spark,
        folder,
        CLUSTER_CHANGES,
        rows.withColumns(
            {
                "topic": F.lit("clientele.cluster"),
                "offset": F.col("id"),
                "set_id": number.cast("string"),
                "valid_from": F.col("event_date").cast("timestamp"),
                "record_type": F.when(is_end, "full_set").otherwise("Config"),
                "record_key": F.concat(F.lit("Config/topics/"), F.col("id") % size),
            }
        ),
    )


def fill_pushes(spark, folder, days, pushes):
    """Let each client push once a day."""
    rows = with_day(spark.range(days * pushes), pushes)
    client = F.concat(F.lit("client-"), F.col("id") % pushes)
    append(
        spark,
        folder,
        CLIENT_CONFIG_PUSHES,
        rows.withColumns(
            {
                "offset": F.col("id"),
                "client_instance_id": F.concat(client, F.lit("-"), F.col("event_date")),
                "client_id": client,
                "logical_client": client,
                "decode_status": F.lit("ok"),
                "push_id": F.col("id").cast("string"),
                "received_at": F.col("event_date").cast("timestamp"),
            }
        ),
    )


def read_newest_set(ledger, days, records, *, is_apart):
    """Read the newest set; one that is not whole is looked for in all of the table."""
    size = records + 1
    sets = days * SETS_A_DAY
    end = sets * size - 1
    closing = ClusterRecord(
        topic="clientele.cluster", partition=0, offset=end, key=None, cluster_id="c",
        source="metadata_log", at=0, set_id=str(sets - 1), record_type="full_set",
        fields={"records": records + is_apart},
    )  # fmt: skip
    note = Note(topic=closing.topic, topic_id=None, offset=end, query_id="q")
    extent = Extent(note=note, first=end, earliest_us=0, cluster_ids=["c"])
    keys = read_sets(ledger, [closing], extent)
    assert len(keys[str(sets - 1)]) == records


def read_families(tables, days):
    """Read the pushes of ten clients, as the history of a micro-batch does."""
    clients = [f"client-{number}" for number in range(10)]
    keys = pa.table({"client_id": clients})
    found = tables.find_rows(CLIENT_CONFIG_PUSHES, keys, HISTORY_PUSH_SCHEMA)
    assert found.num_rows == 10 * days


def measure(name, read):
    for number in range(ROUNDS):
        cpu, begun = cpu_seconds(os.getpid()), time.monotonic()
        read()
        took, cpu = time.monotonic() - begun, cpu_seconds(os.getpid()) - cpu
        if number:
            print(f"{name}: {took:.2f} s, {cpu:.2f} CPU-s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=int, default=400)
    parser.add_argument("--records", type=int, default=100)
    parser.add_argument("--pushes", type=int, default=2_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = start_session(Path(folder, "warehouse"))
        settings = load_settings("local", [f"tables.root_path={folder}"])
        make_tables(spark, settings.tables, (CLUSTER_CHANGES, CLIENT_CONFIG_PUSHES))
        fill_changes(spark, folder, given.days, given.records)
        fill_pushes(spark, folder, given.days, given.pushes)
        ledger = spark.read.format("delta").load(f"{folder}/{CLUSTER_CHANGES.name}")
        writer = open_writer(spark, settings.tables, [CLIENT_CONFIG_PUSHES])
        tables = StoredTables(session=spark, tables=writer, settings=settings.tables)
        for is_apart in (False, True):
            name = "whole table" if is_apart else "by offsets"
            measure(
                f"full set of {given.records}, {given.days} days, {name}",
                lambda is_apart=is_apart: read_newest_set(
                    ledger, given.days, given.records, is_apart=is_apart
                ),
            )
        measure(
            f"config pushes of ten clients, {given.days} days",
            lambda: read_families(tables, given.days),
        )
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
