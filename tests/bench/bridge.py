"""Measures what one push costs the bridge, with all its rules and a real broker.

`python tests/bench/bridge.py [--seconds N] [--rounds N] [--connections N]`: a real
Apache Kafka, the bridge as its users start it, and a generator that pushes as fast as
replies come, all on this machine. The figure is pushes answered with success per
CPU-second of the bridge; unlike pushes per second it does not depend much on what else
runs here. Linux only. It prints and never fails on a figure.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import uvloop

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.bench.push_load import Load  # noqa: E402 - path

INTERVAL_MS = 100
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
SUBSCRIPTION = f'{{name="s",metrics=["*"],interval_ms={INTERVAL_MS},match=[]}}'


def read_cpu_s(pid):
    """Return the CPU-seconds of a process and of its children that still run."""
    total = 0.0
    for process in [pid, *list_children(pid)]:
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2]
        except FileNotFoundError:
            continue
        user, system = fields.split()[11:13]
        total += (int(user) + int(system)) / TICKS_PER_S
    return total


def list_children(pid):
    """Return the processes that a process has started."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()]


def read_resident_bytes(pid):
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def running_bridge(kafka, folder, *overrides):
    """Start the bridge by its command; yields its process, host and port."""
    settings = [
        f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
        "bridge.listen_port=0",
        f"subscriptions=[{SUBSCRIPTION}]",
        *overrides,
    ]
    words = [word for one in settings for word in ("--set", one)]
    with (Path(folder) / "bridge.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipelines", "bridge", "--env", "local", *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        line = next((one for one in process.stdout if one.startswith("bridge:")), None)
        if line is None:
            raise RuntimeError(Path(log.name).read_text(encoding="utf-8")[-2_000:])
        host, _, port = line.split()[-1].rpartition(":")
        yield process, host, int(port)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


async def measure(process, host, port, arguments):
    """Run the rounds; yield (pushes per CPU-second, per second, latencies, errors)."""
    load = Load(
        connections=arguments.connections,
        instances_per_connection=arguments.instances,
        metrics_bytes=arguments.metrics_bytes,
        interval_ms=INTERVAL_MS,
        pushes_per_s=arguments.pushes_per_s,
    )
    await load.connect(host, port)
    await load.run(arguments.seconds / 2)  # warm
    for _ in range(arguments.rounds):
        cpu_s, began_s = read_cpu_s(process.pid), time.perf_counter()
        result = await load.run(arguments.seconds)
        cpu_s = read_cpu_s(process.pid) - cpu_s
        yield result, cpu_s, time.perf_counter() - began_s
    load.close()


async def print_rounds(process, host, port, arguments):
    """Print one line a round and the median."""
    figures = []
    async for result, cpu_s, wall_s in measure(process, host, port, arguments):
        accepted = result.errors.pop(0, 0)
        figures.append(accepted / cpu_s)
        cuts = statistics.quantiles(result.latencies_s, n=100)
        print(
            f"{accepted / cpu_s:9,.0f} pushes per CPU-s  {accepted / wall_s:9,.0f} per s"
            f"  p50 {cuts[49] * 1e3:6.1f} ms  p99 {cuts[98] * 1e3:6.1f} ms"
            f"  refused {dict(result.errors)}",
            flush=True,
        )
    median, low, high = statistics.median(figures), min(figures), max(figures)
    print(f"median {median:,.0f} ({low:,.0f} to {high:,.0f}) pushes per CPU-second")
    print(f"resident {read_resident_bytes(process.pid) / 1e6:,.0f} MB")


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=1_000)
    parser.add_argument("--instances", type=int, default=20, help="per connection")
    parser.add_argument("--metrics-bytes", type=int, default=2_000)
    parser.add_argument("--pushes-per-s", type=float)
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}; {arguments.connections} connections, pushes of "
        f"{arguments.metrics_bytes} bytes, acks=all, idempotent, one broker"
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedKafka(java="java") as kafka,
        running_bridge(kafka, folder, *arguments.set) as (process, host, port),
    ):
        uvloop.run(print_rounds(process, host, port, arguments))


if __name__ == "__main__":
    main()
