"""Clients in clusters of old and new brokers: the test plan of KIP-1324, continued.

A new broker is a broker of Apache Kafka behind the bridge's proxy: it serves records and
PushConfig. An old one is the same broker without the proxy.
"""

import asyncio
import contextlib
import os
import signal
import time
import uuid

import pytest

from pipelines import clients
from pipelines.clients import node_search
from pipelines.clients.instance_ids import instance_id_text
from pipelines.clients.key_lists import PRODUCER
from pipelines.clients.starting import prepare
from tests.integration.test_client_push import KINDS, conf_for
from tests.support.bridge import bridge_support
from tests.support.bridge.config_support import DEADLINE_S, read_topic, running_bridge
from tests.support.bridge.proxy_support import find_servers, proxy_settings
from tests.support.kafka.stopped_processes import stop_process
from tests.unit.bridge.push_config.raw_client import (
    PUSH_CONFIG,
    connect,
    entry,
    push_body,
)

OFF = "client_config.enabled=false"
ACKS = entry("acks", "all", is_default=True)


@contextlib.contextmanager
def new_brokers(kafka):
    """Put a proxy before the brokers; yield their addresses and the topic of pushes."""
    topic = f"c-{uuid.uuid4()}"
    settings = proxy_settings(kafka, "client_config.enabled=true", f"topics.configs={topic}")  # fmt: skip
    with bridge_support.running_bridge(settings) as (server, _):
        yield find_servers(server), topic


def write_one(producer, topic):
    errors = []
    producer.produce(topic, b"value", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(DEADLINE_S) == 0
    assert errors == [None]


@pytest.mark.parametrize("name", KINDS)
def test_a_client_that_is_told_not_to_push_skips_it_and_works(
    kafka, push_topics, tmp_path, name
):
    kind, upstream, client_type = KINDS[name]
    with running_bridge(kafka, tmp_path / "log", *push_topics) as (_, host, port):
        conf = conf_for(client_type, host, port)
        client = kind(conf | {"enable.config.push": False})
        assert isinstance(client, upstream)
        with pytest.raises(Exception, match="does not know this client's id"):
            client.client_instance_id()
        if hasattr(client, "list_topics"):
            assert client.list_topics(timeout=DEADLINE_S).brokers
        if hasattr(client, "close"):
            client.close()
        other = prepare(PRODUCER, conf).client_instance_id
        # Of this one only, though it came later.
        topic = push_topics[1].partition("=")[2]
        keys = {record.key().decode() for record in read_topic(kafka, topic)}
        assert keys == {instance_id_text(other)}


def test_a_broker_without_it_does_not_advertise_it_and_refuses_a_push(
    kafka, push_topics, tmp_path
):
    async def push(host, port):
        client = await connect(host, port)
        served = (await client.say_versions(4))[1]
        assert PUSH_CONFIG not in served
        client.send(PUSH_CONFIG, 0, push_body(ACKS))
        async with asyncio.timeout(DEADLINE_S):
            assert await client.is_closed()
        client.close()
        await client.writer.wait_closed()

    with running_bridge(kafka, tmp_path / "log", *push_topics, OFF) as (_, host, port):
        asyncio.run(push(host, port))


def test_clients_of_old_and_new_brokers_push_and_write(kafka, push_log, monkeypatch):
    # A machine that stands for a second is no silent server.
    monkeypatch.setattr(node_search, "_SHORT_SHARE_S", 60.0)
    logger, told = push_log
    data = f"data-{uuid.uuid4()}"
    with new_brokers(kafka) as (servers, topic):
        both = f"{kafka.bootstrap_servers},{servers}"
        conf = {
            "bootstrap.servers": both,
            "enable.metrics.push": False,
            "log_level": 0,
            "default.api.timeout.ms": 60_000,
        }
        made = [clients.Producer(conf | {"logger": logger}) for _ in range(6)]
        for producer in made:
            write_one(producer, data)
        ids = {one.client_instance_id() for one in made}
        keys = {record.key().decode() for record in read_topic(kafka, topic)}
    assert len(ids) == 6
    assert keys == ids
    assert told == []
    assert len(read_topic(kafka, data)) == 6


def test_a_handshake_that_is_not_done_in_time_does_not_block_what_comes_later(
    kafka, push_log
):
    logger, told = push_log
    (pid,) = kafka.pids.values()
    with new_brokers(kafka) as (servers, _):
        conf = {"bootstrap.servers": servers, "logger": logger, "log_level": 0}
        stop_process(pid)
        try:
            producer = clients.Producer(conf | {"default.api.timeout.ms": 700})
        finally:
            os.kill(pid, signal.SIGCONT)
        write_one(producer, f"data-{uuid.uuid4()}")
    (warning,) = told
    assert warning.startswith("configuration push: failed: not done in")


@pytest.mark.long
def test_a_client_whose_connections_end_does_not_push_again(
    kafka, push_topics, tmp_path
):
    """One push for a client instance, not for a connection."""
    subscription = 'subscriptions=[{name="s",metrics=["*"],interval_ms=300,match=[]}]'
    telemetry, configs = (one.partition("=")[2] for one in push_topics[:2])
    words = [*push_topics, subscription]
    conf = {"error_cb": lambda _error: None, "log_level": 0}

    def wait_for_telemetry(producer, count):
        deadline = time.monotonic() + DEADLINE_S
        while len(read_topic(kafka, telemetry)) < count:
            producer.poll(0.2)
            assert time.monotonic() < deadline

    with running_bridge(kafka, tmp_path / "log", *words) as (_, host, port):
        producer = clients.Producer(conf | {"bootstrap.servers": f"{host}:{port}"})
        wait_for_telemetry(producer, 1)
    before = len(read_topic(kafka, telemetry))
    again = f"bridge.listen_port={port}"
    with running_bridge(kafka, tmp_path / "log", *words, again):
        wait_for_telemetry(producer, before + 1)
        records = read_topic(kafka, configs)
    assert [one.key().decode() for one in records] == [producer.client_instance_id()]


def test_the_keys_that_are_allowed_replace_the_defaults_and_are_not_pushed_themselves(
    kafka, push_topics, tmp_path, push_log
):
    logger, told = push_log
    allowed = "linger.ms,sasl.password,ssl.key.password,client.id"
    with running_bridge(kafka, tmp_path / "log", *push_topics) as (_, host, port):
        conf = {"bootstrap.servers": f"{host}:{port}", "logger": logger}
        prepare(PRODUCER, conf, **{"config.push.allowed.keys": allowed})
        # Where all of it is sensitive, not even an empty list is sent.
        prepare(PRODUCER, conf, **{"config.push.allowed.keys": "sasl.password"})
        (record,) = read_topic(kafka, push_topics[1].partition("=")[2])
    assert record.value() == push_body(
        entry("linger.ms", "5", "LONG", is_default=True),
        entry("client.id", "rdkafka", is_default=True),
    )
    assert sum("sasl.password is sensitive" in one for one in told) == 2
    assert sum("ssl.key.password is sensitive" in one for one in told) == 1
    assert len(told) == 3
