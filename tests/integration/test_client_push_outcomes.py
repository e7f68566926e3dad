"""What becomes of a push: the test plan of KIP-1324, as far as clients go.

Each test has the running bridge, as its command starts it, and a real Kafka.
"""

import subprocess
import sys
import uuid

import pytest

from pipelines import clients
from pipelines.clients import node_search
from pipelines.clients.key_lists import PRODUCER
from pipelines.clients.push_messages import ConfigEntry, write_push_config
from pipelines.clients.starting import prepare
from tests.support.bridge.config_support import DEADLINE_S, read_topic, running_bridge

MAX_BYTES = 10_240
"""client.config.max.bytes, unless set otherwise."""


def stored(kafka, push_topics):
    return read_topic(kafka, push_topics[1].partition("=")[2])


def test_a_broker_without_it_serves_the_client_all_the_same(
    kafka, consume_one, push_log
):
    """The embedded Kafka is a broker of Apache Kafka as it is released."""
    logger, told = push_log
    topic = f"data-{uuid.uuid4()}"
    conf = {"bootstrap.servers": kafka.bootstrap_servers, "logger": logger}
    producer = clients.Producer(conf)
    producer.produce(topic, b"value")
    assert producer.flush(DEADLINE_S) == 0
    assert consume_one(kafka.bootstrap_servers, topic) == b"value"
    assert told == []


def test_a_bridge_that_does_not_take_configurations_is_not_sent_any(
    kafka, push_topics, tmp_path, push_log
):
    logger, told = push_log
    off = "client_config.enabled=false"
    with running_bridge(kafka, tmp_path / "log", *push_topics, off) as (_, host, port):
        conf = {"bootstrap.servers": f"{host}:{port}", "logger": logger}
        assert prepare(PRODUCER, conf).client_instance_id is None
    assert told == []


def test_of_old_and_new_nodes_the_new_one_is_sent_it(
    kafka, push_topics, tmp_path, push_log, monkeypatch
):
    # A machine that stands for a second is no silent server.
    monkeypatch.setattr(node_search, "_SHORT_SHARE_S", 60.0)
    logger, told = push_log
    with (
        running_bridge(
            kafka, tmp_path / "old", *push_topics, "client_config.enabled=false"
        ) as (_, old_host, old_port),
        running_bridge(kafka, tmp_path / "new", *push_topics) as (_, host, port),
    ):
        both = f"{old_host}:{old_port},{host}:{port},{kafka.bootstrap_servers}"
        conf = {
            "bootstrap.servers": both,
            "logger": logger,
            "default.api.timeout.ms": 60_000,
        }
        made = [prepare(PRODUCER, conf).client_instance_id for _ in range(8)]
        assert len(stored(kafka, push_topics)) == len(made)
    assert told == []


@pytest.mark.parametrize("excess", [0, 1])
def test_the_largest_configuration_is_taken_and_a_larger_one_is_not(
    kafka, push_topics, tmp_path, push_log, excess
):
    logger, told = push_log
    # Three bytes of length, once the text is long.
    empty = write_push_config([ConfigEntry("client.rack", "", 1, False)])
    rack = "r" * (MAX_BYTES - len(empty) - 1 + excess)
    with running_bridge(kafka, tmp_path / "log", *push_topics) as (_, host, port):
        conf = {
            "bootstrap.servers": f"{host}:{port}",
            "client.rack": rack,
            "config.push.allowed.keys": "client.rack",
            "logger": logger,
        }
        assert prepare(PRODUCER, conf).client_instance_id is not None
        assert len(stored(kafka, push_topics)) == 1 - excess
    refusal = (
        "configuration push: failed: error 10072: a configuration of 10241 bytes is "
        "larger than client.config.max.bytes, which is 10240"
    )
    assert told == [refusal] * excess


def test_a_policy_refuses_and_says_why(kafka, push_topics, tmp_path, push_log):
    logger, told = push_log
    policy = [
        "client_config.policy=pipelines.bridge.push_config.policy.value_rules:ValueRules",
        'client_config.policy_settings={durable="acks in all reject"}',
        # A policy that is slower is passed over, and this machine may be busy.
        "client_config.policy_timeout_ms=3000",
    ]
    with running_bridge(kafka, tmp_path / "log", *push_topics, *policy) as (
        _,
        host,
        port,
    ):
        conf = {"bootstrap.servers": f"{host}:{port}", "logger": logger}
        assert prepare(PRODUCER, conf, acks=1).client_instance_id is not None
        assert stored(kafka, push_topics) == []
        prepare(PRODUCER, conf, acks="all")
        assert len(stored(kafka, push_topics)) == 1
    assert told == [
        "configuration push: failed: error 40: acks must be in all (durable)"
    ]


FORKING = """
import multiprocessing, sys
from pipelines import clients

def push():
    for _ in range(2):
        # One write a line: five processes have the same pipe.
        sys.stdout.write(clients.Producer(conf).client_instance_id() + "\\n")
        sys.stdout.flush()

conf = {"bootstrap.servers": sys.argv[1], "enable.metrics.push": False, "log_level": 0}
push()
context = multiprocessing.get_context("fork")
children = [context.Process(target=push) for _ in range(4)]
for child in children:
    child.start()
for child in children:
    child.join()
sys.exit(any(child.exitcode for child in children))
"""
"""A process of its own: a fork of this one would take over whatever its threads hold."""


def test_forked_processes_push_as_themselves(kafka, push_topics, tmp_path):
    with running_bridge(kafka, tmp_path / "log", *push_topics) as (_, host, port):
        done = subprocess.run(
            [sys.executable, "-c", FORKING, f"{host}:{port}"],
            stdout=subprocess.PIPE,
            text=True,
            timeout=DEADLINE_S,
            check=True,
        )
        keys = {record.key().decode() for record in stored(kafka, push_topics)}
    made = done.stdout.split()
    assert len(set(made)) == len(made) == 10
    assert keys == set(made)
