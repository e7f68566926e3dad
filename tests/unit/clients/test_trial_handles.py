"""What confluent_kafka refuses is not pushed, and raised in its own words."""

import asyncio

import confluent_kafka
import pytest

from pipelines import clients
from pipelines.clients import admin, aio
from pipelines.clients.key_lists import CLIENT_TYPES, CONSUMER, PRODUCER
from pipelines.clients.trial_handles import is_taken
from tests.unit.clients.scripted_node import PUSH_CONFIG, ScriptedNode

GROUP = {"group.id": "g"}
REFUSED = {
    "an unknown key": (clients.Producer, {"bogus.key": 1}),
    "a value that is none": (clients.Producer, {"acks": "many"}),
    "values that do not fit": (clients.Producer, {"enable.idempotence": True, "acks": 1}),
    "a callback that is none": (clients.Producer, {"error_cb": 7}),
    "no group": (clients.Consumer, {}),
    "no group to share": (clients.ShareConsumer, {}),
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


def test_a_trial_calls_nobody_and_says_nothing(capfd):
    """Nor does it look for servers, plugins or trust."""
    called = []

    def call(*words):
        called.append(words)

    callbacks = dict.fromkeys(
        ("error_cb", "stats_cb", "throttle_cb", "oauth_cb", "on_delivery"), call
    )
    conf = callbacks | {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "statistics.interval.ms": 1,
        "debug": "all",
        "transactional.id": "t",
        "plugin.library.paths": "none-such",
        "ssl.ca.location": "/none",
        "key.serializer": call,
        "value.serializer": call,
    }
    assert is_taken(PRODUCER, conf)
    assert is_taken(CONSUMER, GROUP | {"on_commit": call, "value.deserializer": call})
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


def test_a_serializing_producer_with_serializers_pushes():
    def serialize(value, _context):
        return value

    quiet = {
        "error_cb": lambda _error: None,
        "log_level": 0,
        "enable.metrics.push": False,
    }
    with ScriptedNode() as node:
        conf = {"bootstrap.servers": node.server, "value.serializer": serialize}
        clients.SerializingProducer(conf | quiet)
        assert PUSH_CONFIG in node.seen
