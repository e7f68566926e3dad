"""Prints what the client instances of a micro-batch cost, beside a table of many.

`python tests/bench/new_instances.py [--instances N] [--pushes N] [--writer files]
[--compact-at FILES]`: a table client_instances grows by micro-batches of one push each
of client instances that it does not have, until it has so many; a micro-batch in which
Delta compacts stands on a line of its own. Then rounds of three kinds: of pushes of new
ones; of client instances that it has, in the order in which they came, and that are not
remembered; of such of which one in a hundred has another principal. CPU-seconds are of
the driver, the JVM and its workers.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.delta_tables.setup import ensure_tables  # noqa: E402 - path
from pipelines.delta_tables.transactions import Transaction  # noqa: E402 - path
from pipelines.delta_tables.writers import open_writer  # noqa: E402 - path
from pipelines.jobs.telemetry.instances import InstanceWriter  # noqa: E402 - path
from pipelines.jobs.telemetry.steps import PUSH_COLUMNS  # noqa: E402 - path
from pipelines.settings import load_settings  # noqa: E402 - path
from pipelines.tables.telemetry import (  # noqa: E402 - path
    CLIENT_INSTANCES,
    TELEMETRY_CONTRACTS,
)
from tests.bench.many_instances import COMPILED  # noqa: E402 - path
from tests.bench.process_tree import cpu_seconds  # noqa: E402 - path
from tests.bench.running_bridge import describe_machine  # noqa: E402 - path
from tests.support.spark.local_session import start_session  # noqa: E402 - path

COMPACT_AT = "spark.databricks.delta.autoCompact.minNumFiles"
START_US = 1_795_000_000_000_000
TYPES = {
    "received_at": pa.timestamp("us", "UTC"),
    "push_interval_ms": pa.int32(),
    "point_count": pa.int32(),
    "broker_id": pa.int32(),
    "terminating": pa.bool_(),
}
SCHEMA = pa.schema([(name, TYPES.get(name, pa.string())) for name in PUSH_COLUMNS])


def make_pushes(numbers, at_us, principal=str):
    """Return a push of each of some client instances.

    Args:
        principal: Number to the end of a principal's name.
    """
    count = len(numbers)
    ids = [uuid.uuid5(uuid.NAMESPACE_OID, str(number)).bytes for number in numbers]
    columns = {
        "client_instance_id": [urlsafe_b64encode(one).decode()[:22] for one in ids],
        "client_id": [f"service-{number:08}-producer-1" for number in numbers],
        "principal": [f"User:service-{principal(number)}" for number in numbers],
        "client_software_name": ["apache-kafka-java"] * count,
        "client_software_version": ["4.3.1"] * count,
        "client_source_address": [
            f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
            for number in numbers
        ],
        "listener": ["PLAINTEXT"] * count,
        "client_type": ["consumer"] * count,
        "group_id": [f"group-{number % 5_000}" for number in numbers],
        "group_member_id": [f"consumer-{number}-6f1c2d3e4b5a" for number in numbers],
        "push_interval_ms": [300_000] * count,
        "received_at": [at_us + number % 1_000_000 for number in numbers],
        "push_id": [f"{at_us}-{number:09}" for number in numbers],
        "terminating": [False] * count,
        "point_count": [60] * count,
    }
    arrays = [
        pa.array(columns.get(one.name, [None] * count), one.type) for one in SCHEMA
    ]
    return pa.table(arrays, schema=SCHEMA)


class Batches:
    """Micro-batches that are written to a table, and what they took."""

    def __init__(self, spark, settings):
        """Open the tables."""
        self._spark = spark
        ensure_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
        self._tables = open_writer(spark, settings.tables, TELEMETRY_CONTRACTS)
        self._writer = InstanceWriter(tables=self._tables)
        self._batch_id = 0

    def write(self, numbers, principal=str):
        """Write a micro-batch; return seconds, CPU-seconds and rows changed."""
        self._batch_id += 1
        at_us = START_US + self._batch_id * 3_000_000
        pushes = make_pushes(numbers, at_us, principal)
        before = self._tables.read_version(self._spark, CLIENT_INSTANCES)
        began_s, began_cpu_s = time.perf_counter(), cpu_seconds(os.getpid())
        transaction = Transaction(query_id="bench", batch_id=self._batch_id)
        self._writer.write(self._spark, pushes, transaction)
        took = time.perf_counter() - began_s, cpu_seconds(os.getpid()) - began_cpu_s
        after = self._tables.read_version(self._spark, CLIENT_INSTANCES)
        return *took, after - before

    def forget(self):
        """Remember nothing."""
        self._writer.known.forget()


def describe(figures):
    """Return medians and ranges of seconds and CPU-seconds, and versions made."""
    seconds, cpu, versions = zip(*figures, strict=True)
    texts = [
        f"{statistics.median(one):.2f} ({min(one):.2f} to {max(one):.2f}) {unit}"
        for one, unit in ((seconds, "s"), (cpu, "CPU-s"))
    ]
    return f"{', '.join(texts)}; {sum(versions)} versions"


def grow(batches, count, size):
    """Write micro-batches of new client instances, and print what they took."""
    figures, all_cpu_s = [], 0.0
    for first in range(0, count, size):
        took = batches.write(range(first, first + size))
        all_cpu_s += took[1]
        if took[2] > 1:
            print(f"compacts at {first + size:,}: {describe([took])}", flush=True)
        else:
            figures.append(took)
    others = describe(figures) if figures else "none"
    print(f"the others: {others}; all: {all_cpu_s:.0f} CPU-s", flush=True)


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--instances", type=int, default=1_000_000)
    parser.add_argument("--pushes", type=int, default=10_000, help="in a micro-batch")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--writer", default="files")
    parser.add_argument("--compact-at", help="files, in place of what is shipped")
    given = parser.parse_args()
    count, size = given.instances, given.pushes
    with tempfile.TemporaryDirectory(prefix="new-instances-") as folder:
        spark = start_session(f"{folder}/warehouse", *COMPILED)
        if given.compact_at:
            spark.conf.set(COMPACT_AT, given.compact_at)
        words = [f"tables.root_path={folder}", f"tables.writer={given.writer}"]
        batches = Batches(spark, load_settings("local", words))
        print(f"{describe_machine()}; {given.writer}, {size:,} pushes a micro-batch")
        grow(batches, count, size)
        rounds = range(given.rounds)
        kinds = {
            "new": [(range(count + size * n, count + size * (n + 1)),) for n in rounds],
            "known": [(range(size * n, size * (n + 1)),) for n in rounds],
            "changed": [
                (
                    range(size * n, size * (n + 1)),
                    lambda number: f"{number}-{'' if number % 100 else 'b'}",
                )
                for n in rounds
            ],
        }
        for kind, every in kinds.items():
            figures = []
            for one in every:
                batches.forget()
                figures.append(batches.write(*one))
            print(f"{kind}: {describe(figures)}", flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
