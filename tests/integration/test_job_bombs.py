"""Pushes that would fill the memory go to quarantine, and the job goes on."""

import contextlib
import gzip
import uuid
from pathlib import Path

import lz4.frame
import pytest
from confluent_kafka import Producer
from delta.tables import DeltaTable
from pyspark.errors import StreamingQueryException

from pipelines.jobs.telemetry import job as client_telemetry_to_delta
from pipelines.streaming import batch_slices
from pipelines.streaming.sources import read_kafka_ranges
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    QUARANTINE,
)
from tests.bench.generated_pushes import java_push
from tests.support.jobs.job_loads import PARTITIONS, Load, produce_load
from tests.support.jobs.job_support import (
    CODECS,
    FLUSH_TIMEOUT_S,
    create_topic,
    make_settings,
    read_rows,
    run_once,
)
from tests.support.spark.telemetry_records import make_headers
from tests.unit.udfs.compression.test_codecs import raw_snappy, xerial, zstd

TOPIC = "bombs"
MIB = 1 << 20
LIMIT_MIB = 2
# As much as a push of 1 MB, the largest that a bridge takes, can claim to be.
ZEROS = bytes(128 * MIB)
FEWER_ZEROS = bytes(16 * MIB)
BOMBS = {
    "gzip": ("gzip", lambda: gzip.compress(ZEROS, 1)),
    "gzip in members": ("gzip", lambda: gzip.compress(bytes(MIB)) * 128),
    "snappy that says its size": ("snappy", lambda: raw_snappy(FEWER_ZEROS)),
    "snappy in blocks": ("snappy", lambda: xerial(FEWER_ZEROS, 32 << 10)),
    "lz4": ("lz4", lambda: lz4.frame.compress(ZEROS, store_size=False)),
    "lz4 that says its size": ("lz4", lambda: lz4.frame.compress(ZEROS)),
    "zstd": ("zstd", lambda: zstd(ZEROS, states_size=False)),
    "zstd that says its size": ("zstd", lambda: zstd(ZEROS)),
}
WORKERS_VARIABLE = "TESTS_WORKERS"
ALLOWANCE_MIB = 48
"""What a worker's memory varies by anyway; far less than a bomb."""


def send(servers, pushes):
    """Send (push_id, codec, body) and wait until Kafka has them."""
    producer = Producer({"bootstrap.servers": servers})
    failed = []
    for push_id, codec, body in pushes:
        headers = make_headers(push_id=push_id, compression_type=codec)
        producer.produce(
            *(TOPIC, body),
            headers=headers,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    assert producer.flush(FLUSH_TIMEOUT_S) == 0
    assert not failed


@pytest.fixture(autouse=True)
def workers(spark):
    """Name Python workers that have done nothing else before, for Spark to start.

    It keeps workers apart by their environment.
    """
    name = uuid.uuid4().hex
    spark.sparkContext.environment[WORKERS_VARIABLE] = name
    yield name
    del spark.sparkContext.environment[WORKERS_VARIABLE]


def peak_of_workers(name):
    """Return the largest memory, in MiB, that any of the workers ever had."""
    peaks = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, StopIteration):  # it has ended
            if f"{WORKERS_VARIABLE}={name}".encode() in _read_environ(folder):
                peaks.append(_read_peak(folder))
    return max(peaks) // 1024


def _read_environ(folder):
    return (folder / "environ").read_bytes().split(b"\0")


