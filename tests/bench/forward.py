"""Times what the forwarder does with a push, on one core, without network and Kafka.

`python tests/bench/forward.py [--rounds N]`: read, labels, sums where asked, gzip.
It prints points a second, best and median of N rounds; it never fails on a time.
"""

import argparse
import functools
import statistics
import sys
import tempfile
import time
import zlib
from pathlib import Path

import zstandard

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.forwarder.bodies import (  # noqa: E402 - path
    Selection,
    choose_points,
    make_labels,
    read_push,
    write_body,
)
from pipelines.forwarder.metadata import SentMetadata  # noqa: E402 - path
from pipelines.forwarder.remote_write import (  # noqa: E402 - path
    compress,
    write_series,
)
from pipelines.forwarder.sums import Sums  # noqa: E402 - path
from tests.bench.generated_pushes import java_push, librdkafka_push  # noqa: E402 - path

PUSHES, POINTS = 400, 150
HEADERS = {
    "client_instance_id": b"A" * 22, "client_id": b"orders-app",
    "client_software_name": b"apache-kafka-java", "client_software_version": b"4.3.1",
    "client_source_address": b"10.1.2.3", "client_source_port": b"51234",
    "principal": b"User:orders", "broker_id": b"3", "cluster_id": b"B" * 22,
    "compression_type": b"zstd",
}  # fmt: skip


def gzip_fast(body):
    """Compress as the receiver's connection does."""
    packer = zlib.compressobj(1, wbits=31)
    return packer.compress(body) + packer.flush()


def run_round(pushes, sums, offset, is_otlp):
    """Return points a second of CPU time."""
    start, points, bodies, selection = time.process_time(), 0, [], Selection()
    sent = SentMetadata()
    for number, body in enumerate(pushes):
        push = read_push(body, HEADERS, 16 << 20)
        change = None
        if sums is not None:
            series = sums.open_instance(0, b"%d" % number)
            change = functools.partial(sums.add, series)
        labels, data = make_labels(HEADERS, selection), push.data
        points += choose_points(push, selection, change, is_described=is_otlp)
        if is_otlp:
            bodies.append(write_body(data, labels))
            continue
        series = write_series(data, labels)
        bodies.append(series.body + sent.take(series.metadata, time.monotonic()))
    (gzip_fast if is_otlp else compress)(b"".join(bodies))
    if sums is not None:
        sums.commit({0: offset}, 0)
    return points / (time.process_time() - start)


def main():
    """Time both shapes of pushes, as sent and summed up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    for shape in (java_push, librdkafka_push):
        pushes = [zstandard.compress(shape(one, POINTS)) for one in range(PUSHES)]
        for kind in ("otlp as_sent", "otlp cumulative", "remote_write"):
            with tempfile.TemporaryDirectory() as folder:
                sums = None
                if kind != "otlp as_sent":
                    limits = {"max_series": 10**6, "idle_ms": 10**6}
                    sums = Sums(f"{folder}/sums", topic="t", group_id="g", **limits)
                    sums.open_partition(0, None, "")
                rates = [
                    run_round(pushes, sums, one, kind != "remote_write")
                    for one in range(rounds)
                ]
                if sums is not None:
                    sums.close()
            print(
                f"{shape.__name__:16} {kind:15} points/s: "
                f"best {max(rates):9,.0f}  median {statistics.median(rates):9,.0f}"
            )


if __name__ == "__main__":
    main()
