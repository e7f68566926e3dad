import gc
import logging
import os
import subprocess
import threading
import time
import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from pipelines.embedded import EmbeddedKafka, ports, starting
from tests.support.kafka.java_home import find_java
from tests.support.kafka.topics import find_partitions, make_topic

PATIENCE_S = 180
# Three processes of tests start brokers side by side, on few cores.
starting.START_TIMEOUT_S = 180.0
# Each draws from ports of its own: a killed broker comes back to those that it had.
_LANES = 4
_LANE = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _LANES
_PORTS = (ports.LAST_PORT - ports.FIRST_PORT + 1) // _LANES
ports.FIRST_PORT += _LANE * _PORTS
ports.LAST_PORT = ports.FIRST_PORT + _PORTS - 1


@pytest.fixture(scope="session")
def java():
    """The Java that brokers run on: JAVA_HOME's, else the one on the path."""
    return find_java()


@pytest.fixture(scope="session")
def kafka(java):
    """One real broker for all tests of the session; each test names its own topics."""
    with EmbeddedKafka(java=java) as cluster:
        yield cluster
        # A client that only a cycle of references keeps would look for it ever after.
        gc.collect()


@pytest.fixture(scope="module")
def spark(driver):
    """A session of the file's own, which sees no view and no setting of another's."""
    return driver.newSession()


@pytest.fixture(scope="session")
def create_topic():
    """Create a topic of one partition, as (bootstrap servers, name, client configs)."""

    def create(servers, topic, **config):
        admin = AdminClient({"bootstrap.servers": servers, **config})
        make_topic(admin, NewTopic(topic, 1))

    return create


@pytest.fixture(scope="session")
def produce():
    """Write one record and wait for its acknowledgement by all replicas."""

    def write(servers, topic, value, **config):
        producer = Producer({"bootstrap.servers": servers, "acks": "all", **config})
        errors = []
        producer.produce(
            topic, value, on_delivery=lambda error, _: errors.append(error)
        )
        assert producer.flush(PATIENCE_S) == 0
        assert errors == [None]

    return write


@pytest.fixture(scope="session")
def consume_one():
    """Return the value of a topic's first record, whatever its partition."""

    def read(servers, topic, **config):
        consumer = Consumer(
            {"bootstrap.servers": servers, "group.id": "unused", **config}
        )
        partitions = find_partitions(consumer, topic)
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        record = consumer.poll(PATIENCE_S)
        consumer.close()
        assert record is not None
        assert record.error() is None
        return record.value()

    return read


@pytest.fixture(scope="session")
def wait_until():
    """Poll for what no event tells of, such as the end of somebody else's process."""

    def wait(condition, patience_s=PATIENCE_S):
        deadline = time.monotonic() + patience_s
        never = threading.Event()
        while not condition():
            assert time.monotonic() < deadline
            never.wait(0.02)

    return wait


@pytest.fixture(scope="session")
def list_processes():
    """Return every process with its arguments and environment, as ps shows them."""

    def read():
        command = ["/bin/ps", "axeww"]
        done = subprocess.run(command, capture_output=True, check=True)
        return done.stdout.decode(errors="replace")

    return read


@pytest.fixture
def push_topics():
    """Settings of a bridge with topics of its own; the second one is topics.configs."""
    name = uuid.uuid4()
    names = [f"topics.telemetry=t-{name}", f"topics.configs=c-{name}"]
    return [*names, "bridge.http_port=0"]


@pytest.fixture
def push_log():
    """What the client library warns of: a logger, and the list of its texts."""
    texts = []

    class Handler(logging.Handler):
        def emit(self, record):
            if record.levelno >= logging.WARNING:
                texts.append(record.getMessage())

    logger = logging.Logger("test.clients")  # noqa: LOG001 - of one test only
    logger.addHandler(Handler())
    return logger, texts
