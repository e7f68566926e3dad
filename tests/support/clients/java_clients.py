"""Released Java clients and what they push, one bridge for each codec."""

import contextlib
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path

from pipelines.embedded.installation import JARS_PATH
from tests.bench.outage import frozen
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.bridge.push_reader import CODECS, PATIENCE_S, Pushes, PushReader
from tests.support.kafka.kafka_commands import SHORT_LIVED, configure

PROGRAMS_PATH = Path(__file__).with_name("java")
PROGRAM = PROGRAMS_PATH / "PushToEachBridge.java"
SPARK_JARS_PATH = JARS_PATH.parent / "spark"
LIBRARIES = ("slf4j-api", "zstd-jni", "lz4-java", "snappy-java")
RELEASES = ("3.9.2", "4.3.1")
KINDS = ("producer", "classic", "consumer")
"""A producer, and a consumer of each group protocol."""
IDLE, WAITING = "idle", "waiting"
"""How the clients are when they are closed."""
INTERVAL_MS, CHANGED_INTERVAL_MS = 600, 400
PREFIX = "org.apache.kafka."
OLD, NEW, BY_ID, CHANGED = "incoming.byte.", "outgoing.byte.", "connection.", "io."
"""Begin the metrics that are asked of 3.9 clients, of 4.3 clients and of producers, and
those that a command asks of everyone in place of BY_ID."""


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
    command = [java, *SHORT_LIVED, "-cp", find_jars(release), str(PROGRAM)]
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
