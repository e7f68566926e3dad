"""Measures how long a push takes until a query sees it.

`python tests/bench/push_to_queryable.py [--seconds N] [--pushes-per-s N]`: a real
Apache Kafka, the bridge and the job as their users start them, and clients that push
real metrics of 110 points (2 kB with zstd), all on this machine. The figure is, for
each push, the time from received_at, which the bridge writes, to the commit of the
version of client_pushes that holds it; all other tables hold it by then. The first
pushes find a job that has just been started; they are waited for, and not counted. It
prints and never fails on a figure.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import uvloop
import zstandard

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pyspark.sql import functions as F  # noqa: E402, N812 - path; Spark's own habit

from pipelines.commands.session import own_session  # noqa: E402 - path
from pipelines.jobs.telemetry import job as client_telemetry_to_delta  # noqa: E402 - path
from pipelines.settings.secret_references import SecretReader  # noqa: E402 - path
from pipelines.streaming.run_stream import RunContext  # noqa: E402 - path
from pipelines.tables.telemetry import CLIENT_PUSHES  # noqa: E402 - path
from tests.bench.generated_pushes import java_push  # noqa: E402 - path
from tests.bench.process_tree import cpu_seconds  # noqa: E402 - path
from tests.bench.push_load import Load  # noqa: E402 - path
from tests.bench.running_bridge import (  # noqa: E402 - path
    describe_machine,
    running_bridge,
)
from tests.support.jobs.job_support import make_settings  # noqa: E402 - path

CONNECTIONS = 200
INSTANCES_PER_CONNECTION = 5
INTERVAL_MS = 500
POINTS = 110
SUBSCRIPTION = f'{{name="s",metrics=["*"],interval_ms={INTERVAL_MS},match=[]}}'
# A job has all of Java's compilers; own_session is for programs that end soon.
JAVA = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=4"
SPARK_WORDS = ["--master", "local[2]", "--conf", JAVA]


class RealLoad(Load):
    """Pushes what a Java client would."""

    _made = 0

    def make_metrics(self):
        self._made += 1
        return zstandard.ZstdCompressor().compress(java_push(self._made, POINTS))


async def push(port, pushes_per_s, seconds):
    """Push for so long; return answers by error code."""
    load = RealLoad(
        connections=CONNECTIONS,
        instances_per_connection=INSTANCES_PER_CONNECTION,
        interval_ms=INTERVAL_MS,
        pushes_per_s=pushes_per_s,
    )
    await load.connect("127.0.0.1", port)
    result = await load.run(seconds)
    load.close()
    return result.errors


def read_commit_times(table):
    """Return the time at which each data file of a table became visible, in seconds."""
    times = {}
    for entry in Path(table, "_delta_log").glob("*.json"):
        for line in entry.read_text(encoding="utf-8").splitlines():
            added = json.loads(line).get("add")
            if added:
                times[Path(added["path"]).name] = entry.stat().st_mtime
    return times


def read_delays(spark, folder, since):
    """Return the seconds from received_at to the commit, of pushes since a time."""
    table = f"{folder}/tables/{CLIENT_PUSHES.name}"
    times = read_commit_times(table)
    rows = (
        spark.table(f"delta.`{table}`")
        .where(F.col("received_at") >= F.lit(since))
        .select(F.unix_millis("received_at"), "_metadata.file_name")
        .collect()
    )
    return [times[name] - received_ms / 1000 for received_ms, name in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first-seconds", type=float, default=10)
    parser.add_argument("--warm-seconds", type=float, default=20)
    parser.add_argument("--pushes-per-s", type=float, default=1_000)
    parser.add_argument("--trigger-ms", type=int, default=2_000)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="push-to-queryable-") as folder,
        running_bridge(f"subscriptions=[{SUBSCRIPTION}]") as bridge,
        own_session("bench", SPARK_WORDS, os.environ, is_verbose=True) as spark,
    ):
        settings = make_settings(
            bridge.bootstrap_servers,
            "clientele.telemetry",
            folder,
            f"client_telemetry_to_delta.trigger_interval_ms={arguments.trigger_ms}",
        )
        told = []
        query = client_telemetry_to_delta.run(
            spark,
            settings,
            RunContext(
                secrets=SecretReader(environ={}), is_once=False, on_batch=told.append
            ),
        )
        uvloop.run(push(bridge.port, arguments.pushes_per_s, arguments.first_seconds))
        query.processAllAvailable()
        first = len(told)
        began, before = time.time(), cpu_seconds(os.getpid())
        seconds = arguments.warm_seconds + arguments.seconds
        errors = uvloop.run(push(bridge.port, arguments.pushes_per_s, seconds))
        used = cpu_seconds(os.getpid()) - before
        query.processAllAvailable()
        query.stop()
        since = datetime.fromtimestamp(began, UTC)
        since += timedelta(seconds=arguments.warm_seconds)
        delays = sorted(read_delays(spark, folder, since))
    cuts = statistics.quantiles(delays, n=100)
    batches = [each for each in told[first:] if each.records]
    print(f"{describe_machine()}; trigger {arguments.trigger_ms} ms")
    print(
        f"answers by error code: {dict(errors)}; {used / seconds:.2f} CPUs in use, "
        f"the broker's not counted"
    )
    print(
        f"{len(delays):,} pushes, {len(delays) / arguments.seconds:,.0f} a second: p50 {cuts[49]:.2f} s, p95 {cuts[94]:.2f} s, "
        f"p99 {cuts[98]:.2f} s, longest {delays[-1]:.2f} s"
    )
    half = batches[len(batches) // 2 :]
    durations = [each.duration_ms / 1000 for each in half]
    print(
        f"second half of {len(batches)} batches: {statistics.median(durations):.2f} s "
        f"({min(durations):.2f} to {max(durations):.2f}), "
        f"{statistics.median(each.records for each in half):,.0f} records"
    )


if __name__ == "__main__":
    main()
