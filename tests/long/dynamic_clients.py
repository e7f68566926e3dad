"""Clients that are made anew under load: is anything lost, doubled or out of order?

Usage: python tests/long/dynamic_clients.py [--changes 20] [--records 20000]

A real Kafka, and in front of it a bridge as proxy, which has dynamic configs. A producer
goes on producing while its `acks` change, and Kafka's own consumer reads what is there.
A group of three consumers goes on consuming while session timeouts change; somebody else
looks at the committed offsets all the time. Between two changes the process forks.
"""

import argparse
import itertools
import os
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import confluent_kafka  # noqa: E402 - path
from confluent_kafka import TopicPartition  # noqa: E402 - path
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402 - path

from pipelines.clients.dynamic import DynamicConsumer, DynamicProducer  # noqa: E402 - path
from pipelines.clients.dynamic_values import APPLIED  # noqa: E402 - path
from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.support.bridge.dynamic_site import dynamic_site  # noqa: E402 - path
from tests.support.clients.java_programs import run_tool  # noqa: E402 - path
from tests.support.kafka.topics import find_end, make_topic  # noqa: E402 - path

PATIENCE_S = 120
PARTITIONS = 3
TURNS = ("1", "0", "all", "0", "1", "all")
QUIET = {"log_level": 0, "enable.metrics.push": False, "error_cb": lambda _error: None}
SESSION, HEARTBEAT = "session.timeout.ms", "heartbeat.interval.ms"
NOTHING = ("", "", "")
FAULTS = ("lost", "doubled", "out of order", "reported wrongly")
CONSOLE = "org.apache.kafka.tools.consumer.ConsoleConsumer"


def make_dynamic_topic(servers):
    """Create a topic whose leaders know that they are.

    Until then a broker drops what comes without acknowledgement, and has the rest tried
    again, out of order, whatever client it is.
    """
    admin = AdminClient({"bootstrap.servers": servers} | QUIET)
    topic = make_topic(admin, NewTopic(f"dynamic-{uuid.uuid4()}", PARTITIONS))
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": servers, "group.id": "unused", **QUIET}
    )
    for number in range(PARTITIONS):
        find_end(consumer, TopicPartition(topic, number))
    consumer.close()
    return topic


def conf_of(server, **more):
    """Return what a client is made of that asks again at each call, nearly."""
    return {"bootstrap.servers": server, "metadata.max.age.ms": 20, **QUIET, **more}


def has(client, key, value, state=APPLIED):
    """Return whether a client says so of a dynamic config."""
    return client.dynamic_configs().get(key, NOTHING)[:2] == (value, state)


def wait_for(call, client, key, value, state=APPLIED):
    """Call until a client says that it has a value."""
    deadline = time.monotonic() + PATIENCE_S
    while not has(client, key, value, state):
        call()
        assert time.monotonic() < deadline, client.dynamic_configs()


def fork():
    """Have a child that ends at once."""
    child = os.fork()
    if not child:
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def read_by_kafka(java, servers, topic):
    """Return the values of each partition in the order of offsets, by Kafka's consumer."""
    words = ["--bootstrap-server", servers, "--topic", topic, "--from-beginning"]
    shown = ["print.partition=true", "print.offset=true", "print.value=true"]
    shown = [word for one in shown for word in ("--formatter-property", one)]
    printed = run_tool(java, CONSOLE, *words, *shown, "--timeout-ms", "5000")
    found = {number: [] for number in range(PARTITIONS)}
    for line in printed.splitlines():
        if not line.startswith("Partition:"):
            continue
        partition, offset, value = line.split("\t")
        number = int(partition.partition(":")[2])
        found[number].append((int(offset.partition(":")[2]), int(value)))
    return {
        number: [value for _, value in sorted(all_)] for number, all_ in found.items()
    }


@dataclass
class Produced:
    """What a producer did while its acks changed."""

    total: int = 0
    reports: dict = field(
        default_factory=lambda: {number: [] for number in range(PARTITIONS)}
    )
    failed: int = 0

    def note(self, error, record):
        if error is not None:
            self.failed += 1
        self.reports[record.partition()].append(int(record.value()))

    @property
    def expected(self):
        return {
            number: list(range(number, self.total, PARTITIONS))
            for number in range(PARTITIONS)
        }


def produce_through(producer, topic, set_values, changes, records):
    """Produce all the time, so many records with each value of acks once it is there."""
    done = Produced()
    for turn in range(changes):
        acks = TURNS[turn % len(TURNS)]
        set_values(acks=acks)
        left, deadline = records, time.monotonic() + PATIENCE_S
        while left:
            number = done.total
            try:
                producer.produce(
                    topic,
                    str(number),
                    partition=number % PARTITIONS,
                    on_delivery=done.note,
                )
            except BufferError:
                producer.poll(0.1)
                continue
            done.total += 1
            producer.poll(0)
            left -= has(producer, "acks", acks)
            assert time.monotonic() < deadline, producer.dynamic_configs()
        fork()
    assert producer.flush(PATIENCE_S) == 0
    return done


def judge_produced(done, stored):
    """Return how many records are lost, doubled, out of order, and reported wrongly."""
    lost = doubled = disordered = misreported = 0
    for number, expected in done.expected.items():
        found = stored[number]
        lost += len(set(expected) - set(found))
        doubled += len(found) - len(set(found))
        disordered += sum(one > after for one, after in itertools.pairwise(found))
        misreported += done.reports[number] != expected
    return lost, doubled, disordered, misreported + done.failed


