"""Times the path of pushes from Kafka into the Delta tables, beside two others.

`python tests/bench/telemetry_pipeline.py [--pushes N] [--rounds N] [--shape java]`: a
real Apache Kafka holds N pushes of 60 points, compressed with zstd; then, round after
round in one Spark session on two cores,

- job: the job as it ships, into client_metrics, client_pushes, quarantine and
  client_instances;
- naive: the same decoder in mapInArrow, its points appended by Spark to one Delta
  table without the identity of their connection (headers are not read);
- nothing: the same records through mapInArrow, which returns them, to no sink.

Each reads all the pushes. Printed are points per second of wall clock and CPU-seconds
per million points (driver, JVM and Python workers; the broker is not counted), and the
bytes that the tables take on disk for each point. It never fails on a time.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.__main__ import own_session  # noqa: E402 - path
from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.kafka_connection import spark_source_options  # noqa: E402 - path
from pipelines.secret_references import SecretReader  # noqa: E402 - path
from pipelines.sources import read_kafka  # noqa: E402 - path
from pipelines.tables import CLIENT_METRICS, CLIENT_PUSHES  # noqa: E402 - path
from tests.bench.backlog import POINTS_PER_PUSH, SHAPES, produce_backlog  # noqa: E402 - path
from tests.bench.process_tree import cpu_seconds  # noqa: E402 - path
from tests.bench.running_bridge import describe_machine  # noqa: E402 - path
from tests.integration.job_support import make_settings, run_once  # noqa: E402 - path
from udfs.compression import ZSTD  # noqa: E402 - path
from udfs.spark import POINT_TYPE  # noqa: E402 - path

TOPIC = "backlog"
PARTITIONS = 6
PATHS = ("job", "naive", "nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One path, once."""

    points: int
    wall_s: float
    cpu_s: float


STEPS = Counter()
"""CPU-seconds of the job up to each point of a micro-batch, over all rounds shown."""


def run_job(spark, settings, _folder):
    last = [cpu_seconds(os.getpid())]

    def observe(point, _rows):
        now = cpu_seconds(os.getpid())
        STEPS[point] += now - last[0]
        last[0] = now

    run_once(spark, settings, observe)


def run_naive(spark, settings, folder):
    limit = settings.client_telemetry_to_delta.max_decompressed_bytes

    def decode(batches):
        from udfs.otlp_metrics import iter_decoded

        for batch in batches:
            bodies = batch.column("value")
            codecs = pa.array([ZSTD] * len(bodies), pa.int32())
            for part in iter_decoded(bodies, codecs, max_decompressed_bytes=limit):
                yield part.points

    pushes = read_records(spark, settings).select("value")
    points = pushes.mapInArrow(decode, POINT_TYPE)
    query = (
        points.writeStream.format("delta")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start(f"{folder}/tables/{CLIENT_METRICS.name}")
    )
    query.awaitTermination()


def run_nothing(spark, settings, folder):
    def hand_back(batches):
        yield from batches

    records = read_records(spark, settings).select("value")
    query = (
        records.mapInArrow(hand_back, "value BINARY")
        .writeStream.format("noop")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def read_records(spark, settings):
    """Read the backlog as the job does."""
    options = spark_source_options(settings.kafka, SecretReader(environ={}))
    return read_kafka(
        spark,
        options,
        topic=TOPIC,
        starting_offsets="earliest",
        max_offsets_per_trigger=(
            settings.client_telemetry_to_delta.max_offsets_per_trigger
        ),
    )


RUNS = {"job": run_job, "naive": run_naive, "nothing": run_nothing}


def count_bytes(folder, table):
    """Return the bytes of the data files of a table."""
    files = Path(folder, "tables", table).rglob("*.parquet")
    return sum(f.stat().st_size for f in files if "_delta_log" not in f.parts)


def time_path(name, spark, servers, points, batch_pushes):
    """Run one path over the whole backlog; return its timing and its bytes on disk."""
    with tempfile.TemporaryDirectory(prefix="telemetry-pipeline-") as folder:
        settings = make_settings(
            servers,
            TOPIC,
            folder,
            f"client_telemetry_to_delta.max_offsets_per_trigger={batch_pushes}",
        )
        before, began = cpu_seconds(os.getpid()), time.perf_counter()
        RUNS[name](spark, settings, folder)
        timing = Timing(
            points=points,
            wall_s=time.perf_counter() - began,
            cpu_s=cpu_seconds(os.getpid()) - before,
        )
        tables = (CLIENT_METRICS.name, CLIENT_PUSHES.name)
        return timing, [count_bytes(folder, table) for table in tables]


def spread(numbers, form):
    middle = format(statistics.median(numbers), form)
    return f"{middle} ({min(numbers):{form}} to {max(numbers):{form}})"


def print_path(name, timings, sizes):
    points = timings[0].points
    rates = spread([t.points / t.wall_s for t in timings], ",.0f")
    cpu = spread([t.cpu_s / t.points * 1e6 for t in timings], ".2f")
    print(f"  {name:8} {rates} points/s, {cpu} CPU-seconds per million points")
    for table, size in zip(("client_metrics", "client_pushes"), sizes, strict=True):
        if size:
            print(f"           {size / points:.2f} bytes per point in {table}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pushes", type=int, default=60_000)
    parser.add_argument("--batch-pushes", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shape", choices=SHAPES, default="java")
    parser.add_argument("--paths", nargs="+", choices=PATHS, default=PATHS)
    parser.add_argument("--spark-conf", nargs="*", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    points = arguments.pushes * POINTS_PER_PUSH
    home = os.environ.get("JAVA_HOME")
    # A job has all of Java's compilers; own_session is for programs that end soon.
    java = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=4"
    words = ["--master", "local[2]", "--conf", java]
    words += [w for conf in arguments.spark_conf for w in ("--conf", conf)]
    with (
        EmbeddedKafka(java=f"{home}/bin/java" if home else "java") as kafka,
    ):
        servers = kafka.bootstrap_servers
        produce_backlog(servers, TOPIC, PARTITIONS, arguments.pushes, arguments.shape)
        print(
            f"{arguments.pushes:,} {arguments.shape}-shaped pushes, {points:,} points, "
            f"{describe_machine()}, pyarrow {pa.__version__}",
            flush=True,
        )
        timings = {name: [] for name in arguments.paths}
        sizes = {}
        with own_session("bench", words) as spark:
            # The first round is for the compilers of Java and of Python, and not shown.
            for number in range(1 + arguments.rounds):
                STEPS.clear() if number == 1 else None
                for name in arguments.paths:
                    timing, sizes[name] = time_path(
                        name, spark, servers, points, arguments.batch_pushes
                    )
                    if number:
                        timings[name].append(timing)
                    print(
                        f"    round {number} {name:8} {timing.wall_s:.1f} s, "
                        f"{timing.cpu_s:.1f} CPU-seconds",
                        flush=True,
                    )
        print("median (range)")
        if STEPS:
            print("CPU-seconds of the job by step, of all rounds shown")
        for point, cpu_s in STEPS.items():
            print(f"  up to {point:24} {cpu_s:6.1f}")
        for name in arguments.paths:
            print_path(name, timings[name], sizes[name])


if __name__ == "__main__":
    main()
