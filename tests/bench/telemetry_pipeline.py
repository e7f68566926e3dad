"""Times the path of pushes from Kafka into the Delta tables, beside two others.

`python tests/bench/telemetry_pipeline.py [--batches N] [--rounds N] [--shape java]`: a
real Apache Kafka holds pushes of 60 points, compressed with zstd; then, round after
round in one Spark session on two cores, a query of many micro-batches each of

- spark and files: the job as it ships, into client_metrics, client_pushes, quarantine
  and client_instances, by that way of writing;
- naive: the same decoder in mapInArrow, its points appended by Spark to one Delta
  table without the identity of their connection (headers are not read);
- whole: as naive, with the columns that `spark` writes: a row has its push and who sent
  it, and the table is made as the job makes it;
- nothing: the same records through mapInArrow, which returns them, to no sink.

Each reads all the pushes. Printed are, of the first micro-batch in a new session and of
the warm ones (not in the first round, and not among the first of their query), points
per second of wall clock and CPU-seconds per million points (driver, JVM and Python
workers; the broker is not counted), and the bytes that the tables take on disk for each
point. It never fails on a time.

Small batches: `--batch-pushes 10 --batches 12 --paths spark files`.
"""

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.commands.session import own_session  # noqa: E402 - path
from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.settings.kafka import spark_source_options  # noqa: E402 - path
from pipelines.settings.secret_references import SecretReader  # noqa: E402 - path
from pipelines.streaming.sources import read_kafka  # noqa: E402 - path
from pipelines.tables.contract import create_statement  # noqa: E402 - path
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES  # noqa: E402 - path
from tests.bench.backlog import POINTS_PER_PUSH, SHAPES, produce_backlog  # noqa: E402 - path
from tests.bench.batch_marks import BatchMarks  # noqa: E402 - path
from tests.bench.running_bridge import describe_machine  # noqa: E402 - path
from tests.support.jobs.job_support import make_settings, run_once  # noqa: E402 - path
from udfs.compression.codecs import ZSTD  # noqa: E402 - path
from udfs.spark import POINT_TYPE  # noqa: E402 - path
from udfs.spark_types import arrow_schema  # noqa: E402 - path

TOPIC = "backlog"
PARTITIONS = 6
WRITERS = ("spark", "files")
PATHS = (*WRITERS, "naive", "whole", "nothing")


WARM_AFTER = 3
"""Micro-batches of a query that are not counted as warm."""


def run_job(spark, settings, _folder, observe):
    run_once(spark, settings, observe)


def run_naive(spark, settings, folder, _observe):
    limit = settings.client_telemetry_to_delta.max_decompressed_bytes

    def decode(batches):
        from udfs.otlp.metrics import iter_decoded

        for batch in batches:
            bodies = batch.column("value")
            codecs = pa.array([ZSTD] * len(bodies), pa.int32())
            for part in iter_decoded(bodies, codecs, max_decompressed_bytes=limit):
                yield part.points

    pushes = read_records(spark, settings).select("value")
    append_points(pushes.mapInArrow(decode, POINT_TYPE), folder)


def run_whole(spark, settings, folder, _observe):
    limit = settings.client_telemetry_to_delta.max_decompressed_bytes
    columns = CLIENT_METRICS.columns
    returned = StructType.fromDDL(
        ", ".join(f"`{c.name}` {c.sql_type}" for c in columns)
    )
    schema = arrow_schema(returned)

    def decode(batches):
        from udfs.envelopes.readers import read_envelopes
        from udfs.otlp.metrics import iter_decoded

        for records in batches:
            pushes, done = read_envelopes(records), 0
            for part in iter_decoded(
                pushes.column("body"),
                pushes.column("compression_type_id"),
                max_decompressed_bytes=limit,
            ):
                counts = np.diff(part.offsets.to_numpy())
                places = pa.array(np.repeat(np.arange(len(counts)), counts))
                own = pushes.slice(done, len(counts)).take(places)
                done += len(counts)
                rows = dict(zip(own.schema.names, own.columns, strict=True))
                rows["event_date"] = rows["received_at"]
                rows |= zip(part.points.schema.names, part.points.columns, strict=True)
                arrays = [rows[field.name].cast(field.type) for field in schema]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    spark.sql(
        create_statement(
            CLIENT_METRICS, f"delta.`{folder}/tables/{CLIENT_METRICS.name}`"
        )
    )
    append_points(read_records(spark, settings).mapInArrow(decode, returned), folder)


def append_points(points, folder):
    query = (
        points.writeStream.format("delta")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start(f"{folder}/tables/{CLIENT_METRICS.name}")
    )
    query.awaitTermination()


