"""The client library against the bridge's own process and a real Kafka."""

import asyncio

import confluent_kafka
import confluent_kafka.admin
import confluent_kafka.aio

from pipelines import clients
from pipelines.clients import admin, aio
from pipelines.clients.key_lists import (
    ADMIN,
    CONSUMER,
    DEFAULT_KEYS,
    PRODUCER,
    SHARE_CONSUMER,
)
from tests.support.bridge.config_support import read_topic, running_bridge
from tests.support.documents import find_block
from tests.unit.bridge.push_config.raw_client import read_record

KINDS = {
    "Producer": (clients.Producer, confluent_kafka.Producer, PRODUCER),
    "SerializingProducer": (
        clients.SerializingProducer,
        confluent_kafka.SerializingProducer,
        PRODUCER,
    ),
    "Consumer": (clients.Consumer, confluent_kafka.Consumer, CONSUMER),
    "DeserializingConsumer": (
        clients.DeserializingConsumer,
        confluent_kafka.DeserializingConsumer,
        CONSUMER,
    ),
    "ShareConsumer": (
        clients.ShareConsumer,
        confluent_kafka.ShareConsumer,
        SHARE_CONSUMER,
    ),
    "DeserializingShareConsumer": (
        clients.DeserializingShareConsumer,
        confluent_kafka.DeserializingShareConsumer,
        SHARE_CONSUMER,
    ),
    "AdminClient": (admin.AdminClient, confluent_kafka.admin.AdminClient, ADMIN),
}
ASYNC_KINDS = {
    "AIOProducer": (aio.AIOProducer, confluent_kafka.aio.AIOProducer, PRODUCER),
    "AIOConsumer": (aio.AIOConsumer, confluent_kafka.aio.AIOConsumer, CONSUMER),
    "AsyncSerializingProducer": (aio.AsyncSerializingProducer, confluent_kafka.aio.AsyncSerializingProducer, PRODUCER),
    "AsyncDeserializingConsumer": (aio.AsyncDeserializingConsumer, confluent_kafka.aio.AsyncDeserializingConsumer, CONSUMER),
}  # fmt: skip
# librdkafka has no such property.
MISSING = {"share.acquire.mode"}


def topic_of(push_topics, place):
    return push_topics[place].partition("=")[2]


def conf_for(client_type, host, port, **more):
    conf = {
        "bootstrap.servers": f"{host}:{port}",
        "client.id": "app-7",
        "enable.metrics.push": False,
        "error_cb": lambda _error: None,
        "log_level": 0,
    } | more
    if client_type in {CONSUMER, SHARE_CONSUMER}:
        conf["group.id"] = "team"
    return conf


def read_pushes(kafka, push_topics):
    """Return client instance id to what it pushed."""
    return {
        record.key().decode(): {
            key: (value, is_default)
            for key, value, _, is_default in read_record(record.value())
        }
        for record in read_topic(kafka, topic_of(push_topics, 1))
    }


def test_each_type_of_client_pushes_its_keys_before_it_is_there(
    kafka, push_topics, tmp_path
):
    with running_bridge(kafka, tmp_path / "log", *push_topics) as (_, host, port):
        made = {}
        for name, (kind, upstream, client_type) in KINDS.items():
            client = kind(conf_for(client_type, host, port))
            assert isinstance(client, upstream)
            made[name] = client.client_instance_id()
            if hasattr(client, "close"):
                client.close()
        pushes = read_pushes(kafka, push_topics)
    assert pushes.keys() == set(made.values())
    for name, (_, _, client_type) in KINDS.items():
        pushed = pushes[made[name]]
        assert list(pushed) == [
            key for key in DEFAULT_KEYS[client_type] if key not in MISSING
        ]
        assert pushed["client.id"] == ("app-7", False)


def test_the_example_of_its_page_pushes(kafka, push_topics, tmp_path, capsys):
    example = find_block("docs/guide/client-library.md", "import").text
    example = example.replace("kafka_clientele", "pipelines.clients")
    with running_bridge(kafka, tmp_path / "log", *push_topics) as (_, host, port):
        exec(example.replace("127.0.0.1:9192", f"{host}:{port}"), {})  # noqa: S102 - the page's
        pushes = read_pushes(kafka, push_topics)
    (pushed,) = pushes.values()
    assert pushes.keys() == {capsys.readouterr().out.strip()}
    assert pushed["acks"] == ("all", False)


def test_each_asyncio_client_pushes_its_keys_before_it_is_there(
    kafka, push_topics, tmp_path
):
    made = {}

    async def run(host, port):
        for name, (kind, upstream, client_type) in ASYNC_KINDS.items():
            conf = conf_for(client_type, host, port)
            del conf["error_cb"]
            client = kind(conf)
            if asyncio.iscoroutine(client):
                client = await client
            assert isinstance(client, upstream)
            made[name] = client.client_instance_id()
            await client.close()
        created = await aio.AIOProducer.create(conf_for(PRODUCER, host, port))
        made["created"] = created.client_instance_id()
        await created.close()

    with running_bridge(kafka, tmp_path / "log", *push_topics) as (_, host, port):
        asyncio.run(run(host, port))
        pushes = read_pushes(kafka, push_topics)
    assert pushes.keys() == set(made.values())
    for name, (_, _, client_type) in ASYNC_KINDS.items():
        assert set(pushes[made[name]]) == set(DEFAULT_KEYS[client_type]) - MISSING
