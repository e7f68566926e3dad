"""Plants secrets in pushes and looks for them in every byte that is left.

Usage: python tests/long/config_canaries.py [--canaries 1000000] [--seed N]

A real Apache Kafka, a bridge of its own process, the job. Four ways, each with as many
secrets: through the bridge, past the bridge (as an older set of rules would have let
them through), and both once more with nothing but malformed requests, which a bridge
refuses and of which the job makes rows of quarantine. Answers, the bridge's topic, the
tables, the checkpoint location, the quarantine and the logs must hold none.
"""

import argparse
import asyncio
import functools
import itertools
import logging
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from confluent_kafka import Producer  # noqa: E402 - path

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.tables.configs import CLIENT_CONFIG_PUSHES  # noqa: E402 - path
from pipelines.tables.telemetry import QUARANTINE  # noqa: E402 - path
from tests.support.bridge.config_support import running_bridge  # noqa: E402 - path
from tests.support.clients.config_canaries import (  # noqa: E402 - path
    CANARY,
    ORDINARY,
    find_canaries,
    make_canary_pushes,
    spoil_bodies,
)
from tests.support.jobs.config_job_support import (  # noqa: E402 - path
    encode_pushes,
    make_settings,
    push_bodies,
    read_every_byte,
    read_table,
    run_once,
)
from tests.support.spark.config_records import make_record  # noqa: E402 - path
from tests.support.spark.local_session import start_session  # noqa: E402 - path

SEED = 20_261_122
CUT_EVERY = 10
"""One body in so many is cut off."""
SPOILT_EVERY = 50
"""One record in so many has a header that cannot be, and one lacks one."""
LANES = 16
"""Pushes on their way to a bridge at once."""
FLUSH_TIMEOUT_S = 120


@dataclass
class Findings:
    """What was planted, and where it still stands."""

    planted: int = 0
    pushes: int = 0
    malformed: int = 0
    """Records of the ways on which every body is malformed, as they reached the job."""
    quarantined: int = 0
    answers: int = 0
    files: int = 0
    files_with_ordinary: int = 0
    leaks: list = field(default_factory=list)
    """(file, canaries in it)"""

    def search(self, places, canaries):
        """Look through (name, bytes)."""
        for name, data in places:
            self.files += 1
            self.files_with_ordinary += ORDINARY.encode() in data
            self.note_leaks(name, data, canaries)

    def note_leaks(self, name, data, canaries):
        """Look through bytes that are no file."""
        leaked = find_canaries(data, canaries)
        if leaked:
            self.leaks.append((str(name), len(leaked)))


@dataclass(frozen=True)
class Way:
    """How secrets get to the job."""

    name: str
    is_past_the_bridge: bool
    is_malformed: bool

    def make_bodies(self, canaries, seed):
        """Return the bodies of requests."""
        bodies = encode_pushes(make_canary_pushes(canaries, seed))
        return list((spoil_bodies if self.is_malformed else cut_some)(bodies))


WAYS = (
    Way("bridge", is_past_the_bridge=False, is_malformed=False),
    Way("past", is_past_the_bridge=True, is_malformed=False),
    Way("malformed-bridge", is_past_the_bridge=False, is_malformed=True),
    Way("malformed-past", is_past_the_bridge=True, is_malformed=True),
)


def cut_some(bodies):
    """Cut off the end of one body in CUT_EVERY."""
    for number, body in enumerate(bodies):
        yield body[:-2] if number % CUT_EVERY == 0 else body


def write_past_the_bridge(servers, topic, bodies):
    """Write records as a bridge with no rules would have.

    One in SPOILT_EVERY has a secret in the place of a time, and one no push id.
    """
    producer = Producer({"bootstrap.servers": servers})
    for number, body in enumerate(bodies):
        headers = {"push_id": f"push-{number}", "client_instance_id": f"{number:022}"}
        without = ()
        if number % SPOILT_EVERY == 1:
            headers["received_at_ms"] = b"at " + CANARY.search(body)[0]
        elif number % SPOILT_EVERY == 2:
            without = ("push_id",)
        *_, made = make_record(0, body=body, without=without, **headers)
        producer.produce(topic, body, key=f"{number:022}", headers=made)
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


def run_canaries(spark, kafka, folder, *, canaries, seed=SEED, tell=lambda _line: None):
    """Return what was found of so many canaries on each of the ways."""
    found = Findings()
    for way in WAYS:
        started_s = time.monotonic()
        bodies = way.make_bodies(canaries, seed)
        found.planted += sum(len(find_canaries(one, canaries)) for one in bodies)
        run_way(way, spark, kafka, folder / way.name, canaries, bodies, found)
        took_s = time.monotonic() - started_s
        tell(f"{way.name}: {took_s:.0f} s, leaks so far: {len(found.leaks)}")
    return found


def run_way(way, spark, kafka, place, canaries, bodies, found):
    """Send bodies on one way, and add what was found."""
    topic, servers = f"c-{way.name}-{uuid.uuid4()}", kafka.bootstrap_servers
    place.mkdir()

    def note_reply(reply):
        found.answers += 1
        found.note_leaks("an answer", reply, canaries)

    topics = [f"topics.telemetry=t-{topic}", f"topics.configs={topic}"]
    with running_bridge(kafka, place / "log", *topics) as (_, host, port):
        if way.is_past_the_bridge:
            write_past_the_bridge(servers, topic, bodies)
        else:
            pushing = push_bodies(host, port, bodies, note_reply, lanes=LANES)
            asyncio.run(pushing)
            found.search(read_segments(kafka, topic), canaries)
    settings = make_settings(servers, topic, place)
    run_job(spark, settings, place / "job.log")
    found.pushes += read_table(spark, settings, CLIENT_CONFIG_PUSHES).count()
    found.quarantined += read_table(spark, settings, QUARANTINE).count()
    if way.is_malformed and way.is_past_the_bridge:
        found.malformed += len(bodies)
    found.search(read_every_byte(place), canaries)


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--canaries", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, EmbeddedKafka(java="java") as kafka:
        folder = Path(name)
        spark = start_session(folder / "warehouse")
        found = run_canaries(
            spark,
            kafka,
            folder,
            canaries=given.canaries,
            seed=given.seed,
            tell=functools.partial(print, flush=True),
        )
        spark.stop()
    print(
        f"{found.planted:,} canaries planted, {found.pushes:,} pushes stored, "
        f"{found.quarantined:,} quarantined (malformed ones past the bridge: "
        f"{found.malformed:,}), {found.answers:,} answers and {found.files:,} files "
        f"read, an ordinary value in {found.files_with_ordinary:,} of them, secrets in "
        f"{len(found.leaks):,}"
    )
    for name, count in itertools.islice(found.leaks, 20):
        print(f"{count:,} in {name}")
    return 1 if found.leaks else 0


if __name__ == "__main__":
    sys.exit(main())
