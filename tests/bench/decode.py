"""Times the decode kernel against a plain loop over the protobuf classes.

`python tests/bench/decode.py [--rounds N]`: both run on the same pushes in the same
process, one after the other, N times; the table has the median and the range. It prints
and never fails on a time.
"""

import argparse
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import zstandard

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.generated_pushes import java_push, librdkafka_push  # noqa: E402 - path
from tests.bench.plain_decode import plain_points  # noqa: E402 - path
from udfs.compression import COMPRESSION_NAMES, ZSTD, decompress  # noqa: E402 - path
from udfs.otlp_metrics import iter_decoded  # noqa: E402 - path

MAX_BYTES = 16 << 20
POINTS_OF_A_WORKLOAD = 60_000
CODEC_IDS = {name: codec_id for codec_id, name in COMPRESSION_NAMES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    name: str
    bodies: list[bytes]
    codec_ids: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    points: int
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
    compressor = zstandard.ZstdCompressor()
    pushes = range(POINTS_OF_A_WORKLOAD // points)
    bodies = [compressor.compress(make_push(push, points)) for push in pushes]
    return Workload(name=name, bodies=bodies, codec_ids=[ZSTD] * len(bodies))


def run_kernel(workload: Workload) -> int:
    parts = iter_decoded(
        pa.array(workload.bodies, pa.binary()),
        pa.array(workload.codec_ids, pa.int32()),
        max_decompressed_bytes=MAX_BYTES,
    )
    return sum(part.points.num_rows for part in parts)


def run_plain_loop(workload: Workload) -> int:
    points = 0
    for body, codec_id in zip(workload.bodies, workload.codec_ids, strict=True):
        points += len(plain_points(decompress(body, codec_id, MAX_BYTES).data))
    return points


def timed(run, workload: Workload) -> Timing:
    wall, cpu = time.perf_counter(), time.process_time()
    points = run(workload)
    return Timing(
        points=points,
        wall_s=time.perf_counter() - wall,
        cpu_s=time.process_time() - cpu,
    )


def spread(numbers: list[float], form: str) -> str:
    middle = format(statistics.median(numbers), form)
    return f"{middle} ({min(numbers):{form}} to {max(numbers):{form}})"


def print_timings(name: str, timings: list[Timing]) -> None:
    rates = spread([t.points / t.wall_s for t in timings], ",.0f")
    cpu = spread([t.cpu_s / t.points * 1e6 for t in timings], ".2f")
    print(f"  {name:11} {rates} points/s, {cpu} CPU-seconds per million points")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="paired rounds")
    rounds = parser.parse_args().rounds
    start = time.perf_counter()
    run_kernel(Workload(name="first", bodies=[b""], codec_ids=[ZSTD]))
    print(f"first call, compilation or its cache: {time.perf_counter() - start:.2f} s")
    workloads = [captured()]
    for shape, make_push in (("Java", java_push), ("librdkafka", librdkafka_push)):
        for points in (60, 500):
            name = f"{shape}-shaped pushes of {points} points, zstd"
            workloads.append(generated(name, make_push, points))
    for workload in workloads:
        pairs = [
            (timed(run_kernel, workload), timed(run_plain_loop, workload))
            for _ in range(rounds)
        ]
        kernel, plain = [k for k, _ in pairs], [p for _, p in pairs]
        print(f"{workload.name}: {kernel[0].points:,} points")
        print_timings("kernel", kernel)
        print_timings("plain loop", plain)
        wall = spread([p.wall_s / k.wall_s for k, p in pairs], ".1f")
        cpu = spread([p.cpu_s / k.cpu_s for k, p in pairs], ".1f")
        print(f"  kernel is   {wall} times as fast, {cpu} by CPU time")


if __name__ == "__main__":
    main()
