"""Measures what quotas cost a push, against the same bridge without them.

`python tests/bench/quota_pushes.py [--seconds N] [--rounds N] [--others]`: a real
Apache Kafka, the bridge as its users start it, and a load of so many pushes a second.
In turn quotas are set for the clients that push, of bytes and of handling time and far
above what they use, and removed again; with `--others` they are set for somebody else.
The figure is pushes answered with success per CPU-second of the bridge. Linux only. It
prints and never fails on a figure.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from pathlib import Path

import uvloop

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.bench.bridge import INTERVAL_MS, SUBSCRIPTION  # noqa: E402 - path
from tests.bench.push_load import CLIENT_ID, Load  # noqa: E402 - path
from tests.bench.running_bridge import describe_machine  # noqa: E402 - path
from tests.support.bridge.config_support import running_bridge  # noqa: E402 - path
from tests.support.quotas.limited_pushers import alter_quotas  # noqa: E402 - path

QUOTAS = {"producer_byte_rate": 10**12, "request_percentage": 10**6}
POLL_MS, SETTLED_S = 200, 1.0
NS = 1_000_000_000


def read_cpu_s(pid):
    """Return the CPU-seconds of all threads; ticks would be too coarse."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(one.read_text().split()[0]) for one in tasks) / NS


async def measure(kafka, pid, port, arguments):
    """Push with quotas and without, in turn; print a line a round."""
    load = Load(
        connections=arguments.connections,
        instances_per_connection=arguments.instances,
        interval_ms=INTERVAL_MS,
        pushes_per_s=arguments.pushes_per_s,
    )
    await load.connect("127.0.0.1", port)
    await load.run(3 * arguments.seconds)
    name = "somebody-else" if arguments.others else CLIENT_ID.decode()
    ratios = []
    for number in range(arguments.rounds):
        per_cpu_s = {}
        # Which is first changes, since the machine's speed does.
        for is_set in (True, False) if number % 2 else (False, True):
            wanted = QUOTAS if is_set else dict.fromkeys(QUOTAS)
            await alter_quotas(kafka.bootstrap_servers, {f"clients/{name}": wanted})
            await asyncio.sleep(SETTLED_S)
            before_s = read_cpu_s(pid)
            result = await load.run(arguments.seconds)
            per_cpu_s[is_set] = result.errors[0] / (read_cpu_s(pid) - before_s)
        ratios.append(per_cpu_s[True] / per_cpu_s[False])
        print(
            f"with {per_cpu_s[True]:9,.0f}  without {per_cpu_s[False]:9,.0f} pushes "
            f"per CPU-s  {ratios[-1]:.3f}",
            flush=True,
        )
    low, high = min(ratios), max(ratios)
    print(f"median {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})")
    load.close()


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--instances", type=int, default=20, help="per connection")
    parser.add_argument("--pushes-per-s", type=float, default=3_000)
    parser.add_argument("--others", action="store_true")
    arguments = parser.parse_args()
    print(f"{describe_machine()}; {arguments.connections} connections", flush=True)
    with (
        EmbeddedKafka(java="java") as kafka,
        tempfile.TemporaryDirectory() as folder,
        running_bridge(
            kafka,
            Path(folder) / "bridge.log",
            f"subscriptions=[{SUBSCRIPTION}]",
            "cluster.source=off",
            "limits.max_connections_per_address=0",
            f"bridge.quotas_poll_ms={POLL_MS}",
        ) as (process, _, port),
    ):
        uvloop.run(measure(kafka, process.pid, port, arguments))


if __name__ == "__main__":
    main()
