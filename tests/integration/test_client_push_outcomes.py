"""What becomes of a push: the test plan of KIP-1324, as far as clients go.

Each test has the running bridge, as its command starts it, and a real Kafka.
"""

import logging
import multiprocessing
import os
import signal
import time
import uuid

import pytest

from pipelines import clients
from pipelines.clients.catalogs import load_rules
from pipelines.clients.configs_in_force import LibrdkafkaConfigs
from pipelines.clients.connection import Software
from pipelines.clients.handshake import Handshake, PushPlan
from pipelines.clients.instance_ids import make_instance_id
from pipelines.clients.key_lists import DEFAULT_KEYS, PRODUCER
from pipelines.clients.own_configs import DEFAULT_API_KEY
from pipelines.clients.pushed_entries import choose_entries
from pipelines.clients.security import make_access
from pipelines.clients.starting import prepare
from pipelines.clients.wire import ConfigEntry, write_push_config
from tests.integration.config_support import DEADLINE_S, read_topic, running_bridge

MAX_BYTES = 10_240
"""client.config.max.bytes, unless set otherwise."""


@pytest.fixture
def topics():
    name = uuid.uuid4()
    names = [f"topics.telemetry=t-{name}", f"topics.configs=c-{name}"]
    return [*names, "bridge.http_port=0"]


@pytest.fixture
def warnings():
    """What the library says to a logger of this test; yields logger and texts."""
    texts = []

    class Handler(logging.Handler):
        def emit(self, record):
            if record.levelno >= logging.WARNING:
                texts.append(record.getMessage())

    logger = logging.Logger("test.clients")  # noqa: LOG001 - of one test only
    logger.addHandler(Handler())
    return logger, texts


def stored(kafka, topics):
    return read_topic(kafka, topics[1].partition("=")[2])


def make_plan(host, port, timeout_ms=DEADLINE_S * 1_000):
    conf = {"bootstrap.servers": f"{host}:{port}"}
    found = LibrdkafkaConfigs(PRODUCER, conf, {})
    chosen = choose_entries(
        DEFAULT_KEYS[PRODUCER],
        found.find_config,
        rules=load_rules(),
        software_name="confluent-kafka-python",
        is_default_list=True,
    )
    return PushPlan(
        access=make_access(found.find, conf),
        software=Software(
            client_id="app",
            name="confluent-kafka-python",
            version="1",
            client_instance_id=make_instance_id(),
        ),
        entries=list(chosen.entries),
        api_key=DEFAULT_API_KEY,
        timeout_ms=timeout_ms,
        retry_backoff_ms=100,
        retry_backoff_max_ms=1_000,
    )


def test_a_broker_without_it_serves_the_client_all_the_same(
    kafka, consume_one, warnings
):
    """The embedded Kafka is a broker of Apache Kafka as it is released."""
    logger, told = warnings
    topic = f"data-{uuid.uuid4()}"
    conf = {"bootstrap.servers": kafka.bootstrap_servers, "logger": logger}
    producer = clients.Producer(conf)
    producer.produce(topic, b"value")
    assert producer.flush(DEADLINE_S) == 0
    assert consume_one(kafka.bootstrap_servers, topic) == b"value"
    assert told == []


def test_a_bridge_that_does_not_take_configurations_is_not_sent_any(
    kafka, topics, tmp_path, warnings
):
    logger, told = warnings
    off = "client_config.enabled=false"
    with running_bridge(kafka, tmp_path / "log", *topics, off) as (_, host, port):
        conf = {"bootstrap.servers": f"{host}:{port}", "logger": logger}
        assert prepare(PRODUCER, conf).client_instance_id is None
    assert told == []


def test_of_old_and_new_nodes_the_new_one_is_sent_it(kafka, topics, tmp_path, warnings):
    logger, told = warnings
    with (
        running_bridge(
            kafka, tmp_path / "old", *topics, "client_config.enabled=false"
        ) as (_, old_host, old_port),
        running_bridge(kafka, tmp_path / "new", *topics) as (_, host, port),
    ):
        both = f"{old_host}:{old_port},{host}:{port},{kafka.bootstrap_servers}"
        conf = {"bootstrap.servers": both, "logger": logger}
        made = [prepare(PRODUCER, conf).client_instance_id for _ in range(8)]
        assert len(stored(kafka, topics)) == len(made)
    assert told == []


