"""Real librdkafka clients push through the bridge into a real Kafka."""

import asyncio
import logging
import time
import uuid

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, ConfigResource

from pipelines.bridge.server import BridgeServer
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from tests.support.bridge.config_support import read_topic
from tests.support.kafka.topics import find_partitions

CLIENTS = ("producer-1", "consumer-1")
PUSHES = 2
DEADLINE_S = 180
HEADERS = {
    "client_instance_id", "client_id", "client_software_name",
    "client_software_version", "principal", "listener", "client_source_address",
    "client_source_port", "bridge_id", "received_at_ms", "push_id", "subscription_id",
    "push_interval_ms", "compression_type", "terminating",
}  # fmt: skip


def make_settings(kafka, topic):
    subscription = '{name="s",metrics=["*"],interval_ms=500,match=[]}'
    return load_settings(
        "local",
        [
            f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
            f"topics.telemetry={topic}",
            "topics.partitions=3",
            "topics.retention_ms=3600000",
            "bridge.listen_port=0",
            "bridge.bridge_id=bridge-9",
            f"subscriptions=[{subscription}]",
        ],
    )


def use_clients(endpoint, server):
    """Poll a producer and a group consumer until both have pushed, then close them."""
    quiet = logging.getLogger("test.clients")
    quiet.setLevel(logging.CRITICAL)
    base = {"bootstrap.servers": endpoint, "error_cb": lambda _error: None}
    producer = Producer({**base, "client.id": CLIENTS[0]}, logger=quiet)
    # Nobody coordinates groups here: the consumer's errors are expected.
    consumer = Consumer(
        {**base, "client.id": CLIENTS[1], "group.id": "g"}, logger=quiet
    )
    consumer.subscribe(["nothing"])
    deadline = time.monotonic() + DEADLINE_S
    wanted = 2 * PUSHES * len(CLIENTS)
    while server.counters.accepted_pushes < wanted and time.monotonic() < deadline:
        producer.poll(0.05)
        consumer.poll(0.05)
    consumer.close()
    producer.flush(1)


@pytest.fixture(scope="module")
def topic():
    return f"telemetry-{uuid.uuid4()}"


@pytest.fixture(scope="module")
def pushed(kafka, topic):
    """Run clients against a bridge; yield what it counted and what Kafka has."""

    async def run():
        server = BridgeServer(make_settings(kafka, topic), SecretReader(environ={}))
        stop, endpoint = asyncio.Event(), asyncio.get_running_loop().create_future()

        def on_ready(host, port):
            endpoint.set_result(f"{host}:{port}")

        async with asyncio.TaskGroup() as group:
            group.create_task(server.serve(stop, on_ready))
            await asyncio.to_thread(use_clients, await endpoint, server)
            stop.set()
        return server.counters

    return asyncio.run(run()), read_topic(kafka, topic)


def test_accepted_pushes_are_the_records_of_the_topic(pushed):
    counters, records = pushed
    assert len(records) == counters.accepted_pushes > 0
    push_ids = {dict(record.headers())["push_id"] for record in records}
    assert len(push_ids) == len(records)
    assert counters.publish_timeouts == counters.publish_failures == 0
    assert counters.malformed_requests == counters.unsupported_requests == 0


def test_every_record_has_every_header(pushed):
    for record in pushed[1]:
        names = [name for name, _ in record.headers()]
        # A bridge that has not heard from its cluster yet goes on without its id.
        assert set(names) - {"cluster_id"} == HEADERS
        assert len(names) == len(set(names))
        headers = {name: value.decode() for name, value in record.headers()}
        assert headers["client_id"] in CLIENTS
        assert headers["client_software_name"] == "confluent-kafka-python"
        assert "rdkafka" in headers["client_software_version"]
        assert headers["principal"] == "User:ANONYMOUS"
        assert headers["client_source_address"] == "127.0.0.1"
        assert headers["bridge_id"] == "bridge-9"
        assert headers["compression_type"] == "zstd"
        assert headers["push_interval_ms"] == "500"
        assert headers["client_instance_id"] == record.key().decode()
        assert int(headers["received_at_ms"]) == record.timestamp()[1]
        assert record.value()[:4] == b"\x28\xb5\x2f\xfd"  # a zstd frame


def test_each_client_keeps_its_instance_and_its_partition(pushed):
    seen = {
        (dict(record.headers())["client_id"].decode(), record.key(), record.partition())
        for record in pushed[1]
    }
    assert sorted(client_id for client_id, _, _ in seen) == sorted(CLIENTS)


def test_created_topic_is_as_the_settings_say(pushed, kafka, topic):
    assert pushed[1]
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    assert len(find_partitions(admin, topic)) == 3
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    config = admin.describe_configs([resource])[resource].result()
    assert config["retention.ms"].value == "3600000"
    assert int(config["max.message.bytes"].value) > 1_048_576
