"""Released Java clients and what they push, one bridge for each codec."""

import contextlib
import subprocess
import time
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition

from pipelines.embedded.installation import JARS_PATH
from tests.bench.outage import frozen
from tests.integration.bridge_support import make_settings, running_bridge
from tests.integration.kafka_commands import configure
from udfs.compression import COMPRESSION_NAMES
from udfs.otlp_metrics import decode_pushes

PROGRAM = Path(__file__).with_name("PushToEachBridge.java")
SPARK_JARS_PATH = JARS_PATH.parent / "spark"
LIBRARIES = ("slf4j-api", "zstd-jni", "lz4-java", "snappy-java")
RELEASES = ("3.9.2", "4.3.1")
KINDS = ("producer", "classic", "consumer")
"""A producer, and a consumer of each group protocol."""
IDLE, WAITING = "idle", "waiting"
"""How the clients are when they are closed."""
CODECS = {name: number for number, name in COMPRESSION_NAMES.items()}
INTERVAL_MS, CHANGED_INTERVAL_MS = 600, 400
PATIENCE_S = 60
MAX_BYTES = 1 << 20
PREFIX = "org.apache.kafka."
OLD, NEW, BY_ID, CHANGED = "incoming.byte.", "outgoing.byte.", "connection.", "io."
"""Begin the metrics that are asked of 3.9 clients, of 4.3 clients and of producers, and
those that a command asks of everyone in place of BY_ID."""


@dataclass
class Pushes:
    """What one client has pushed, in order."""

    headers: list = field(default_factory=list)
    bodies: list = field(default_factory=list)

    def metrics(self, interval_ms):
        """Return the names of all metrics pushed at this interval, sorted."""
        bodies = [
            (body, CODECS[headers["compression_type"]])
            for headers, body in zip(self.headers, self.bodies, strict=True)
            if headers["push_interval_ms"] == str(interval_ms)
        ]
        decoded = decode_pushes(
            pa.array([body for body, _ in bodies], pa.binary()),
            pa.array([codec for _, codec in bodies], pa.int32()),
            max_decompressed_bytes=MAX_BYTES,
        )
        assert set(decoded.pushes["decode_status"].to_pylist()) <= {"ok"}
        return sorted(set(decoded.points["metric"].to_pylist()))

    def values(self, name):
        """Return the different values of a header."""
        return {headers[name] for headers in self.headers}


class PushReader:
    """Reads a topic of pushes as they come, sorted by client."""

    def __init__(self, kafka, topic):
        self.clients = defaultdict(Pushes)
        self._consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": "reader",
                "enable.metrics.push": False,
            }
        )
        self._partition = TopicPartition(topic, 0, 0)
        self._consumer.assign([self._partition])
        self._read = 0

    def close(self):
        self._consumer.close()

    def read_until(self, is_enough):
        """Read until it is enough; fails with what is there, past the patience."""
        deadline = time.monotonic() + PATIENCE_S
        while not is_enough():
            seen = {name: len(one.headers) for name, one in self.clients.items()}
            assert time.monotonic() < deadline, seen
            self._read_some()

    def have_pushed(self, clients, interval_ms):
        """Say whether all of these clients have pushed at this interval."""
        text = str(interval_ms)
        return all(
            name in self.clients
            and text in self.clients[name].values("push_interval_ms")
            for name in clients
        )

    def read_to_end(self):
        _, end = self._consumer.get_watermark_offsets(self._partition, PATIENCE_S)
        self.read_until(lambda: self._read >= end)

    def _read_some(self):
        for record in self._consumer.consume(100, 0.1):
            assert record.error() is None
            self._read = record.offset() + 1
            headers = {name: value.decode() for name, value in record.headers()}
            pushes = self.clients[headers["client_id"]]
            pushes.headers.append(headers)
            pushes.bodies.append(record.value())


def find_jars(release):
    """Return the class path of one release's clients, with every codec."""
    patterns = [f"kafka-clients-{release}.jar", *(f"{one}-*.jar" for one in LIBRARIES)]
    jars = []
    for pattern in patterns:
        folders = (SPARK_JARS_PATH, JARS_PATH)
        (jar,) = [jar for folder in folders for jar in folder.glob(pattern)]
        jars.append(str(jar))
    return ":".join(jars)