def test_a_kafka_that_comes_back_is_waited_for_as_the_bridge_says(
    kafka, topics, tmp_path
):
    """First 89 without a time, then 89 with one, then success."""
    settings = [
        "bridge.publish_timeout_ms=300",
        "client_config.min_push_interval_ms=1000",
    ]
    waits = []
    (pid,) = kafka.pids.values()
    with running_bridge(kafka, tmp_path / "log", *topics, *settings) as (_, host, port):
        # The producer of the bridge has then been to Kafka once.
        Handshake(make_plan(host, port)).run()

        def wait(seconds):
            waits.append(seconds)
            os.kill(pid, signal.SIGCONT)
            time.sleep(seconds)

        handshake = Handshake(make_plan(host, port), wait=wait)
        os.kill(pid, signal.SIGSTOP)
        try:
            handshake.run()
        finally:
            os.kill(pid, signal.SIGCONT)
        assert (handshake.is_pushed, handshake.fault) == (True, "")
        keys = [record.key() for record in stored(kafka, topics)]
    assert len(set(keys)) == 2
    assert 0.08 <= waits[0] <= 0.12
    # The rest of the second between two pushes of one connection, by its own clock.
    assert 0.2 <= waits[1] <= 1.0


def test_an_outage_blocks_no_longer_than_was_said(kafka, topics, tmp_path, warnings):
    logger, told = warnings
    (pid,) = kafka.pids.values()
    quick = "bridge.publish_timeout_ms=300"
    with running_bridge(kafka, tmp_path / "log", *topics, quick) as (_, host, port):
        conf = {"bootstrap.servers": f"{host}:{port}", "logger": logger}
        os.kill(pid, signal.SIGSTOP)
        try:
            prepared = prepare(PRODUCER, conf, **{"default.api.timeout.ms": 1_500})
        finally:
            os.kill(pid, signal.SIGCONT)
        assert prepared.client_instance_id is not None
    (warning,) = told
    assert warning.startswith("configuration push: failed: not done in")
    # The bridge is gone now.
    prepared = prepare(PRODUCER, conf, **{"default.api.timeout.ms": 300})
    assert prepared.conf == conf
    assert told[1].endswith("last: Connection refused")


def test_a_frozen_bridge_blocks_no_longer_than_was_said(
    kafka, topics, tmp_path, warnings
):
    logger, told = warnings
    with running_bridge(kafka, tmp_path / "log", *topics) as (process, host, port):
        conf = {"bootstrap.servers": f"{host}:{port}", "logger": logger}
        process.send_signal(signal.SIGSTOP)
        try:
            prepared = prepare(PRODUCER, conf, **{"default.api.timeout.ms": 300})
        finally:
            process.send_signal(signal.SIGCONT)
    assert prepared.conf == conf
    (warning,) = told
    assert "not done in" in warning


@pytest.mark.parametrize("excess", [0, 1])
def test_the_largest_configuration_is_taken_and_a_larger_one_is_not(
    kafka, topics, tmp_path, warnings, excess
):
    logger, told = warnings
    # Three bytes of length, once the text is long.
    empty = write_push_config([ConfigEntry("client.rack", "", 1, False)])
    rack = "r" * (MAX_BYTES - len(empty) - 1 + excess)
    with running_bridge(kafka, tmp_path / "log", *topics) as (_, host, port):
        conf = {
            "bootstrap.servers": f"{host}:{port}",
            "client.rack": rack,
            "config.push.allowed.keys": "client.rack",
            "logger": logger,
        }
        assert prepare(PRODUCER, conf).client_instance_id is not None
        assert len(stored(kafka, topics)) == 1 - excess
    refusal = (
        "configuration push: failed: error 10072: a configuration of 10241 bytes is "
        "larger than client.config.max.bytes, which is 10240"
    )
    assert told == [refusal] * excess


def test_a_policy_refuses_and_says_why(kafka, topics, tmp_path, warnings):
    logger, told = warnings
    policy = [
        "client_config.policy=pipelines.bridge.value_rules:ValueRules",
        'client_config.policy_settings={durable="acks in all reject"}',
    ]
    with running_bridge(kafka, tmp_path / "log", *topics, *policy) as (_, host, port):
        conf = {"bootstrap.servers": f"{host}:{port}", "logger": logger}
        assert prepare(PRODUCER, conf, acks=1).client_instance_id is not None
        assert stored(kafka, topics) == []
        prepare(PRODUCER, conf, acks="all")
        assert len(stored(kafka, topics)) == 1
    assert told == [
        "configuration push: failed: error 40: acks must be in all (durable)"
    ]


def push_in_a_child(conf, results):
    results.put([clients.Producer(conf).client_instance_id() for _ in range(2)])


def test_forked_processes_push_as_themselves(kafka, topics, tmp_path):
    with running_bridge(kafka, tmp_path / "log", *topics) as (_, host, port):
        conf = {"bootstrap.servers": f"{host}:{port}", "enable.metrics.push": False}
        conf |= {"log_level": 0}
        made = {clients.Producer(conf).client_instance_id()}
        context = multiprocessing.get_context("fork")
        results = context.SimpleQueue()
        children = [
            context.Process(target=push_in_a_child, args=(conf, results))
            for _ in range(4)
        ]
        for child in children:
            child.start()
        for _ in children:
            made.update(results.get())
        for child in children:
            child.join(DEADLINE_S)
            assert child.exitcode == 0
        keys = {record.key().decode() for record in stored(kafka, topics)}
    assert len(made) == 9
    assert keys == made
