"""PushConfig against the bridge's own process and a real Kafka."""

import asyncio
import logging
import os
import signal
import time
import uuid

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource

from pipelines.bridge.core.client_identity import uuid_text
from tests.support.bridge.config_support import DEADLINE_S, read_topic, running_bridge
from tests.support.kafka.stopped_processes import stop_process
from tests.support.kafka.topics import find_partitions
from tests.unit.bridge.push_config.raw_client import (
    PushReply,
    connect,
    entry,
    push_body,
    read_record,
)

OK = PushReply(0, 0, None)
ACKS = entry("acks", "all", is_default=True)


@pytest.fixture
def topics():
    name = uuid.uuid4()
    return [f"topics.telemetry=t-{name}", f"topics.configs=c-{name}"]


def topic_of(topics, place):
    return topics[place].partition("=")[2]


def test_a_pushed_configuration_is_in_the_topic_when_it_is_answered(
    kafka, topics, tmp_path
):
    instance_id = uuid.uuid4()

    async def push(host, port):
        client = await connect(host, port)
        served = (await client.say_versions(6, instance_id=instance_id))[1]
        assert (served[10_071], served[18]) == ((0, 0), (0, 6))
        secret = entry("sasl.jaas.config", "canary", "PASSWORD")
        reply = await client.push(ACKS, secret)
        assert reply.error_code == 0
        assert reply.error_message.endswith("sasl.jaas.config (password-type)")
        given = await client.subscribe()
        assert given.instance_id == instance_id
        assert await client.push_telemetry(given) == 0
        client.close()

    with running_bridge(kafka, tmp_path / "log", *topics) as (_, host, port):
        asyncio.run(push(host, port))
        (record,) = read_topic(kafka, topic_of(topics, 1))
    assert record.key().decode() == uuid_text(instance_id)
    assert record.value() == push_body(ACKS, entry("sasl.jaas.config", "", "PASSWORD"))
    headers = {name: value.decode() for name, value in record.headers()}
    assert headers["redacted_keys"] == "sasl.jaas.config"
    assert headers["redactions"] == (
        '{"v":1,"redacted":{"password-type":["sasl.jaas.config"]}}'
    )
    assert int(headers["received_at_ms"]) == record.timestamp()[1]
    # A bridge that has not heard from its cluster yet goes on without its id.
    assert sorted(headers.keys() - {"cluster_id"}) == [
        "bridge_id", "client_id", "client_instance_id", "client_software_name",
        "client_software_version", "client_source_address", "client_source_port",
        "listener", "principal", "push_id", "received_at_ms", "redacted_keys",
        "redactions",
    ]  # fmt: skip
    # Configuration and telemetry of one client share the id.
    (pushed,) = read_topic(kafka, topic_of(topics, 0))
    assert pushed.key() == record.key()
    assert pushed.value() == b"abc"


def test_the_topic_is_created_as_the_settings_say(kafka, topics, tmp_path):
    sizes = ["topics.partitions=2", "topics.retention_ms=3600000"]
    with running_bridge(kafka, tmp_path / "log", *topics, *sizes):
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        name = topic_of(topics, 1)
        assert len(find_partitions(admin, name)) == 2
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        config = admin.describe_configs([resource])[resource].result()
        assert config["retention.ms"].value == "3600000"


def test_a_stock_client_whose_version_carries_an_id_goes_by_it(kafka, topics, tmp_path):
    """What a client library above librdkafka does to share one id with telemetry."""
    instance_id = uuid.uuid4()
    version = f"2.16.1-rdkafka-2.16.0-cid-{instance_id.hex}"
    subscription = 'subscriptions=[{name="s",metrics=["*"],interval_ms=500,match=[]}]'
    quiet = logging.getLogger("test.clients")
    quiet.setLevel(logging.CRITICAL)
    with running_bridge(kafka, tmp_path / "log", *topics, subscription) as (
        _,
        host,
        port,
    ):
        producer = Producer(
            {
                "bootstrap.servers": f"{host}:{port}",
                "client.id": "app-7",
                "client.software.version": version,
                "error_cb": lambda _error: None,
            },
            logger=quiet,
        )
        deadline = time.monotonic() + DEADLINE_S
        while not (records := read_topic(kafka, topic_of(topics, 0))):
            producer.poll(0.2)
            assert time.monotonic() < deadline
    headers = {name: value.decode() for name, value in records[0].headers()}
    assert records[0].key().decode() == uuid_text(instance_id)
    assert headers["client_software_version"] == "2.16.1-rdkafka-2.16.0"
    assert headers["client_id"] == "app-7"


def test_a_policy_with_rules_for_values_works_in_the_command(kafka, topics, tmp_path):
    rules = '{quick="linger.ms <= 100 log", durable="acks in all,-1 reject"}'
    policy = [
        "client_config.policy=pipelines.bridge.push_config.policy.value_rules:ValueRules",
        f"client_config.policy_settings={rules}",
        "client_config.policy_timeout_ms=10000",
    ]

    async def push(host, port):
        client = await connect(host, port)
        await client.say_versions()
        reply = await client.push(
            entry("acks", "1"), entry("linger.ms", "4711", "LONG")
        )
        assert reply == PushReply(0, 40, "acks must be in all,-1 (durable)")
        assert await client.push(ACKS, entry("linger.ms", "4711", "LONG")) == OK
        client.close()

    log_path = tmp_path / "log"
    with running_bridge(kafka, log_path, *topics, *policy) as (_, host, port):
        asyncio.run(push(host, port))
        (record,) = read_topic(kafka, topic_of(topics, 1))
    assert [one[:2] for one in read_record(record.value())] == [
        ("acks", "all"), ("linger.ms", "4711"),
    ]  # fmt: skip
    log = log_path.read_text()
    assert "breaks rule quick on linger.ms" in log
    assert "4711" not in log


def test_a_bad_setting_ends_the_command_with_its_name(kafka, tmp_path):
    bad = "client_config.policy=pipelines.bridge.push_config.policy.value_rules:NoSuchClass"
    with (
        pytest.raises(AssertionError, match=r"client_config\.policy: .*NoSuchClass"),
        running_bridge(kafka, tmp_path / "log", bad),
    ):
        pass


def test_a_kafka_that_does_not_answer_refuses_the_push_as_throttled(
    kafka, topics, tmp_path
):
    async def push(host, port):
        client = await connect(host, port)
        await client.say_versions()
        # The bridge's producer may not have been to Kafka yet.
        while await client.push(ACKS) != OK:
            pass
        (pid,) = kafka.pids.values()
        stop_process(pid)
        try:
            assert await client.push(ACKS) == PushReply(0, 89, None)
        finally:
            os.kill(pid, signal.SIGCONT)
        # The same connection goes on, once Kafka has woken up.
        while (reply := await client.push(ACKS)).error_code:
            assert reply == PushReply(0, 89, None)
        client.close()

    quick = "bridge.publish_timeout_ms=1500"
    with running_bridge(kafka, tmp_path / "log", *topics, quick) as (_, host, port):
        asyncio.run(asyncio.wait_for(push(host, port), DEADLINE_S))
