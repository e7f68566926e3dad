"""Freeze Kafka under load: is memory bounded, and is nothing lost or stored twice?

Usage: nice python tests/bench/outage.py [--seconds 60] [--pushers 400]
                                         [--push-bytes 65536] [--bound-bytes 16777216]

A real Apache Kafka is stopped with SIGSTOP while many clients push to a bridge
process, and goes on afterwards. Printed: what the bridge holds in memory, what it says
about unacknowledged bytes and readiness, what the clients heard, and how the topic
compares with it.
"""

import argparse
import asyncio
import contextlib
import os
import re
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.support.bridge.bridge_process import BridgeProcess  # noqa: E402 - path
from tests.support.clients.raw_pushers import (  # noqa: E402 - path
    THROTTLED,
    compare,
    count_stored,
    pad,
    print_comparison,
    pushing,
)
from tests.support.kafka.java_home import find_java  # noqa: E402 - path

TOPIC = "outage"
SAMPLE_S = 5.0
_HELD = re.compile(r"^kafka_clientele_bridge_unacknowledged_bytes (\S+)$", re.MULTILINE)


@contextlib.contextmanager
def frozen(kafka):
    (pid,) = kafka.pids.values()
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


class Samples:
    """What the bridge says while time goes by."""

    def __init__(self, bridge, outcomes, say):
        self._bridge, self._outcomes, self._say = bridge, outcomes, say
        self._began = time.monotonic()
        self.resident, self.held = {}, {}
        say(
            "phase    seconds  resident MB  unacknowledged MB  ready  accepted  refused"
        )

    async def watch(self, phase, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(SAMPLE_S, left))
            await asyncio.to_thread(self._take, phase)

    def _take(self, phase):
        resident = self._bridge.resident_bytes()
        held = int(float(_HELD.search(self._bridge.fetch("/metrics")[1])[1]))
        ready = self._bridge.fetch("/readyz")[0]
        self.resident.setdefault(phase, []).append(resident)
        self.held.setdefault(phase, []).append(held)
        self._say(
            f"{phase:8} {time.monotonic() - self._began:7.0f}  {resident / 1e6:11.1f}"
            f"  {held / 1e6:17.1f}  {ready:5}  {self._outcomes.accepted:8}"
            f"  {self._outcomes.count()[THROTTLED]:7}"
        )


def run(seconds, pushers, push_bytes, bound_bytes, folder, say, phase_s=10.0):
    """Run it with load before and after; return outcomes, comparison and samples."""

    async def push_and_freeze():
        sized = partial(pad, size=push_bytes)
        async with pushing(bridge.address, pushers, make_payload=sized) as outcomes:
            samples = Samples(bridge, outcomes, say)
            await samples.watch("before", phase_s)
            with frozen(kafka):
                await samples.watch("frozen", seconds)
            await outcomes.wait_for_accepted(pushers)
            await samples.watch("after", phase_s)
        return outcomes, samples

    with EmbeddedKafka(java=find_java()) as kafka:
        bound = f"bridge.max_unacknowledged_bytes={bound_bytes}"
        bridge = BridgeProcess(folder, kafka.bootstrap_servers, TOPIC, bound)
        try:
            bridge.start()
            outcomes, samples = asyncio.run(push_and_freeze())
            assert bridge.stop() == 0
        finally:
            bridge.close()
        stored = count_stored(kafka.bootstrap_servers, TOPIC)
    return outcomes, compare(outcomes, stored), samples


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pushers", type=int, default=400)
    parser.add_argument("--push-bytes", type=int, default=65_536)
    parser.add_argument("--bound-bytes", type=int, default=16_777_216)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    folder = Path(tempfile.mkdtemp(prefix="outage-"))
    outcomes, comparison, samples = run(
        arguments.seconds,
        arguments.pushers,
        arguments.push_bytes,
        arguments.bound_bytes,
        folder,
        lambda text: print(text, flush=True),
    )
    print_comparison(outcomes, comparison)
    growth = max(samples.resident["frozen"]) - max(samples.resident["before"])
    held = max(samples.held["frozen"])
    print(
        f"\nwhile frozen: resident memory grew by {growth / 1e6:.1f} MB, at most "
        f"{held / 1e6:.1f} MB unacknowledged of {arguments.bound_bytes / 1e6:.1f} MB"
    )
    is_bounded = held <= arguments.bound_bytes
    return 0 if comparison.is_exact and is_bounded else 1


if __name__ == "__main__":
    sys.exit(main())
