"""Clients that follow dynamic configs, with a real Kafka behind them."""

import subprocess
import sys
import threading
import time

import confluent_kafka
import pytest
from confluent_kafka import TopicPartition

from pipelines import clients
from pipelines.clients.dynamic import DynamicConsumer, DynamicProducer
from pipelines.clients.dynamic_values import APPLIED, IGNORED, PENDING
from tests.long.dynamic_clients import (
    PARTITIONS,
    PATIENCE_S,
    QUIET,
    SESSION,
    TURNS,
    conf_of,
    consume_through,
    judge_produced,
    make_dynamic_topic,
    produce_through,
    read_by_kafka,
    wait_for,
)
from tests.support.clients.dynamic_relay import DynamicRelay


@pytest.fixture
def topic(kafka):
    return make_dynamic_topic(kafka.bootstrap_servers)


@pytest.fixture
def relay(kafka):
    with DynamicRelay(kafka.bootstrap_servers) as made:
        yield made


def read_whole(kafka, topic):
    """Return the values of each partition in the order of the log, by Kafka's consumer."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "judge"} | QUIET
    )
    found = {}
    try:
        for number in range(PARTITIONS):
            place = TopicPartition(topic, number, 0)
            _, end = consumer.get_watermark_offsets(place, PATIENCE_S)
            consumer.assign([place])
            found[number] = [int(consumer.poll(PATIENCE_S).value()) for _ in range(end)]
    finally:
        consumer.close()
    return found


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_producer_changes_its_acks_under_load(java, kafka, relay, topic):
    """Nothing lost, doubled or out of order; each report once, in order."""
    told = []
    conf = conf_of(relay.server, acks="all", on_dynamic_config=told.append)
    producer = DynamicProducer(conf)
    done = produce_through(producer, topic, relay.set_values, len(TURNS), 500)
    producer.close()
    stored = read_by_kafka(java, kafka.bootstrap_servers, topic)
    assert judge_produced(done, stored) == (0, 0, 0, 0)
    applied = [one["acks"].value for one in told if one["acks"].state == APPLIED]
    assert applied == list(TURNS)


class Crowd:
    """Threads that produce through one producer while another one polls."""

    def __init__(self, producer, topic):
        self.producer, self.topic = producer, topic
        self.seen, self.is_over = [], threading.Event()

    def note(self, error, record):
        assert error is None
        value = int(record.value())
        self.seen.append(value)
        if value < 10_000:
            # In a callback, whichever thread that is in.
            self.produce(value + 10_000, 0)

    def produce(self, value, partition):
        self.producer.produce(
            self.topic, str(value), partition=partition, on_delivery=self.note
        )

    def produce_some(self, partition):
        for number in range(500 * partition, 500 * partition + 500):
            self.produce(number, partition)
            if number % 50 == 0:
                self.is_over.wait(0.01)

    def poll(self):
        while not self.is_over.is_set():
            self.producer.poll(1.0)


def test_records_of_many_threads_stay_whole(kafka, relay, topic):
    """Threads produce while one polls and acks change; callbacks produce, too."""
    producer = DynamicProducer(conf_of(relay.server))
    crowd = Crowd(producer, topic)
    polling = threading.Thread(target=crowd.poll)
    threads = [
        threading.Thread(target=crowd.produce_some, args=(number,))
        for number in range(PARTITIONS)
    ]
    for thread in (polling, *threads):
        thread.start()
    for turn in range(10):
        relay.set_values(acks=("0", "1", "all")[turn % 3])
        crowd.is_over.wait(0.05)
    for thread in threads:
        thread.join()
    while len(crowd.seen) < 3_000:
        producer.flush(1)
    crowd.is_over.set()
    polling.join()
    producer.close()
    stored = read_whole(kafka, topic)
    expected = sorted([*range(1_500), *range(10_000, 11_500)])
    assert sorted(crowd.seen) == expected
    assert sorted(value for values in stored.values() for value in values) == expected
    for number in (1, 2):
        assert stored[number] == sorted(stored[number])


def test_a_transactional_producer_keeps_what_it_has(relay, topic):
    producer = DynamicProducer(
        conf_of(relay.server, **{"transactional.id": f"t-{topic}"})
    )
    producer.init_transactions(PATIENCE_S)
    relay.set_values(acks="0")
    producer.begin_transaction()
    producer.produce(topic, "0")
    handle = producer._handle
    wait_for(lambda: producer.poll(0.01), producer, "acks", "0", IGNORED)
    producer.commit_transaction(PATIENCE_S)
    assert producer._handle is handle
    producer.close()


def test_report_that_raises_in_a_change_is_raised_in_that_poll(relay, topic):
    """And the change is made all the same."""
    producer = DynamicProducer(conf_of(relay.server))

    def fail(_error, _record):
        raise ValueError("of the application")

    handle = producer._handle
    producer.produce(topic, "0", on_delivery=fail)
    relay.set_values(acks="1")
    producer._following._due_s = 0
    producer.produce(topic, "1")
    assert producer._handle is handle
    with pytest.raises(ValueError, match="of the application"):
        producer.poll(0)
    assert producer.dynamic_configs()["acks"].state == APPLIED
    producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0
    producer.close()


@pytest.fixture
def consumer(kafka, relay, topic):
    """A consumer that has read all of a topic of 30 records."""
    writer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka.bootstrap_servers} | QUIET
    )
    for number in range(30):
        writer.produce(topic, str(number), partition=number % PARTITIONS)
    assert writer.flush(PATIENCE_S) == 0
    more = {"group.id": topic, "auto.offset.reset": "earliest"}
    made = DynamicConsumer(conf_of(relay.server, **more))
    made.subscribe([topic])
    assert len(read_values(made, 30)) == 30
    yield made, writer
    made.close()


def read_values(consumer, count):
    """Return so many values, as whole numbers."""
    found, deadline = [], time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < deadline:
        record = consumer.poll(0.1)
        if record is not None and record.error() is None:
            found.append(int(record.value()))
    return found


def change_session(consumer, relay, value):
    """Have the handle replaced; no record is returned meanwhile."""
    relay.set_values(**{SESSION: value})
    found = []
    wait_for(lambda: found.append(consumer.poll(0.02)), consumer, SESSION, value)
    assert found.count(None) == len(found)


def test_change_of_a_consumer_keeps_paused_partitions_paused(relay, topic, consumer):
    reader, writer = consumer
    reader.pause([TopicPartition(topic, 0), TopicPartition(topic, 1)])
    change_session(reader, relay, "9000")
    for number in range(30, 60):
        writer.produce(topic, str(number), partition=number % PARTITIONS)
    assert writer.flush(PATIENCE_S) == 0
    assert read_values(reader, 10) == list(range(32, 60, 3))
    assert reader.poll(1) is None
    reader.resume([TopicPartition(topic, 0)])
    assert read_values(reader, 10) == list(range(30, 60, 3))


def test_change_of_a_consumer_keeps_seeks_that_no_record_was_read_from(
    relay, topic, consumer
):
    reader, _ = consumer
    reader.pause([TopicPartition(topic, number) for number in range(PARTITIONS)])
    reader.seek(TopicPartition(topic, 1, 4))
    change_session(reader, relay, "9000")
    assert reader.poll(1) is None
    reader.resume([TopicPartition(topic, number) for number in range(PARTITIONS)])
    assert read_values(reader, 6) == list(range(13, 30, 3))
    change_session(reader, relay, "9100")
    assert reader.poll(1) is None


def test_calls_of_other_threads_pass_while_a_change_calls_on_revoke(
    relay, topic, consumer
):
    reader, _ = consumer
    passed = []

    def call():
        with reader._gate.serving():
            passed.append("call")

    def revoke(_consumer, partitions):
        calling = threading.Thread(target=call, daemon=True)
        calling.start()
        calling.join(PATIENCE_S)
        passed.append(len(partitions))

    reader.subscribe([topic], on_revoke=revoke)
    change_session(reader, relay, "9000")
    assert passed[-2:] == ["call", PARTITIONS]


def test_a_consumer_that_assigns_partitions_itself_stays_as_it_is(relay, topic):
    consumer = DynamicConsumer(conf_of(relay.server, **{"group.id": topic}))
    consumer.assign([TopicPartition(topic, 0, 0)])
    handle = consumer._handle
    relay.set_values(**{SESSION: "9000"})
    wait_for(lambda: consumer.poll(0.02), consumer, SESSION, "9000", PENDING)
    assert consumer._handle is handle
    assert len(consumer.assignment()) == 1
    consumer.close()


def test_records_that_are_not_delivered_in_time_keep_the_handle(kafka, relay, topic):
    producer = DynamicProducer(conf_of(relay.server, **{"linger.ms": 60_000}))
    handle, limit_s = producer._handle, producer._limit_s
    # No time at all to deliver what waits for more.
    producer._limit_s = 0
    producer.produce(topic, "0", partition=0)
    relay.set_values(acks="1")
    wait_for(lambda: producer.poll(0.02), producer, "acks", "1", PENDING)
    assert producer._handle is handle
    producer._limit_s = limit_s
    wait_for(lambda: producer.poll(0.02), producer, "acks", "1")
    assert producer._handle is not handle
    producer.close()
    assert read_whole(kafka, topic)[0] == [0]


def test_a_drop_in_producer_says_what_is_pending(relay, topic):
    told = []
    producer = clients.Producer(conf_of(relay.server, on_dynamic_config=told.append))
    relay.set_values(acks="1")
    producer.produce(topic, "0")
    wait_for(lambda: producer.poll(0.01), producer, "acks", "1", PENDING)
    assert producer.flush(PATIENCE_S) == 0
    assert [one["acks"].state for one in told] == [PENDING]
    producer.close()


FORKING = """
import os
import signal
import sys

