import pytest

from pipelines.clients.configs_in_force import ConfigInForce, LibrdkafkaConfigs
from pipelines.clients.key_lists import (
    ADMIN,
    CLIENT_TYPES,
    CONSUMER,
    DEFAULT_KEYS,
    PRODUCER,
    SHARE_CONSUMER,
)
from pipelines.clients.own_configs import OWN_CONFIGS
from pipelines.commands.push_config import CLIENT_TYPES as COMMANDS_CLIENT_TYPES

MISSING = {(SHARE_CONSUMER, "share.acquire.mode")}
"""librdkafka has no such property."""


def configs(client_type, **given):
    dotted = {name.replace("_", "."): value for name, value in given.items()}
    return LibrdkafkaConfigs(client_type, dotted, OWN_CONFIGS)


def find(client_type, key, **given):
    found = configs(client_type, **given).find_config(key)
    return found and (found.config_value, found.type_name, found.is_default)


CASES = [
    (PRODUCER, "acks", {}, ("all", "STRING", True)),
    (PRODUCER, "acks", {"acks": "all"}, ("all", "STRING", False)),
    (PRODUCER, "acks", {"request_required_acks": 1}, ("1", "STRING", False)),
    (PRODUCER, "acks", {"acks": None}, ("all", "STRING", True)),
    (PRODUCER, "acks", {"default_topic_config": {"acks": 0}}, ("0", "STRING", False)),
    (PRODUCER, "acks", {"acks": 1, "default_topic_config": {"acks": 0}}, ("0", "STRING", False)),
    (PRODUCER, "acks", {"default_topic_config": {"acks": 0}, "request_required_acks": 1}, ("0", "STRING", False)),
    (PRODUCER, "acks", {"acks": 1, "default_topic_config": {"acks": ""}}, ("all", "STRING", True)),
    (PRODUCER, "acks", {"acks": "ALL"}, ("all", "STRING", False)),
    (PRODUCER, "client.id", {"client_id": ""}, ("rdkafka", "STRING", True)),
    (PRODUCER, "client.id", {"client_id": " a "}, ("a ", "STRING", False)),
    (PRODUCER, "default.api.timeout.ms", {"default_api_timeout_ms": " 007 "}, ("7", "INT", False)),
    (PRODUCER, "enable.config.push", {"enable_config_push": " T "}, ("true", "BOOLEAN", False)),
    (PRODUCER, "linger.ms", {"delivery_timeout_ms": 3}, ("2.9", "DOUBLE", False)),
    (PRODUCER, "buffer.memory", {}, ("1073741824", "LONG", True)),
    (PRODUCER, "buffer.memory", {"queue_buffering_max_kbytes": 2}, ("2048", "LONG", False)),
    (PRODUCER, "linger.ms", {}, ("5", "LONG", True)),
    (PRODUCER, "linger.ms", {"queue_buffering_max_ms": 20.0}, ("20", "LONG", False)),
    (PRODUCER, "linger.ms", {"linger_ms": 0.5}, ("0.5", "DOUBLE", False)),
    (PRODUCER, "compression.type", {}, ("none", "STRING", True)),
    (PRODUCER, "compression.type", {"compression_codec": " zstd"}, ("zstd", "STRING", False)),
    (PRODUCER, "retries", {"message_send_max_retries": 3}, ("3", "INT", False)),
    (PRODUCER, "delivery.timeout.ms", {}, ("300000", "INT", True)),
    (PRODUCER, "enable.idempotency", {}, ("false", "BOOLEAN", True)),
    (PRODUCER, "enable.idempotence", {"enable_idempotence": True}, ("true", "BOOLEAN", False)),
    (PRODUCER, "enable.idempotence", {"enable_idempotence": "T"}, ("true", "BOOLEAN", False)),
    (PRODUCER, "enable.idempotence", {"transactional_id": "t"}, ("true", "BOOLEAN", False)),
    (PRODUCER, "max.in.flight.requests.per.connection", {}, ("1000000", "INT", True)),
    (PRODUCER, "max.in.flight.requests.per.connection", {"enable_idempotence": "true"}, ("5", "INT", False)),
    (PRODUCER, "max.in.flight.requests.per.connection", {"enable_idempotence": "true", "max_in_flight": 2}, ("2", "INT", False)),
    (PRODUCER, "delivery.timeout.ms", {"transactional_id": "t"}, ("60000", "INT", False)),
    (PRODUCER, "delivery.timeout.ms", {"transactional_id": "t", "transaction_timeout_ms": 7000}, ("7000", "INT", False)),
    (PRODUCER, "delivery.timeout.ms", {"transactional_id": "t", "delivery_timeout_ms": 9}, ("9", "INT", False)),
    (PRODUCER, "socket.timeout.ms", {"transactional_id": "t"}, ("59900", "INT", False)),
    (PRODUCER, "socket.timeout.ms", {"transactional_id": "t", "transaction_timeout_ms": 950}, ("900", "INT", False)),
    (PRODUCER, "sticky.partitioning.linger.ms", {}, ("10", "INT", True)),
    (PRODUCER, "sticky.partitioning.linger.ms", {"linger_ms": 20}, ("40", "INT", False)),
    (PRODUCER, "allow.auto.create.topics", {}, ("true", "BOOLEAN", True)),
    (PRODUCER, "metadata.max.age.ms", {}, ("900000", "LONG", True)),
    (PRODUCER, "metadata.max.age.ms", {"topic_metadata_refresh_interval_ms": 10}, ("30", "LONG", False)),
    (PRODUCER, "metadata.max.age.ms", {"topic_metadata_refresh_interval_ms": -1}, ("900000", "LONG", True)),
    (PRODUCER, "connections.max.idle.ms", {"bootstrap_servers": "x.Azure.com:1"}, ("230000", "LONG", False)),
    (CONSUMER, "allow.auto.create.topics", {}, ("false", "BOOLEAN", True)),
    (CONSUMER, "fetch.max.bytes", {}, ("52428800", "INT", True)),
    (CONSUMER, "fetch.max.bytes", {"queued_max_messages_kbytes": 1024}, ("1048576", "INT", False)),
    (CONSUMER, "topic.metadata.refresh.fast.interval.ms", {"retry_backoff_ms": 7}, ("7", "INT", False)),
    (PRODUCER, "request.timeout.ms", {}, ("30000", "INT", True)),
    (PRODUCER, "group.id", {}, None),
    (PRODUCER, "max.block.ms", {}, None),
    (PRODUCER, "of.my.own", {"of_my_own": "x"}, None),
    (CONSUMER, "auto.offset.reset", {}, ("latest", "STRING", True)),
    (CONSUMER, "auto.offset.reset", {"auto_offset_reset": "beginning"}, ("earliest", "STRING", False)),
    (CONSUMER, "enable.auto.commit", {"enable_auto_commit": False}, ("false", "BOOLEAN", False)),
    (CONSUMER, "fetch.max.wait.ms", {"fetch_wait_max_ms": 9}, ("9", "INT", False)),
    (CONSUMER, "group.id", {"group_id": "g"}, ("g", "STRING", False)),
    (CONSUMER, "isolation.level", {}, ("read_committed", "STRING", True)),
    (CONSUMER, "request.timeout.ms", {}, ("60000", "INT", True)),
    (CONSUMER, "enable.idempotence", {}, None),
    (SHARE_CONSUMER, "share.acknowledgement.mode", {}, ("implicit", "STRING", True)),
    (ADMIN, "request.timeout.ms", {}, ("60000", "INT", True)),
    (ADMIN, "request.timeout.ms", {"socket_timeout_ms": 10}, ("10", "INT", False)),
    (ADMIN, "default.api.timeout.ms", {}, ("5000", "INT", True)),
    (ADMIN, "default.api.timeout.ms", {"default_api_timeout_ms": "7"}, ("7", "INT", False)),
    (ADMIN, "bootstrap.servers", {"metadata_broker_list": "a:1,b"}, ("a:1,b", "LIST", False)),
    (ADMIN, "config.push.allowed.keys", {"config_push_allowed_keys": ["a", "b"]}, ("a,b", "LIST", False)),
    (ADMIN, "enable.config.push", {}, ("true", "BOOLEAN", True)),
]  # fmt: skip


