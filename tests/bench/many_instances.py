"""Prints what a micro-batch takes that concerns a logical client of many instances.

`python tests/bench/many_instances.py [--instances N] [--rounds N]`: so many client
instances of one logical client have pushed 11 keys each, all but a few of the values
alike. Each round is a micro-batch of one push of a new instance of it. CPU-seconds are
those of the JVM and of Python's workers, memory is the highest that any worker had.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.tables.configs import CLIENT_CONFIG_HISTORY  # noqa: E402 - path
from tests.bench.process_tree import cpu_seconds  # noqa: E402 - path
from tests.support.spark.config_records import (  # noqa: E402 - path
    START_MS,
    ConfigJob,
    entry,
    make_record,
)
from tests.support.spark.local_session import start_session  # noqa: E402 - path

KEYS = (
    "acks", "batch.size", "buffer.memory", "client.id", "compression.type",
    "delivery.timeout.ms", "enable.idempotence", "linger.ms",
    "max.in.flight.requests.per.connection", "request.timeout.ms", "retries",
)  # fmt: skip
AT_ONCE = 25_000
COMPILED = (
    *("--conf", "spark.sql.codegen.wholeStage=true"),
    *("--conf", "spark.sql.codegen.factoryMode=FALLBACK"),
)


def make_push(number):
    """Return the push of an instance; one in a hundred has another linger.ms."""
    values = dict.fromkeys(KEYS, "1") | {"linger.ms": "5" if number % 100 else "7"}
    return make_record(
        number,
        *(entry(key, value) for key, value in values.items()),
        client_instance_id=f"{number:022}",
        push_id=f"push-{number:09}",
        received_at_ms=str(START_MS + number),
    )


def read_peak_mb(spark):
    """Return the highest resident memory of Python's workers, in megabytes."""
    parents, peaks = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            lines = (folder / "status").read_text().splitlines()
        except OSError:
            continue  # it has ended meanwhile
        stated = dict(line.split(":", 1) for line in lines)
        parents[int(folder.name)] = int(stated["PPid"])
        peaks[int(folder.name)] = int(stated.get("VmHWM", "0 kB").split()[0]) // 1024
    jvm = spark.sparkContext._gateway.proc.pid
    daemons = {pid for pid, parent in parents.items() if parent == jvm}
    workers = [pid for pid, parent in parents.items() if parent in daemons]
    return max((peaks[pid] for pid in workers), default=0)


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--instances", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    wall, cpu = [], []
    with tempfile.TemporaryDirectory() as folder:
        spark = start_session(f"{folder}/warehouse", *COMPILED)
        job = ConfigJob(spark, folder)
        for first in range(0, given.instances, AT_ONCE):
            last = min(first + AT_ONCE, given.instances)
            started_s = time.monotonic()
            job.write(*map(make_push, range(first, last)))
            print(f"{last:,} instances: {time.monotonic() - started_s:.1f} s")
        # The first round compiles, and is not counted.
        for counted in range(given.rounds + 1):
            started_s, before_s = time.monotonic(), cpu_seconds(os.getpid())
            job.write(make_push(given.instances + counted))
            if counted:
                wall.append(time.monotonic() - started_s)
                cpu.append(cpu_seconds(os.getpid()) - before_s)
        rows = job.read(CLIENT_CONFIG_HISTORY).count()
        peak_mb = read_peak_mb(spark)
        spark.stop()
    print(
        f"{given.instances:,} instances, {rows} rows of history: {describe(wall)} s, "
        f"{describe(cpu)} CPU-s, a worker had {peak_mb:,} MB at most"
    )


def describe(numbers):
    """Return median and range."""
    median = statistics.median(numbers)
    return f"{median:.1f} ({min(numbers):.1f} to {max(numbers):.1f})"


if __name__ == "__main__":
    main()