from pipelines.clients.dynamic import DynamicProducer
from tests.long.dynamic_clients import PATIENCE_S, conf_of, wait_for

server, topic = sys.argv[1:]
producer = DynamicProducer(conf_of(server, acks="all", **{"linger.ms": 500}))
for number in range(100):
    producer.produce(topic, str(number), partition=0)
child = os.fork()
if not child:
    code = 1
    signal.alarm(PATIENCE_S)
    try:
        for number in range(100):
            producer.produce(topic, str(1_000 + number), partition=1)
        code = producer.flush(PATIENCE_S)
        producer.close()
    finally:
        os._exit(code)
print("forked", flush=True)
wait_for(lambda: producer.poll(0.01), producer, "acks", "1")
for number in range(100, 200):
    producer.produce(topic, str(number), partition=0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert producer.flush(PATIENCE_S) == 0
producer.close()
"""
"""A process of its own: a fork of this one would take over whatever its threads hold."""


def test_a_fork_leaves_parent_and_child_with_a_producer_each(kafka, relay, topic):
    """What the parent has queued is the parent's; the child makes a handle of its own."""
    with subprocess.Popen(
        [sys.executable, "-c", FORKING, relay.server, topic],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "forked\n"
        relay.set_values(acks="1")
        assert process.wait(2 * PATIENCE_S) == 0
    assert read_whole(kafka, topic) == {
        0: list(range(200)),
        1: list(range(1_000, 1_100)),
        2: [],
    }


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_group_of_three_changes_its_session_and_loses_nothing(kafka, relay, topic):
    """With forks in between."""
    servers = kafka.bootstrap_servers
    got = consume_through(servers, relay.server, topic, relay.set_values, 2)
    assert (got.missing, got.backwards) == (0, [])
    assert got.highest == got.ends
    for calls in got.calls:
        # Once before each change, and once behind the last.
        kinds = [what for what, _ in calls]
        assert kinds.count("assign") >= 3
        assert kinds.count("assign") == kinds.count("revoke")