@pytest.mark.parametrize(("client_type", "key", "given", "expected"), CASES)
def test_a_config_is_the_one_in_force(client_type, key, given, expected):
    assert find(client_type, key, **given) == expected


@pytest.mark.parametrize("client_type", CLIENT_TYPES)
def test_each_default_key_has_a_value_but_those_that_librdkafka_lacks(client_type):
    made = configs(client_type)
    lacking = {
        (client_type, key)
        for key in DEFAULT_KEYS[client_type]
        if made.find_config(key) is None
    }
    assert lacking <= MISSING


def test_the_lists_are_as_long_as_those_of_the_proposal():
    sizes = {kind: len(keys) for kind, keys in DEFAULT_KEYS.items()}
    assert sizes == {PRODUCER: 11, CONSUMER: 10, SHARE_CONSUMER: 8, ADMIN: 6}
    assert all("config.push.allowed.keys" not in keys for keys in DEFAULT_KEYS.values())


def test_the_command_has_the_same_types_of_clients():
    assert COMMANDS_CLIENT_TYPES == CLIENT_TYPES


def test_properties_are_found_by_librdkafkas_names_too():
    made = configs(PRODUCER, sasl_mechanism="PLAIN", bootstrap_servers="a:1")
    assert made.find("sasl.mechanisms") == "PLAIN"
    assert made.find("metadata.broker.list") == "a:1"
    assert made.find("security.protocol") == "plaintext"
    assert made.find("no.such.property") == ""


def test_callbacks_and_objects_are_no_values():
    made = LibrdkafkaConfigs(PRODUCER, {"error_cb": print}, OWN_CONFIGS)
    assert made.find("error_cb") == ""


def test_a_config_does_not_print_its_value():
    shown = ConfigInForce(config_value="secret", type_name="STRING", is_default=False)
    assert "secret" not in repr(shown)
