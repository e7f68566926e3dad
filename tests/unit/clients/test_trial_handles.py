"""What confluent_kafka refuses is not pushed, and raised in its own words."""

import asyncio

import confluent_kafka
import pytest

from pipelines import clients
from pipelines.clients import admin, aio
from pipelines.clients.key_lists import CLIENT_TYPES, CONSUMER, PRODUCER
from pipelines.clients.trial_handles import DESERIALIZERS, SERIALIZERS, is_taken
from tests.unit.clients.scripted_node import (
    HANG_UP,
    PUSH_CONFIG,
    ScriptedNode,
    versions,
)

GROUP = {"group.id": "g"}
REFUSED = {
    "an unknown key": (clients.Producer, {"bogus.key": 1}),
    "a value that is none": (clients.Producer, {"acks": "many"}),
    "values that do not fit": (clients.Producer, {"enable.idempotence": True, "acks": 1}),
    "a callback that is none": (clients.Producer, {"error_cb": 7}),
    "no group": (clients.Consumer, {}),
    "no group to share": (clients.ShareConsumer, {}),
    "serializers that nobody takes": (clients.Producer, {"key.serializer": str}),
    "a builder that nobody takes": (
        clients.DeserializingShareConsumer, GROUP | {"key.deserializer.builder": str}),
    "a consumer's callback": (clients.Producer, {"on_commit": print}),
    "a producer's callback": (clients.Consumer, GROUP | {"on_delivery": print}),
    "of a serializing producer": (clients.SerializingProducer, {"linger.ms": "x"}),
    "of a deserializing consumer": (clients.DeserializingConsumer, {}),
    "of an admin client": (admin.AdminClient, {"retries": -1}),
    "of an asyncio producer": (aio.AIOProducer, {"batch.size": 0}),
    "of an asyncio consumer": (aio.AIOConsumer, {}),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "conf"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_not_pushed(kind, conf, log):
    async def make(whole):
        kind(whole)

    with ScriptedNode() as node:
        whole = {"bootstrap.servers": node.server, "logger": log.logger} | conf
        with pytest.raises((confluent_kafka.KafkaException, ValueError, TypeError)):
            asyncio.run(make(whole))
        assert node.connections == 0
    (warning,) = log.warnings
    assert warning.endswith("confluent_kafka does not take the configuration")


def give_token(_config):
    raise AssertionError("a token is asked for")


LOGINS = {
    "PLAIN without a name": {"sasl.mechanism": "PLAIN", "sasl.password": "p"},
    "PLAIN without a password": {"sasl.mechanism": "PLAIN", "sasl.username": "u"},
    "SCRAM with an empty name": {
        "sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "", "sasl.password": "p"},
    "tokens of two kinds": {
        "sasl.mechanism": "OAUTHBEARER", "oauth_cb": give_token,
        "enable.sasl.oauthbearer.unsecure.jwt": True},
}  # fmt: skip


@pytest.mark.parametrize("conf", LOGINS.values(), ids=LOGINS)
def test_a_login_that_librdkafka_refuses_is_not_tried(conf, log):
    with ScriptedNode() as node:
        whole = {"bootstrap.servers": node.server, "logger": log.logger}
        with pytest.raises(confluent_kafka.KafkaException):
            clients.Producer(whole | conf | {"security.protocol": "sasl_plaintext"})
        assert node.connections == 0
    (warning,) = log.warnings
    assert warning.startswith("configuration push: not done, since ")


def test_a_trial_calls_nobody_and_says_nothing(capfd):
    """Nor does it look for servers, plugins or trust."""
    called = []

    def call(*words):
        called.append(words)

    callbacks = dict.fromkeys(("error_cb", "stats_cb", "throttle_cb", "oauth_cb"), call)
    conf = callbacks | {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "statistics.interval.ms": 1,
        "debug": "all",
        "ssl.ca.location": "/none",
    }
    produced = {"on_delivery": call, "transactional.id": "t", "key.serializer": call}
    assert is_taken(PRODUCER, conf | produced, SERIALIZERS)
    consumed = GROUP | {"on_commit": call, "value.deserializer": call}
    assert is_taken(CONSUMER, conf | consumed, DESERIALIZERS)
    assert called == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("client_type", CLIENT_TYPES)
def test_what_each_client_needs_is_taken(client_type):
    needed = GROUP if "consumer" in client_type else {}
    assert is_taken(client_type, needed)
    assert is_taken(client_type, needed | {"default.topic.config": {"acks": 1}}) or (
        client_type == "share-consumer"
    )
    assert not is_taken(client_type, needed | {"default.topic.config": {"acks": "x"}})


def serialize(value, _context):
    return value


class Builder:
    """Builds a function, and takes a property of its own out of the configuration."""

    def build(self, conf, _is_key):
        conf.pop("only.the.builder.knows", None)
        return serialize, conf


class AsyncBuilder(Builder):
    """The same, for a client that awaits it."""

    async def build(self, conf, is_key):
        return super().build(conf, is_key)


async def drop(_error):
    """What an asyncio client calls, it awaits."""


QUIET = {"log_level": 0, "enable.metrics.push": False}
OWN = {"only.the.builder.knows": 1}
SERDES = {
    "a serializer": (clients.SerializingProducer, {"value.serializer": serialize}),
    "a builder": (
        clients.SerializingProducer, OWN | {"value.serializer.builder": Builder()}),
    "a builder of keys": (
        clients.SerializingProducer, OWN | {"key.serializer.builder": Builder()}),
    "no builder": (clients.SerializingProducer, {"key.serializer.builder": None}),
    "a builder of deserializers": (
        clients.DeserializingConsumer,
        GROUP | OWN | {"key.deserializer.builder": Builder()}),
    "a deserializer of a share consumer": (
        clients.DeserializingShareConsumer, GROUP | {"key.deserializer": serialize}),
    "a builder with asyncio": (
        aio.AsyncSerializingProducer, OWN | {"key.serializer.builder": AsyncBuilder()}),
    "a builder of deserializers with asyncio": (
        aio.AsyncDeserializingConsumer,
        GROUP | OWN | {"value.deserializer.builder": AsyncBuilder()}),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "conf"), SERDES.values(), ids=SERDES)
def test_a_client_with_what_its_class_takes_out_itself_pushes(kind, conf):
    is_awaited = asyncio.iscoroutinefunction(kind.__init__)
    told = {"error_cb": drop if is_awaited else lambda _error: None}

    async def make(whole):
        made = kind(whole)
        made = await made if asyncio.iscoroutine(made) else made
        closed = made.close()
        if asyncio.iscoroutine(closed):
            await closed

    # The node does not speak with the handle itself, whose Metadata is another one.
    answers = [versions(), versions(), HANG_UP]
    with ScriptedNode(versions=answers) as node:
        asyncio.run(make({"bootstrap.servers": node.server} | conf | QUIET | told))
        assert PUSH_CONFIG in node.seen


def test_properties_of_plugins_do_not_stop_a_push(log):
    """The plugin alone knows them; here there is none, and the handle says so."""
    conf = {"plugin.library.paths": "none-such", "only.the.plugin.knows": 1}
    with ScriptedNode() as node:
        whole = conf | {"bootstrap.servers": node.server, "logger": log.logger}
        with pytest.raises(confluent_kafka.KafkaException, match="none-such"):
            clients.Producer(whole)
        assert PUSH_CONFIG in node.seen
