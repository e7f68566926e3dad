"""Clients of the package, and the bridge in this process."""

import asyncio
import logging
import threading
import uuid

import confluent_kafka
import pytest

from pipelines import clients
from pipelines.clients.instance_ids import instance_id_text, make_instance_id
from pipelines.clients.key_lists import ADMIN, CONSUMER, PRODUCER
from pipelines.clients.starting import prepare
from tests.unit.bridge.push_config.raw_client import read_record
from tests.unit.clients.scripted_node import SILENT, ScriptedNode, versions

REAL = f"{confluent_kafka.version()}-rdkafka-{confluent_kafka.libversion()[0]}"
SOFTWARE = "client.software.version"


def pushed_keys(record):
    return [key for key, *_ in read_record(record.value)]


def test_the_handle_carries_the_id_that_the_record_has(serving, run, log):
    async def test():
        async with serving() as (bridge, server):
            conf = {"bootstrap.servers": server, "client.id": "a", "logger": log.logger}
            prepared = await asyncio.to_thread(prepare, PRODUCER, conf)
            instance_id = prepared.client_instance_id
            named = {SOFTWARE: f"{REAL}-cid-{instance_id.hex}"}
            assert prepared.conf == conf | named
            headers = bridge.headers()
            assert headers["client_instance_id"] == instance_id_text(instance_id)
            assert headers["client_software_name"] == "confluent-kafka-python"
            assert headers["client_software_version"] == REAL
            assert headers["client_id"] == "a"
            assert len(bridge.records) == 1
            assert log.warnings == []

    run(test)


def test_an_older_bridge_is_told_the_id_in_the_version(serving, run):
    async def test():
        other = "client_config.instance_id_api_version=7"
        async with serving(other) as (bridge, server):
            bootstrap = {"bootstrap.servers": server}
            prepared = await asyncio.to_thread(prepare, ADMIN, bootstrap)
            told = bridge.headers()["client_instance_id"]
            assert told == instance_id_text(prepared.client_instance_id)

    run(test)


def test_keyword_arguments_stand_before_the_dictionary(serving, run):
    async def test():
        async with serving() as (bridge, server):
            conf = {"bootstrap.servers": server, "acks": 1}
            await asyncio.to_thread(lambda: prepare(PRODUCER, conf, acks=0))
            (entry, *_) = read_record(bridge.records[0].value)
            assert entry == ("acks", "0", 1, False)

    run(test)


def test_only_allowed_keys_are_pushed_and_each_sensitive_one_is_warned_of(
    serving, run, log
):
    async def test():
        async with serving() as (bridge, server):
            conf = {
                "bootstrap.servers": server,
                "config.push.allowed.keys": "linger.ms,sasl.password,acks,my.key",
                "sasl.password": "geheim",
                "logger": log.logger,
            }
            prepared = await asyncio.to_thread(prepare, PRODUCER, conf)
            assert pushed_keys(bridge.records[0]) == ["linger.ms", "acks"]
            assert "config.push.allowed.keys" not in prepared.conf
            assert [text.split()[2] for text in log.warnings] == [
                "sasl.password",
                "my.key",
            ]
            assert "geheim" not in str(log.lines)

    run(test)


def test_nothing_is_sent_where_all_is_sensitive(log):
    with ScriptedNode() as node:
        allowed = {
            "config.push.allowed.keys": "ssl.key.password",
            "enable.dynamic.configs": "false",
        }
        conf = {"bootstrap.servers": node.server, "logger": log.logger}
        prepared = prepare(CONSUMER, conf | allowed)
        assert (prepared.conf, prepared.client_instance_id) == (conf, None)
        assert (len(log.warnings), node.connections) == (1, 0)


def test_a_client_that_does_not_want_it_connects_to_nobody(log):
    with ScriptedNode() as node:
        conf = {"bootstrap.servers": node.server, "logger": log.logger}
        unwanted = {"enable.config.push": "false", "enable.dynamic.configs": "false"}
        prepared = prepare(CONSUMER, conf, **unwanted)
        assert (prepared.conf, prepared.client_instance_id) == (conf, None)
        assert (log.lines, node.connections) == ([], 0)


