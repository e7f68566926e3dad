"""Says how long `status` takes on a site whose tables have many commits.

`python tests/bench/status.py [--commits 2000] [--rounds 5]`: one broker, one bridge, a
topic with unread records, and the tables of telemetry with a file a commit and a
checkpoint of their logs every 100, as a job leaves them. Prints the seconds and the
CPU-seconds of the whole command, and of a command that does nothing. It never fails.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import pyarrow as pa  # noqa: E402 - path
from confluent_kafka import Producer  # noqa: E402 - path
from deltalake import DeltaTable, write_deltalake  # noqa: E402 - path

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.tables.telemetry import TELEMETRY_CONTRACTS  # noqa: E402 - path
from tests.support.bridge.bridge_process import BridgeProcess  # noqa: E402 - path

TOPIC = "bench.telemetry"
CHECKPOINT_EVERY = 100
UNREAD = 1_000


def make_table(path, commits):
    """Write a table of so many commits; of each row only what status reads."""
    now = pa.scalar(int(time.time() * 1e6), pa.timestamp("us", "UTC"))
    rows = pa.table(
        {
            "reason": ["missing_header"],
            "kafka_timestamp": pa.array([now.as_py()], now.type),
            "event_date": pa.array([now.as_py().date()], pa.date32()),
        }
    )
    for number in range(commits):
        write_deltalake(str(path), rows, mode="append", partition_by=["event_date"])
        if number % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1:
            DeltaTable(str(path)).create_checkpoint()


def make_progress(folder):
    """Leave a checkpoint location that has read nothing yet."""
    place = folder / "kafka_clientele"
    place.mkdir(parents=True)
    start = {"topic": TOPIC, "starting_offsets": {"0": -2}}
    (place / "start.json").write_text(json.dumps(start))


def run(words):
    """Return the seconds and CPU-seconds of a command."""
    before, began = os.times(), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pipelines", *words],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds, after = time.monotonic() - began, os.times()
    cpu = after.children_user + after.children_system
    return seconds, cpu - before.children_user - before.children_system, done.stdout


def tell(name, taken):
    """Print median and range of what several runs took."""
    for what, values in zip(("s", "CPU-s"), zip(*taken, strict=True), strict=True):
        middle = statistics.median(values)
        print(f"{name}: {middle:.2f} {what} ({min(values):.2f} to {max(values):.2f})")


def main():
    """Make the site, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, EmbeddedKafka(java="java") as kafka:
        folder = Path(name)
        first, *others = (folder / "tables" / c.name for c in TELEMETRY_CONTRACTS)
        make_table(first, arguments.commits)
        for other in others:
            shutil.copytree(first, other)
        make_progress(folder / "checkpoint")
        bridge = BridgeProcess(folder, kafka.bootstrap_servers, TOPIC)
        bridge.start()
        try:
            producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
            for _ in range(UNREAD):
                producer.produce(TOPIC, b"x")
            producer.flush()
            keys = (
                f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
                f"topics.telemetry={TOPIC}",
                f"tables.root_path={folder}/tables",
                f"client_telemetry_to_delta.checkpoint_location={folder}/checkpoint",
                f'watching.bridges=["127.0.0.1:{bridge.http_port}"]',
            )
            words = ["status", *(word for key in keys for word in ("--set", key))]
            taken = [run(words) for _ in range(arguments.rounds)]
            idle = [run(["settings", "--help"]) for _ in range(arguments.rounds)]
            print(taken[-1][2])
            tell("status", [one[:2] for one in taken])
            tell("a command that does nothing", [one[:2] for one in idle])
        finally:
            bridge.close()


if __name__ == "__main__":
    main()
