"""Kill maintenance at each of its points and at random; then look at every row.

Usage: python tests/long/maintenance_kills.py [--most-points 100] [--random-kills 20]
                                              [--rounds 3] [--folder FOLDER]

Tables with rows of all ages. Runs of maintenance, Python and JVM, are killed with -9 at
each point between two of its commits, one after the other, and others at random times.
In the end one run goes through: what may go must be gone, what stays must stand there
once, and a job must find where it stood.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.commands.maintain_tables import list_ledgers  # noqa: E402 - path
from pipelines.streaming.stored_offsets import read_stored_offsets  # noqa: E402 - path
from tests.support.spark.aged_tables import (  # noqa: E402 - path
    STAYING,
    TOPIC,
    copy_tables,
    fill,
    read_left,
    settings_of,
)
from tests.support.spark.local_session import start_quick_session  # noqa: E402 - path

DRIVER = ROOT / "tests" / "support" / "jobs" / "maintain_driver.py"
PATIENCE_S = 600
RANDOM_S = (3.0, 25.0)
"""After so many seconds a run is killed: from its start until it is mostly over."""
NEVER = "never"


def start(root_path, tables, *seen):
    return subprocess.Popen(
        [sys.executable, str(DRIVER), str(root_path), ",".join(tables), *seen],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )


def kill_at_points(root_path, tables, most, say):
    """Kill runs at one point after the other; return the points."""
    seen = []
    while len(seen) < most:
        process = start(root_path, tables, *seen)
        said, _ = process.communicate(timeout=PATIENCE_S)
        reached = [
            line.removeprefix("reached ")
            for line in said.splitlines()
            if line.startswith("reached ")
        ]
        if not reached:
            assert process.returncode == 0, said
            return seen
        assert process.returncode == -signal.SIGKILL
        seen += reached
        say(f"killed {reached[0]}")
    return seen


def kill_at_random(root_path, kills, chance):
    """Kill runs after random times; return how many had not ended by then."""
    killed = 0
    for _ in range(kills):
        process = start(root_path, (), NEVER)
        try:
            process.communicate(timeout=chance.uniform(*RANDOM_S))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            killed += 1
    return killed


def run(spark, folder, say, *, most_points, random_kills, chance, tables=()):
    """Kill runs, then let one go through; return what is not as it should be.

    `tables` are names of those that are maintained; empty: all.
    """
    original, settings = (
        settings_of(folder / "original"),
        settings_of(folder / "tables"),
    )
    fill(spark, original.tables)
    copy_tables(original.tables, settings.tables.root_path)
    (telemetry, *_) = list_ledgers()
    positions = read_stored_offsets(spark, settings.tables, telemetry, TOPIC)
    killed = kill_at_random(settings.tables.root_path, random_kills, chance)
    points = kill_at_points(settings.tables.root_path, tables, most_points, say)
    say(f"{killed} runs killed at random, {len(points)} at a point each")
    process = start(settings.tables.root_path, tables, NEVER)
    said, _ = process.communicate(timeout=PATIENCE_S)
    faults = [] if process.returncode == 0 else [f"the last run: {said}"]
    left = read_left(spark, settings.tables)
    faults += [
        f"{name}: {left[name]}"
        for name in tables or left
        if left[name] != STAYING[name]
    ]
    if read_stored_offsets(spark, settings.tables, telemetry, TOPIC) != positions:
        faults.append("jobs would go on elsewhere")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most-points", type=int, default=100)
    parser.add_argument("--random-kills", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)  # noqa: S311 - to be repeatable
    faults = []
    with tempfile.TemporaryDirectory(prefix="maintenance-kills-") as scratch:
        folder = arguments.folder or Path(scratch)
        spark = start_quick_session(folder / "warehouse")
        for number in range(arguments.rounds):
            faults += run(
                spark,
                folder / f"round-{number}",
                print,
                most_points=arguments.most_points,
                random_kills=arguments.random_kills if number else 0,
                chance=chance,
            )
        spark.stop()
    print("\n".join(faults) or "every row that stays is there once, no other one")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
