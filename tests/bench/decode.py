"""Times the decode kernel beside the plain loop, the bare parse and doing nothing.

`python tests/bench/decode.py [--rounds N] [--captures]`: on the same pushes in the same
process, one after the other, N times:

- kernel: from pushes as received to the Arrow columns;
- plain loop: a Python loop over the protobuf classes, to rows;
- bare parse: the protobuf classes parse each push, and nobody reads the result;
- nothing: decompression and one copy of the bytes, which the kernel does too.

The table has the median and the range. It prints and never fails on a time.
"""

import argparse
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import zstandard
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.generated_pushes import java_push, librdkafka_push  # noqa: E402 - path
from tests.bench.plain_decode import plain_points  # noqa: E402 - path
from udfs.compression.codecs import COMPRESSION_NAMES, ZSTD, decompress  # noqa: E402 - path
from udfs.otlp.chunks import CHUNK_BYTES, read_chunks  # noqa: E402 - path
from udfs.otlp.metrics import iter_decoded  # noqa: E402 - path

MAX_BYTES = 16 << 20
POINTS_OF_A_WORKLOAD = 60_000
# As the frames of Java and librdkafka: they write before they know the size.
CLIENT_FRAMES = zstandard.ZstdCompressionParameters.from_level(
    3, window_log=21, write_content_size=False, write_checksum=False
)
CODEC_IDS = {name: codec_id for codec_id, name in COMPRESSION_NAMES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    name: str
    bodies: list[bytes]
    codec_ids: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    wall_s: float
    cpu_s: float


def captured() -> Workload:
    telemetry = ROOT / "tests" / "golden" / "telemetry"
    paths = sorted(telemetry.rglob("*.bin"))
    endings = [path.stem.split("__")[0].rsplit("_", 1)[1] for path in paths]
    codec_ids = [CODEC_IDS[e] if e in CODEC_IDS else int(e[1:]) for e in endings]
    bodies = [path.read_bytes() for path in paths]
    return Workload(
        name=f"{len(bodies)} captures x 10",
        bodies=bodies * 10,
        codec_ids=codec_ids * 10,
    )


def generated(name: str, make_push, points: int) -> Workload:
    compressor = zstandard.ZstdCompressor(compression_params=CLIENT_FRAMES)
    pushes = range(POINTS_OF_A_WORKLOAD // points)
    bodies = [compressor.compress(make_push(push, points)) for push in pushes]
    return Workload(name=name, bodies=bodies, codec_ids=[ZSTD] * len(bodies))


def columns(workload: Workload) -> tuple[pa.Array, pa.Array]:
    return (
        pa.array(workload.bodies, pa.binary()),
        pa.array(workload.codec_ids, pa.int32()),
    )


def run_kernel(workload: Workload) -> int:
    parts = iter_decoded(*columns(workload), max_decompressed_bytes=MAX_BYTES)
    return sum(part.points.num_rows for part in parts)


def run_nothing(workload: Workload) -> int:
    room = np.empty(CHUNK_BYTES, np.uint8)
    return sum(1 for _ in read_chunks(*columns(workload), MAX_BYTES, room))


def run_bare_parse(workload: Workload) -> int:
    for body, codec_id in zip(workload.bodies, workload.codec_ids, strict=True):
        MetricsData.FromString(decompress(body, codec_id, MAX_BYTES).data)
    return 0


def run_plain_loop(workload: Workload) -> int:
    points = 0
    for body, codec_id in zip(workload.bodies, workload.codec_ids, strict=True):
        points += len(plain_points(decompress(body, codec_id, MAX_BYTES).data))
    return points


RUNS = {
    "kernel": run_kernel,
    "plain loop": run_plain_loop,
    "bare parse": run_bare_parse,
    "nothing": run_nothing,
}


def timed(run, workload: Workload) -> Timing:
    wall, cpu = time.perf_counter(), time.process_time()
    run(workload)
    return Timing(wall_s=time.perf_counter() - wall, cpu_s=time.process_time() - cpu)


def spread(numbers: list[float], form: str) -> str:
    middle = format(statistics.median(numbers), form)
    return f"{middle} ({min(numbers):{form}} to {max(numbers):{form}})"


def print_timings(workload: Workload, rounds: int) -> None:
    points = run_kernel(workload)
    timings: dict[str, list[Timing]] = {name: [] for name in RUNS}
    for _ in range(rounds):
        for name, run in RUNS.items():
            timings[name].append(timed(run, workload))
    print(f"\n{workload.name}: {points:,} points")
    for name, runs in timings.items():
        cost = spread([run.cpu_s / points * 1e6 for run in runs], ".2f")
        rate = spread([points / run.cpu_s / 1e6 for run in runs], ".2f")
        wall = spread([points / run.wall_s / 1e6 for run in runs], ".2f")
        print(f"  {name:11} {cost} CPU-seconds per million points")
        print(f"  {'':11} {rate} million points per CPU-second, {wall} per second")
    for name in ("plain loop", "bare parse"):
        pairs = list(zip(timings["kernel"], timings[name], strict=True))
        cpu = spread([other.cpu_s / kernel.cpu_s for kernel, other in pairs], ".1f")
        print(f"  the {name} takes {cpu} times the kernel's CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="of all four runs")
    parser.add_argument("--captures", action="store_true", help="the captures, too")
    arguments = parser.parse_args()
    start = time.perf_counter()
    run_kernel(Workload(name="first", bodies=[b""], codec_ids=[ZSTD]))
    print(f"first call, compilation or its cache: {time.perf_counter() - start:.2f} s")
    workloads = [captured()] if arguments.captures else []
    for shape, make_push in (("Java", java_push), ("librdkafka", librdkafka_push)):
        for points in (60, 500):
            name = f"{shape}-shaped pushes of {points} points, zstd"
            workloads.append(generated(name, make_push, points))
    for workload in workloads:
        print_timings(workload, arguments.rounds)


if __name__ == "__main__":
    main()
