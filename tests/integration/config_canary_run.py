"""Plants secrets in pushes and looks for them in every byte that is left.

Usage: python tests/integration/config_canary_run.py [--canaries 1000000]

A real Apache Kafka, a bridge of its own process, the job. Once through the bridge: its
topic, the tables, the checkpoint location, the quarantine and the logs must hold none.
Once past the bridge, as an older set of rules would have let them through: then all of
that but the topic. Some bodies are cut off, so that they take the way of the quarantine.
"""

import argparse
import asyncio
import itertools
import logging
import sys
import tempfile
import uuid
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from confluent_kafka import Producer  # noqa: E402 - path

from pipelines.client_config_tables import CLIENT_CONFIG_PUSHES  # noqa: E402 - path
from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.tables import QUARANTINE  # noqa: E402 - path
from tests.config_canaries import (  # noqa: E402 - path
    ORDINARY,
    find_canaries,
    make_canary_pushes,
)
from tests.integration.config_job_support import (  # noqa: E402 - path
    encode_pushes,
    make_settings,
    push_bodies,
    read_every_byte,
    read_table,
    run_once,
)
from tests.integration.config_support import running_bridge  # noqa: E402 - path
from tests.spark.config_records import make_record  # noqa: E402 - path
from tests.spark.local_session import start_session  # noqa: E402 - path

SEED = 20_261_122
CUT_EVERY = 10
"""One body in so many is cut off."""
FLUSH_TIMEOUT_S = 120


@dataclass
class Findings:
    """What was planted, and where it still stands."""

    planted: int = 0
    pushes: int = 0
    quarantined: int = 0
    files: int = 0
    files_with_ordinary: int = 0
    leaks: list = field(default_factory=list)
    """(file, canaries in it)"""

    def search(self, places, canaries):
        """Look through (name, bytes)."""
        for name, data in places:
            self.files += 1
            self.files_with_ordinary += ORDINARY.encode() in data
            leaked = find_canaries(data, canaries)
            if leaked:
                self.leaks.append((str(name), len(leaked)))


def cut_some(bodies):
    """Cut off the end of one body in CUT_EVERY."""
    for number, body in enumerate(bodies):
        yield body[:-2] if number % CUT_EVERY == 0 else body


def write_past_the_bridge(servers, topic, bodies):
    """Write records as a bridge with no rules would have."""
    producer = Producer({"bootstrap.servers": servers})
    for number, body in enumerate(bodies):
        instance = f"{number:022}"
        *_, headers = make_record(
            0, body=body, push_id=f"push-{number}", client_instance_id=instance
        )
        producer.produce(topic, body, key=instance, headers=headers)
        producer.poll(0)
    assert producer.flush(FLUSH_TIMEOUT_S) == 0


def read_segments(kafka, topic):
    """Yield each file of a topic's partitions."""
    for path in sorted(kafka.folder.rglob("*.log")):
        if path.parent.name.rpartition("-")[0] == topic:
            yield path, path.read_bytes()


def run_job(spark, settings, log_path):
    """Run the job with all that it logs in a file."""
    handler = logging.FileHandler(log_path)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        run_once(spark, settings)
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
        handler.close()


def run_canaries(spark, kafka, folder, *, canaries):
    """Return what was found of so many canaries on each of the two ways."""
    found = Findings()
    servers = kafka.bootstrap_servers
    for way in ("bridge", "past"):
        topic, place = f"c-{way}-{uuid.uuid4()}", folder / way
        place.mkdir()
        bodies = list(cut_some(encode_pushes(make_canary_pushes(canaries, SEED))))
        found.planted += sum(len(find_canaries(one, canaries)) for one in bodies)
        topics = [f"topics.telemetry=t-{topic}", f"topics.configs={topic}"]
        with running_bridge(kafka, place / "log", *topics) as (_, host, port):
            if way == "bridge":
                asyncio.run(push_bodies(host, port, bodies))
                found.search(read_segments(kafka, topic), canaries)
            else:
                write_past_the_bridge(servers, topic, bodies)
        settings = make_settings(servers, topic, place)
        run_job(spark, settings, place / "job.log")
        found.pushes += read_table(spark, settings, CLIENT_CONFIG_PUSHES).count()
        found.quarantined += read_table(spark, settings, QUARANTINE).count()
        found.search(read_every_byte(place), canaries)
    return found


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--canaries", type=int, default=1_000_000)
    canaries = parser.parse_args().canaries
    with tempfile.TemporaryDirectory() as name, EmbeddedKafka(java="java") as kafka:
        folder = Path(name)
        spark = start_session(folder / "warehouse")
        found = run_canaries(spark, kafka, folder, canaries=canaries)
        spark.stop()
    print(
        f"{found.planted:,} canaries planted, {found.pushes:,} pushes stored, "
        f"{found.quarantined:,} quarantined, {found.files:,} files read, an ordinary "
        f"value in {found.files_with_ordinary:,} of them, secrets in "
        f"{len(found.leaks):,}"
    )
    for name, count in itertools.islice(found.leaks, 20):
        print(f"{count:,} in {name}")
    return 1 if found.leaks else 0


if __name__ == "__main__":
    sys.exit(main())
