"""Measures what one push costs the bridge, with all its rules and a real broker.

`python tests/bench/bridge.py [--seconds N] [--rounds N] [--connections N]`: a real
Apache Kafka, the bridge as its users start it, and a generator that pushes as fast as
replies come, all on this machine. The figure is pushes answered with success per
CPU-second of the bridge; unlike pushes per second it does not depend much on what else
runs here. Linux only. It prints and never fails on a figure.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

import uvloop

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.push_load import Load  # noqa: E402 - path
from tests.bench.running_bridge import (  # noqa: E402 - path
    describe_machine,
    running_bridge,
)

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


async def measure(bridge, arguments):
    """Run the rounds; yield (pushes per CPU-second, per second, latencies, errors)."""
    load = Load(
        connections=arguments.connections,
        instances_per_connection=arguments.instances,
        metrics_bytes=arguments.metrics_bytes,
        interval_ms=INTERVAL_MS,
        pushes_per_s=arguments.pushes_per_s,
    )
    await load.connect("127.0.0.1", bridge.port)
    await load.run(arguments.seconds / 2)  # warm
    for _ in range(arguments.rounds):
        cpu_s, began_s = read_cpu_s(bridge.pid), time.perf_counter()
        result = await load.run(arguments.seconds)
        cpu_s = read_cpu_s(bridge.pid) - cpu_s
        yield result, cpu_s, time.perf_counter() - began_s
    load.close()


async def print_rounds(bridge, arguments):
    """Print one line a round and the median."""
    figures = []
    async for result, cpu_s, wall_s in measure(bridge, arguments):
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
    print(f"resident {bridge.resident_bytes / 1e6:,.0f} MB")


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
        f"{describe_machine()}; {arguments.connections} connections, pushes of "
        f"{arguments.metrics_bytes} bytes, acks=all, idempotent, one broker"
    )
    with running_bridge(f"subscriptions=[{SUBSCRIPTION}]", *arguments.set) as bridge:
        uvloop.run(print_rounds(bridge, arguments))


if __name__ == "__main__":
    main()
