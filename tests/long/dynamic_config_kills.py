"""Alter dynamic configs while bridges are killed: none lost, all agree.

Usage: python tests/long/dynamic_config_kills.py [--rounds 20]

Two bridges with two workers each keep one store. In each round 20 connections set 1,000
keys of one entity to a new value, each repeated until it is acknowledged; meanwhile a
worker is killed, then one whole bridge, which starts again. Within 2 s of the last
acknowledgement every worker must say all 1,000 values. At the end both are killed at
once and started again, and must say the same; and the topic must have each key's values
in the order of the rounds.
"""

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.support.bridge.config_kills import KEYS, KilledBridges  # noqa: E402 - path
from tests.support.bridge.dynamic_configs import read_store  # noqa: E402 - path

TOPIC = "dynamic-config-kills"


def show(kafka, folder, rounds, say=print, topic=TOPIC):
    """Run the rounds. Raises: AssertionError where something is lost."""
    with KilledBridges(folder, kafka.bootstrap_servers, topic) as bridges:
        for value in range(rounds):
            which = value % 2
            kills = (
                partial(bridges.kill_worker, which),
                partial(bridges.restart, 1 - which),
            )
            begun = time.monotonic()
            bridges.alter_all(value, kills)
            altered_s = time.monotonic() - begun
            bridges.wait_loaded()
            every = {f"k.{number}": str(value) for number in range(KEYS)}
            took_s = bridges.see_everywhere(every)
            say(
                f"round {value}: {KEYS} keys in {altered_s:.1f} s, "
                f"all agree after {took_s:.2f} s"
            )
        for which in (0, 1):
            bridges.kill_bridge(which)
        for one in bridges.bridges:
            one.start()
        bridges.wait_loaded()
        bridges.see_everywhere(every)
    values = {}
    for _, value in read_store(kafka.bootstrap_servers, topic):
        values.setdefault(value["config_key"], []).append(int(value["config_value"]))
    assert values.keys() == every.keys()
    for seen in values.values():
        assert seen == sorted(seen)
        assert set(seen) == set(range(rounds))
    say(
        f"{rounds * KEYS} alterations, {2 * rounds + 2} kills: none lost; "
        f"{bridges.unsure} were tried again"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder, EmbeddedKafka() as kafka:
        show(kafka, Path(folder), rounds)


if __name__ == "__main__":
    main()