@contextlib.contextmanager
def java_process(java, release, bridges, end, log):
    """Run clients of one release for each bridge; the block may end them in order."""
    command = [java, "-XX:TieredStopAtLevel=1", "-cp", find_jars(release), str(PROGRAM)]
    command += [end, *(word for pair in bridges.items() for word in pair)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def end_in_order(kafka, processes, end):
    """Let the clients close, all at once; WAITING: while Kafka takes nothing.

    Then no push is answered, and every client waits for an answer when it closes.
    """
    with frozen(kafka) if end == WAITING else contextlib.nullcontext():
        for process in processes:
            process.stdin.write(b"\n")
            process.stdin.flush()
        for process in processes:
            assert process.stdout.readline() == b"closing\n"
    for process in processes:
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0


def make_subscriptions(run):
    """Return what is asked at first: by release, and more of producers by their id."""
    by = {
        "old": (OLD, r"client_software_version=3\\.9\\..*"),
        "new": (NEW, r"client_software_version=4\\.3\\..*"),
        f"{run}-id": (BY_ID, "client_id=.*-producer"),
    }
    tables = ",".join(
        f'{{name="{name}",interval_ms={INTERVAL_MS},match=["{match}"],'
        f'metrics=["{PREFIX}producer.{part}","{PREFIX}consumer.{part}"]}}'
        for name, (part, match) in by.items()
    )
    return f"subscriptions=[{tables}]"


def change_subscription(java, kafka, run):
    """Ask every client of the run for CHANGED, with Kafka's own command."""
    code, output = configure(
        java, kafka.bootstrap_servers, "--alter", "--entity-name", f"{run}-id",
        "--add-config",
        f"metrics=[{PREFIX}producer.{CHANGED},{PREFIX}consumer.{CHANGED}],"
        f"interval.ms={CHANGED_INTERVAL_MS},match=[client_id={run}.*]",
    )  # fmt: skip
    assert code == 0, output


@dataclass(frozen=True)
class Played:
    """What one client was and did."""

    release: str
    codec: str
    kind: str
    pushes: Pushes

    @property
    def before(self):
        return self.pushes.metrics(INTERVAL_MS)

    @property
    def after(self):
        return self.pushes.metrics(CHANGED_INTERVAL_MS)

    @property
    def is_ended_by_push(self):
        return self.pushes.headers[-1]["terminating"] == "true"


def play(java, kafka, releases, end, log):
    """Let clients of each release, kind and codec push, hear of a change, and end.

    Returns: Played of each client, and the counters of each bridge by codec.
    """
    run = f"run-{uuid.uuid4().hex[:8]}"
    topic = f"telemetry-{run}"
    wanted = {
        f"{run}-{release}-{codec}-{kind}": (release, codec, kind)
        for release in releases
        for codec in CODECS
        for kind in KINDS
    }
    with contextlib.ExitStack() as stack:
        started = {
            codec: stack.enter_context(bridge_for(kafka, topic, run, codec))
            for codec in CODECS
        }
        reader = PushReader(kafka, topic)
        stack.callback(reader.close)
        processes = []
        for release in releases:
            bridges = {f"{run}-{release}-{one}": at for one, (_, at) in started.items()}
            processes.append(
                stack.enter_context(java_process(java, release, bridges, end, log))
            )
        reader.read_until(lambda: reader.have_pushed(wanted, INTERVAL_MS))
        change_subscription(java, kafka, run)
        reader.read_until(lambda: reader.have_pushed(wanted, CHANGED_INTERVAL_MS))
        end_in_order(kafka, processes, end)
        reader.read_to_end()
    clients = [Played(*what, reader.clients[name]) for name, what in wanted.items()]
    return clients, {codec: server.counters for codec, (server, _) in started.items()}


def bridge_for(kafka, topic, run, codec):
    """Run a bridge that offers one codec."""
    offered = "" if codec == "none" else f'"{codec}"'
    settings = make_settings(
        kafka,
        f"topics.telemetry={topic}",
        make_subscriptions(run),
        f"bridge.accepted_compression_types=[{offered}]",
        "bridge.publish_timeout_ms=25000",
    )
    return running_bridge(settings)
