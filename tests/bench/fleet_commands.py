"""How long `quotas top` and `clients coverage` take for a large fleet.

    python -m tests.bench.fleet_commands [--clients N] [--rounds N]

Each client is one active producer with three pushes of ten metrics and a pushed
configuration. 10,000 quota entities apply to the clients. The command prints wall
seconds, CPU-seconds of the process tree, and the peak memory of each kind of process.
"""

import argparse
import os
import sys
import tempfile
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.commands.clients.coverage import CoverageQuestion, answer_coverage
from pipelines.commands.quotas import TOP
from pipelines.commands.quotas.answers import QuotaCommand
from pipelines.commands.quotas.questions import QuotaQuestion
from pipelines.delta_tables.setup import ensure_tables
from pipelines.settings import load_settings
from pipelines.tables.cluster import CLIENT_QUOTAS
from tests.bench.effective_quotas import fill_quotas
from tests.bench.findings import fill
from tests.bench.process_memory import MemoryWatch
from tests.bench.process_tree import cpu_seconds
from tests.support.spark.local_session import start_session

METRICS = (
    "producer.produce.throttle.time.avg",
    "producer.produce.throttle.time.max",
    "producer.outgoing.byte.rate",
    "producer.connection.creation.rate",
    "producer.connection.creation.total",
    "producer.request.latency.avg",
    "producer.request.latency.max",
    "producer.record.queue.time.avg",
    "producer.record.queue.time.max",
    "producer.node.request.latency.avg",
)
"""Without their prefix."""


def measure(name, answer):
    """Answer once, and print the costs and the first lines."""
    lines = []
    cpu, begun = cpu_seconds(os.getpid()), time.monotonic()
    with MemoryWatch(os.getpid()) as memory:
        answer(lines.append)
    took = time.monotonic() - begun
    spent = cpu_seconds(os.getpid()) - cpu
    peaks = ", ".join(f"{kind} {mib:,} MiB" for kind, mib in memory.peaks_mib.items())
    print(f"{name}: {took:.1f} s, {spent:.1f} CPU-s, peak memory: {peaks}")
    print(*(f"  {line[:100]}" for line in "\n".join(lines).splitlines()[:3]), sep="\n")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--faulty", type=int, default=1)
    given = parser.parse_args()
    now = datetime.now(tz=UTC)
    with tempfile.TemporaryDirectory() as folder:
        # As the commands start Spark.
        spark = start_session(Path(folder, "warehouse"))
        settings = load_settings("local", [f"tables.root_path={folder}"])
        fill(spark, settings, folder, given, METRICS, now)
        ensure_tables(spark, settings.tables, [CLIENT_QUOTAS])
        fill_quotas(spark, folder, F.lit(now))
        print(f"{given.clients} clients, {3 * len(METRICS)} points each", flush=True)
        top = QuotaQuestion(action=TOP)
        for _ in range(given.rounds):
            command = partial(QuotaCommand, spark, settings, now)
            measure("quotas top", lambda say, new=command: new(say).answer(top))
            coverage = partial(answer_coverage, spark, settings, CoverageQuestion())
            measure("clients coverage", coverage)
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
