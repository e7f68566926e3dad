"""Kill the bridge and its broker again and again under load; then compare every push.

Usage: python tests/long/bridge_kills.py [--bridge-kills 100]
           [--broker-kills 20] [--pushers 60] [--seed 0] [--folder FOLDER]

A real Apache Kafka, a bridge process, and many clients that each push unique bytes
every 100 ms. Bridge and broker are killed with -9 at random moments, in a mixed order,
and started again on the same ports and data. In the end every push that was answered
with 0 must stand in the topic exactly once, and every other at most once.
"""

import argparse
import asyncio
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.support.bridge.bridge_process import BridgeProcess  # noqa: E402 - path
from tests.support.clients.raw_pushers import (  # noqa: E402 - path
    compare,
    count_stored,
    print_comparison,
    pushing,
)
from tests.support.kafka.java_home import find_java  # noqa: E402 - path

BRIDGE, BROKER = "bridge", "broker"
BROKER_ID = 1
TOPIC = "pushes-and-kills"
LIFE_S = (0.2, 3.0)
"""Shortest and longest time from the first accepted push of a life to its end."""


def plan_kills(bridge_kills, broker_kills, chance):
    """Return what is killed, in a mixed order."""
    kills = [BRIDGE] * bridge_kills + [BROKER] * broker_kills
    chance.shuffle(kills)
    return kills


async def kill_all(kills, kafka, bridge, outcomes, chance, say):
    """Let each victim have its end; its successor must take pushes before the next."""
    for number, victim in enumerate(kills, start=1):
        await outcomes.wait_for_accepted(1)
        await asyncio.sleep(chance.uniform(*LIFE_S))
        before, began = outcomes.accepted, time.monotonic()
        if victim == BRIDGE:
            await asyncio.to_thread(bridge.kill)
            await asyncio.to_thread(bridge.start)
        else:
            kafka.kill(BROKER_ID)
            await asyncio.to_thread(kafka.restart, BROKER_ID)
        say(
            f"{number:3} of {len(kills)}  {victim:6} back after "
            f"{time.monotonic() - began:4.1f} s, {before} pushes accepted so far"
        )
    await outcomes.wait_for_accepted(100)


def run(kills, pushers, folder, chance, say):
    """Run the whole thing; return what was heard and how it compares."""

    async def push_and_kill():
        async with pushing(bridge.address, pushers) as outcomes:
            await kill_all(kills, kafka, bridge, outcomes, chance, say)
        return outcomes

    with EmbeddedKafka(java=find_java()) as kafka:
        bridge = BridgeProcess(folder, kafka.bootstrap_servers, TOPIC)
        try:
            bridge.start()
            outcomes = asyncio.run(push_and_kill())
            assert bridge.stop() == 0
        finally:
            bridge.close()
        stored = count_stored(kafka.bootstrap_servers, TOPIC)
    return outcomes, compare(outcomes, stored)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bridge-kills", type=int, default=100)
    parser.add_argument("--broker-kills", type=int, default=20)
    parser.add_argument("--pushers", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    # A plain kill of this program ends its bridge and its broker, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    chance = random.Random(arguments.seed)  # noqa: S311 - to be repeatable
    kills = plan_kills(arguments.bridge_kills, arguments.broker_kills, chance)
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="bridge-kill-run-"))
    print(f"{len(kills)} kills, {arguments.pushers} pushers; bridge.log in {folder}")
    outcomes, comparison = run(
        kills, arguments.pushers, folder, chance, lambda text: print(text, flush=True)
    )
    print_comparison(outcomes, comparison)
    return 0 if comparison.is_exact else 1


if __name__ == "__main__":
    sys.exit(main())