def run_nothing(spark, settings, folder, _observe):
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


RUNS = {
    **dict.fromkeys(WRITERS, run_job),
    "naive": run_naive,
    "whole": run_whole,
    "nothing": run_nothing,
}


def count_bytes(folder, table):
    """Return the bytes of the data files of a table."""
    files = Path(folder, "tables", table).rglob("*.parquet")
    return sum(f.stat().st_size for f in files if "_delta_log" not in f.parts)


def time_path(name, spark, servers, batch_pushes):
    """Run one path over the whole backlog; return its batches and its bytes on disk."""
    with tempfile.TemporaryDirectory(prefix="telemetry-pipeline-") as folder:
        settings = make_settings(
            servers,
            TOPIC,
            folder,
            f"client_telemetry_to_delta.max_offsets_per_trigger={batch_pushes}",
            *([f"tables.writer={name}"] if name in WRITERS else []),
        )
        with BatchMarks(spark) as marks:
            RUNS[name](spark, settings, folder, marks.observe)
        tables = (CLIENT_METRICS.name, CLIENT_PUSHES.name)
        return marks.batches, [count_bytes(folder, table) for table in tables]


def spread(numbers, form):
    middle = format(statistics.median(numbers), form)
    return f"{middle} ({min(numbers):{form}} to {max(numbers):{form}})"


def print_batches(batches):
    points = [batch.records * POINTS_PER_PUSH for batch in batches]
    rates = [count / b.wall_s for count, b in zip(points, batches, strict=True)]
    cpu = [b.cpu_s / count * 1e6 for count, b in zip(points, batches, strict=True)]
    print(
        f"{spread(rates, ',.0f')} points/s, {spread(cpu, '.2f')} CPU-seconds per "
        f"million points, {spread([b.cpu_s for b in batches], '.2f')} a batch, "
        f"{len(batches)} batches"
    )


def print_path(name, cold, warm, sizes, points):
    print(f"  {name:8} ", end="")
    print_batches(warm)
    print(
        f"           first batch: {cold.wall_s:.1f} s, {cold.cpu_s:.1f} CPU-seconds; "
        "a warm one, by Spark's phases in ms:",
        {key: statistics.median(b.phases[key] for b in warm) for key in warm[0].phases},
    )
    for table, size in zip(("client_metrics", "client_pushes"), sizes, strict=True):
        if size:
            print(f"           {size / points:.2f} bytes per point in {table}")
    for point in warm[0].steps:
        steps = [batch.steps[point] for batch in warm]
        print(f"           CPU-seconds up to {point:24} {spread(steps, '.2f')}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--batch-pushes", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--shape", choices=SHAPES, default="java")
    parser.add_argument("--paths", nargs="+", choices=PATHS, default=PATHS)
    parser.add_argument("--spark-conf", nargs="*", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    pushes = arguments.batches * arguments.batch_pushes
    points = pushes * POINTS_PER_PUSH
    home = os.environ.get("JAVA_HOME")
    # A job has all of Java's compilers; own_session is for programs that end soon.
    java = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=4"
    words = ["--master", "local[2]", "--conf", java]
    words += [w for conf in arguments.spark_conf for w in ("--conf", conf)]
    with EmbeddedKafka(java=f"{home}/bin/java" if home else "java") as kafka:
        servers = kafka.bootstrap_servers
        produce_backlog(servers, TOPIC, PARTITIONS, pushes, arguments.shape)
        print(
            f"{pushes:,} {arguments.shape}-shaped pushes, {points:,} points, in batches "
            f"of {arguments.batch_pushes:,} pushes, "
            f"{describe_machine()}, pyarrow {pa.__version__}",
            flush=True,
        )
        cold, sizes = {}, {}
        warm = {name: [] for name in arguments.paths}
        with own_session("bench", words, os.environ, is_verbose=True) as spark:
            # The first round is for the compilers of Java and of Python.
            for number in range(1 + arguments.rounds):
                for name in arguments.paths:
                    batches, sizes[name] = time_path(
                        name, spark, servers, arguments.batch_pushes
                    )
                    cold.setdefault(name, batches[0])
                    steady = batches[WARM_AFTER:]
                    if number:
                        warm[name] += steady
                    print(f"    round {number} {name:8} ", end="")
                    print_batches(steady)
                    sys.stdout.flush()
        print("warm batches of all rounds, median (range)")
        for name in arguments.paths:
            print_path(name, cold[name], warm[name], sizes[name], points)


if __name__ == "__main__":
    main()