class Member:
    """A member of a group, in a thread of its own."""

    def __init__(self, server, topic, processed, **conf):
        self.called, self.is_over = [], threading.Event()
        self.faults = []
        usual = {
            "group.id": f"g-{topic}",
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 50,
            SESSION: 10_000,
            HEARTBEAT: 200,
        }
        self.consumer = DynamicConsumer(conf_of(server, **usual | conf))
        self._processed = processed
        self.consumer.subscribe(
            [topic], on_assign=self._note("assign"), on_revoke=self._note("revoke")
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _note(self, what):
        def call(consumer, partitions):
            assert consumer is self.consumer
            self.called.append((what, sorted(one.partition for one in partitions)))

        return call

    def _run(self):
        try:
            while not self.is_over.is_set():
                record = self.consumer.poll(0.2)
                if record is not None and record.error() is None:
                    self._processed.append(int(record.value()))
            self.consumer.close()
        except Exception as error:
            self.faults.append(error)
            raise

    @property
    def partitions(self):
        """What it has by what its callbacks were told."""
        what, partitions = self.called[-1] if self.called else ("revoke", [])
        return partitions if what == "assign" else []

    def end(self):
        self.is_over.set()
        self._thread.join(PATIENCE_S)
        assert self.faults == []


class Commits(threading.Thread):
    """Looks at the offsets of a group; keeps what goes back."""

    def __init__(self, servers, topic):
        super().__init__(daemon=True)
        self.is_over, self.backwards, self.highest = threading.Event(), [], {}
        self._asked = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        # An admin client that asks for offsets takes its process down, now and then:
        # librdkafka 2.16, ListConsumerGroupOffsets of a group that is changing.
        self._judge = confluent_kafka.Consumer(
            {"bootstrap.servers": servers, "group.id": f"g-{topic}", **QUIET}
        )

    def run(self):
        while not self.is_over.wait(0.02):
            self.look()

    def look(self):
        try:
            found = self._judge.committed(self._asked, PATIENCE_S)
        except confluent_kafka.KafkaException:
            # Such as of a coordinator that is not there yet.
            return
        for one in found:
            before = self.highest.get(one.partition, one.offset)
            if one.offset < before:
                self.backwards.append((one.partition, before, one.offset))
            self.highest[one.partition] = max(before, one.offset)

    def end(self):
        self.is_over.set()
        self.join()
        self.look()
        self._judge.close()


@dataclass
class Consumed:
    """What a group did while its sessions changed."""

    total: int
    processed: list
    highest: dict
    backwards: list
    calls: list
    """What the callbacks of each member were told."""

    @property
    def missing(self):
        return self.total - len(set(self.processed))

    @property
    def ends(self):
        return {
            number: len(range(number, self.total, PARTITIONS))
            for number in range(PARTITIONS)
        }


def consume_through(servers, server, topic, set_values, changes):
    """Let three members change so often, while somebody produces."""
    processed, total = [], 0
    producer = confluent_kafka.Producer({"bootstrap.servers": servers} | QUIET)
    members = [Member(server, topic, processed) for _ in range(3)]
    commits = Commits(servers, topic)
    commits.start()

    def is_settled(session):
        # One for each: who has none yet has nothing to give up.
        have = sorted(one.partitions for one in members)
        return have == [[number] for number in range(PARTITIONS)] and all(
            session is None or has(one.consumer, SESSION, session) for one in members
        )

    for session in (None, *(str(11_000 + turn) for turn in range(changes))):
        if session is not None:
            set_values(**{SESSION: session})
        deadline = time.monotonic() + PATIENCE_S
        while not is_settled(session):
            assert time.monotonic() < deadline, [
                (one.called[-3:], one.faults, one.consumer.dynamic_configs())
                for one in members
            ]
            producer.produce(topic, str(total), partition=total % PARTITIONS)
            total += 1
            producer.poll(0.001)
        fork()
    assert producer.flush(PATIENCE_S) == 0
    deadline = time.monotonic() + PATIENCE_S
    while len(set(processed)) < total and time.monotonic() < deadline:
        commits.is_over.wait(0.05)
    for one in members:
        one.end()
    commits.end()
    calls = [one.called for one in members]
    return Consumed(total, processed, commits.highest, commits.backwards, calls)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, default=20)
    parser.add_argument("--records", type=int, default=20_000, help="between changes")
    arguments = parser.parse_args()
    with EmbeddedKafka(java="java") as kafka:
        servers = kafka.bootstrap_servers
        with dynamic_site(kafka) as site:
            topic = make_dynamic_topic(servers)
            producer = DynamicProducer(conf_of(site.server))
            done = produce_through(
                producer, topic, site.set_values, arguments.changes, arguments.records
            )
            producer.close()
            faults = judge_produced(done, read_by_kafka("java", servers, topic))
            told = ", ".join(map("{} {}".format, faults, FAULTS))
            print(f"{arguments.changes} changes of acks, {done.total} records: {told}")
            topic = make_dynamic_topic(servers)
            site.set_values()
            got = consume_through(
                servers, site.server, topic, site.set_values, arguments.changes
            )
    again = len(got.processed) - len(set(got.processed))
    print(
        f"{arguments.changes} changes of session.timeout.ms in a group of three, "
        f"{got.total} records: {got.missing} not processed, {again} processed again, "
        f"committed offsets went back {len(got.backwards)} times"
    )
    is_wrong = any(faults) or got.missing or got.backwards or got.highest != got.ends
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