def test_a_cluster_that_does_not_know_it_is_no_fault(log):
    with ScriptedNode(versions=[versions(serves=False)]) as node:
        conf = {"bootstrap.servers": node.server, "logger": log.logger}
        prepared = prepare(PRODUCER, conf)
        assert (prepared.conf, prepared.client_instance_id) == (conf, None)
        assert log.warnings == []


def test_a_fault_is_told_once_and_has_no_effect(log):
    with ScriptedNode(versions=[SILENT]) as node:
        conf = {"bootstrap.servers": node.server, "logger": log.logger}
        prepared = prepare(PRODUCER, conf, **{"default.api.timeout.ms": 200})
        assert prepared.conf == conf
    (warning,) = log.warnings
    assert warning.startswith("configuration push: failed: not done in")


def test_a_callback_that_never_answers_is_not_waited_for(serving, run, log):
    """Whatever is slow, the application waits no longer than it said."""
    end = threading.Event()

    def callback(_config):
        end.wait(20)
        return "t", 0

    async def test():
        async with serving() as (_, server):
            conf = {
                "bootstrap.servers": server,
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "OAUTHBEARER",
                "oauth_cb": callback,
                "default.api.timeout.ms": 300,
                "logger": log.logger,
            }
            prepared = await asyncio.to_thread(prepare, PRODUCER, conf)
            end.set()
            assert prepared.client_instance_id is not None or log.warnings
            (warning,) = log.warnings
            assert "configuration push: failed" in warning

    run(test)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"security.protocol": "sasl_ssl", "sasl.mechanism": "GSSAPI"},
        {"security.protocol": "ssl", "ssl.ca.location": "/no/such/file"},
        {"security.protocol": "ssl", "ssl.keystore.location": "/k.p12"},
        {"security.protocol": "none"},
        {"retry.backoff.ms": "soon"},
    ],
)
def test_what_cannot_be_used_is_told_and_nobody_is_asked(more, log):
    servers = {"bootstrap.servers": "127.0.0.1:1"} if more else {}
    prepared = prepare(PRODUCER, servers | more, logger=log.logger)
    assert prepared.client_instance_id is None
    (warning,) = log.warnings
    assert warning.startswith("configuration push: not done, since ")


ODD = {
    "a host that cannot be one": {"bootstrap.servers": f"{'a' * 70}:1"},
    "a client id that fits no request": {"client.id": "a" * 40_000},
    "a text that is no path": {"security.protocol": "ssl", "ssl.ca.location": "\0"},
    "a number that is none": {"queue.buffering.max.kbytes": "many"},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_no_config_breaks_the_client_by_its_push(odd, log):
    """What librdkafka does not take, it refuses itself."""
    with ScriptedNode() as node:
        conf = {"bootstrap.servers": node.server, "default.api.timeout.ms": 500}
        prepare(PRODUCER, conf | odd, logger=log.logger)
    assert len(log.warnings) == 1


def test_a_config_of_the_push_that_cannot_be_is_an_error_of_the_client():
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        clients.Producer({"enable.config.push": "maybe"})
    error = raised.value.args[0]
    assert error.code() == confluent_kafka.KafkaError._INVALID_ARG
    assert "enable.config.push" in error.str()


@pytest.mark.parametrize("given", [("text",), ({}, {})])
def test_what_is_no_dictionary_is_a_type_error(given):
    with pytest.raises(TypeError, match="expected configuration dict"):
        clients.Producer(*given)


def test_a_client_whose_cluster_does_not_know_it_has_no_id():
    quiet = logging.Logger("quiet")  # noqa: LOG001 - of this test only
    producer = clients.Producer(
        {"enable.config.push": False, "log_level": 0}, logger=quiet
    )
    with pytest.raises(confluent_kafka.IllegalStateException):
        producer.client_instance_id(1.0)


def test_an_id_has_the_text_that_kafka_prints():
    one = uuid.UUID("b69cc35a-7a54-4790-aa69-cc2bd4ee4538")
    assert instance_id_text(one) == "tpzDWnpUR5Cqacwr1O5FOA"
    assert make_instance_id().version == 4
