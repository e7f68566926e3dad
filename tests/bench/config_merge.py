"""Prints what it takes to bring pushed configurations into a table of many clients.

`python tests/bench/config_merge.py [--clients N] [--rounds N]
[--table FOLDER] [--ways plain,places]`: 10,000 pushes of 11 keys,
half of them of client instances that the table has. `plain` is one MERGE by the key that
updates and inserts all, `filtered` the same for what a look at the keys has left,
`places` what the job does: the same look also says where the old rows stand, and they
are marked there. `new only` are 10,000 pushes of new client instances, as the job writes
them. All of them have deletion vectors. CPU-seconds are those of the driver, the JVM
and Python's workers; rows are read from the table's log. It prints and never fails on a number.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from delta.tables import DeltaTable  # noqa: E402 - path
from pyspark.sql import functions as F  # noqa: E402, N812 - path; Spark's own habit

from pipelines.delta_tables.direct.row_changes import RowChanges  # noqa: E402 - path
from pipelines.delta_tables.transactions import Transaction  # noqa: E402 - path
from pipelines.jobs.configs.steps.current import KEY, with_known_push  # noqa: E402 - path
from pipelines.tables.configs import CLIENT_CONFIGS  # noqa: E402 - path
from tests.bench.config_table import KEYS, make_table  # noqa: E402 - path
from tests.bench.process_tree import cpu_seconds  # noqa: E402 - path
from tests.support.spark.local_session import start_session  # noqa: E402 - path

PUSHES = 10_000
COMPILED = (
    *("--conf", "spark.sql.codegen.wholeStage=true"),
    *("--conf", "spark.sql.codegen.factoryMode=FALLBACK"),
    *("--conf", "spark.sql.adaptive.enabled=false"),
)


def make_rows(numbers, second):
    """Return rows of client_configs; a number always is the same client instance."""
    digest = "base64(unhex(md5(cast(id as string))))"
    key = f"substring(translate({digest}, '+/', '-_'), 1, 22)"
    value = "if(k = 'client.id', concat('app-', id), concat('value-', length(k)))"
    entry = (
        f"named_struct('config_value', {value}, 'config_type', 'STRING', 'is_default', "
        f"length(k) % 2 = 0, 'status', 'overridden', 'value_boolean', cast(null as "
        f"boolean), 'value_long', cast(null as bigint), 'value_double', cast(null as "
        f"double), 'value_list', cast(null as array<string>), 'value_string', {value})"
    )
    names = ", ".join(f"'{name}'" for name in KEYS)
    return numbers.selectExpr(
        f"{key} AS client_instance_id",
        "concat('app-', id) AS client_id",
        "'User:service' AS principal",
        "'apache-kafka-java' AS client_software_name",
        "'4.3.1' AS client_software_version",
        "'10.0.0.1' AS client_source_address",
        "'producer' AS client_type",
        "md5(cast(id as string)) AS logical_client",
        f"timestamp_seconds(1767225600 + {second}) AS received_at",
        "uuid() AS push_id",
        f"map_from_entries(transform(array({names}), k -> struct(k, {entry}))) "
        f"AS configs",
        f"md5(concat(id, {second})) AS content_hash",
        "'clientele.configs' AS topic",
        "0 AS partition",
        "id AS offset",
    )


def make_source(spark, clients, batch, *, only_new=False):
    """Return pushes, kept in memory."""
    first_new = clients + batch * PUSHES
    new = spark.range(first_new, first_new + PUSHES // (1 if only_new else 2))
    numbers = new
    if not only_new:
        step = clients // (PUSHES // 2)
        known = spark.range(0, clients, step).limit(PUSHES // 2)
        numbers = new.union(known.selectExpr(f"id + {batch % step} AS id"))
    rows = make_rows(numbers, batch + 1).coalesce(2).persist()
    assert rows.count() == PUSHES
    return rows


def merge(spark, path, rows):
    """Do what a plain MERGE does."""
    values = {name: f"source.{name}" for name in CLIENT_CONFIGS.column_names}
    (
        DeltaTable.forPath(spark, path)
        .alias("target")
        .merge(rows.alias("source"), CLIENT_CONFIGS.merge_condition)
        .whenMatchedUpdate(set=values)
        .whenNotMatchedInsert(values=values)
        .execute()
    )


def merge_filtered(spark, path, rows):
    """Look first which rows are newer, then merge those."""
    table = spark.read.format("delta").load(path)
    placed = table.withColumn("position", F.lit(1))
    known = placed.join(F.broadcast(rows.select(KEY)), KEY, "left_semi")
    newer = rows.transform(with_known_push, known).where("is_newer").persist()
    newer.count()
    merge(spark, path, newer.select(*rows.columns))
    newer.unpersist()


def change_in_place(spark, path, rows):
    """Do what the job does."""
    batch = time.time_ns()
    named = Transaction(query_id="bench", batch_id=batch)
    changes = RowChanges(spark, CLIENT_CONFIGS, path, named)
    newer = (
        rows.transform(with_known_push, changes.find(rows)).where("is_newer").persist()
    )
    newer.count()
    changes.commit(newer)
    newer.unpersist()


WAYS = {
    "plain": (merge, False),
    "filtered": (merge_filtered, False),
    "places": (change_in_place, False),
    "new only": (change_in_place, True),
}


def read_cpu_s():
    """Return the CPU-seconds of Python, its workers and the JVM."""
    return cpu_seconds(os.getpid())


def count_written_rows(path):
    """Return the rows of the files that the newest commit added for new rows."""
    newest = max(Path(path, "_delta_log").glob("*.json"))
    actions = map(json.loads, newest.read_text().splitlines())
    added = [one["add"] for one in actions if "add" in one]
    return sum(
        json.loads(one["stats"])["numRecords"]
        for one in added
        if "deletionVector" not in one
    )


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--table", help="folder; made where it is not there, and kept")
    parser.add_argument("--ways", default=",".join(WAYS), help="some of them")
    given = parser.parse_args()
    ways = {name: WAYS[name] for name in given.ways.split(",")}
    figures = {name: ([], [], []) for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        spark = start_session(f"{folder}/warehouse", *COMPILED)
        path = given.table or f"{folder}/client_configs"
        if not Path(path).exists():
            make_table(spark, path, given.clients)
        batch = 0
        # The first round compiles, and is not counted.
        for counted in range(given.rounds + 1):
            for name, (write, only_new) in ways.items():
                rows = make_source(spark, given.clients, batch, only_new=only_new)
                batch += 1
                wall_s, cpu_s = time.monotonic(), read_cpu_s()
                write(spark, path, rows)
                if counted:
                    cpu, wall, written = figures[name]
                    cpu.append(read_cpu_s() - cpu_s)
                    wall.append(time.monotonic() - wall_s)
                    written.append(count_written_rows(path))
                rows.unpersist()
        spark.stop()
    for name, (cpu, wall, written) in figures.items():
        print(
            f"{given.clients:,} clients, {name:8}: {describe(cpu)} CPU-s, "
            f"{describe(wall)} s, {max(written) - PUSHES:,} rows copied"
        )


def describe(numbers):
    """Return median and range."""
    median = statistics.median(numbers)
    return f"{median:.1f} ({min(numbers):.1f} to {max(numbers):.1f})"


if __name__ == "__main__":
    main()