def _read_peak(folder):
    lines = (folder / "status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if "VmHWM" in line)


@pytest.mark.long
def test_bombs_of_every_codec_go_to_quarantine_in_bounded_memory(
    spark, kafka, tmp_path, workers
):
    servers = kafka.bootstrap_servers
    create_topic(servers, TOPIC, partitions=1)
    settings = make_settings(
        servers,
        TOPIC,
        tmp_path,
        "client_telemetry_to_delta.max_offsets_per_trigger=3",
        f"client_telemetry_to_delta.max_decompressed_bytes={LIMIT_MIB * MIB}",
    )
    # A good push as large as is allowed, so that its memory is there before.
    largest = CODECS["zstd"](java_push(1, 60) * (LIMIT_MIB * MIB // 11_000))
    send(servers, [("first", "zstd", largest)])
    run_once(spark, settings)
    before = peak_of_workers(workers)
    bombs = [(name, codec, make()) for name, (codec, make) in BOMBS.items()]
    good = CODECS["zstd"](java_push(2, 60))
    send(servers, [*bombs, ("last", "zstd", good)])
    run_once(spark, settings)
    rows = read_rows(spark, settings, QUARANTINE, "push_id", "reason")
    assert rows == sorted((name, "too_large") for name in BOMBS)
    rows = dict(read_rows(spark, settings, CLIENT_PUSHES, "push_id", "decode_status"))
    assert rows["first"] == rows["last"] == "ok"
    assert rows.keys() == {"first", "last", *BOMBS}
    assert peak_of_workers(workers) < before + ALLOWANCE_MIB


@pytest.mark.long
def test_headers_that_no_bridge_writes_go_to_quarantine_in_bounded_memory(
    spark, kafka, tmp_path, workers
):
    servers, topic = kafka.bootstrap_servers, "large-headers"
    job = "client_telemetry_to_delta"
    produce_load(servers, job, topic, Load(records=6, value_bytes=MIB))
    settings = make_settings(servers, topic, tmp_path)
    run_once(spark, settings)
    before = peak_of_workers(workers)
    # Together 48 MiB in each Python worker, and one of the workers had them twice.
    load = Load(records=96, value_bytes=1000, header_bytes=MIB)
    produce_load(servers, job, topic, load, is_new=False)
    run_once(spark, settings)
    rows = read_rows(spark, settings, QUARANTINE, "reason", "detail", "push_id")
    assert rows == [
        ("headers_too_large", "client_software_name", f"push-{number:08}")
        for number in range(load.records)
    ]
    assert len(read_rows(spark, settings, CLIENT_PUSHES, "push_id")) == 6
    assert peak_of_workers(workers) < before + ALLOWANCE_MIB


class Stop(Exception):
    """What ends a batch in a test."""


def test_more_identities_than_a_driver_holds_are_taken_in_slices_once_each(
    spark, kafka, tmp_path, monkeypatch
):
    servers, topic = kafka.bootstrap_servers, "large-identities"
    job, load = (
        client_telemetry_to_delta,
        Load(records=120, value_bytes=4_000, header_bytes=2_000),
    )
    produce_load(servers, job.JOB_NAME, topic, load)
    settings = make_settings(servers, topic, tmp_path)
    ends = []

    def stop(point, _rows):
        if point == f"before {CLIENT_PUSHES.name}":
            ends.append(point)
            if len(ends) == 2:
                raise Stop

    with monkeypatch.context() as small:
        small.setattr(job, "MAX_DECIDING_BYTES", 16_000)
        small.setattr(batch_slices, "SLICE_BYTES", 400_000)
        with pytest.raises(StreamingQueryException):
            run_once(spark, settings, stop)
    pushes = read_rows(spark, settings, CLIENT_PUSHES, "push_id")
    assert 0 < len(pushes) < load.records
    # It would be taken at once now; the slices that were cut stand.
    run_once(spark, settings)
    wanted = [(f"push-{number:08}",) for number in range(load.records)]
    assert read_rows(spark, settings, CLIENT_PUSHES, "push_id") == wanted
    points = read_rows(spark, settings, CLIENT_METRICS, "push_id", "point_index")
    assert len(points) == len(set(points))
    assert len({push_id for push_id, _ in points}) == load.records
    instances = read_rows(spark, settings, CLIENT_INSTANCES, "client_instance_id")
    assert len(instances) == len(set(instances)) == load.records
    # What the attempt at once had made is not left behind.
    folder = tmp_path / "tables" / CLIENT_METRICS.name
    table = DeltaTable.forPath(spark, str(folder)).toDF()
    assert len(list(folder.glob("*/*.parquet"))) - len(table.inputFiles()) <= 2


def test_slices_are_read_by_the_same_consumers(spark, kafka):
    topic, options = "ranges", {"kafka.bootstrap.servers": kafka.bootstrap_servers}
    load = Load(records=40, value_bytes=1_000)
    produce_load(
        kafka.bootstrap_servers, client_telemetry_to_delta.JOB_NAME, topic, load
    )
    counts = []
    for first in range(4):
        ranges = dict.fromkeys(range(PARTITIONS), (first, first + 1))
        read = read_kafka_ranges(spark, options, topic=topic, ranges=ranges)
        assert read.count() == PARTITIONS
        counts.append(count_sockets(spark))
    # Spark keeps them for minutes, with the records that they have not handed on.
    assert counts[-1] < counts[0] + PARTITIONS


def count_sockets(spark):
    """Return how many sockets the JVM has; each consumer of Kafka has one, or more."""
    folder = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/fd")
    count = 0
    for path in folder.iterdir():
        with contextlib.suppress(OSError):  # it was closed meanwhile
            count += str(path.readlink()).startswith("socket:")
    return count
