import pytest

from pipelines.clients.catalogs import load_rules
from pipelines.clients.configs_in_force import LibrdkafkaConfigs
from pipelines.clients.key_lists import DEFAULT_KEYS, PRODUCER
from pipelines.clients.own_configs import (
    OWN_CONFIGS,
    InvalidOwnConfig,
    leave_out_own_configs,
    read_own_configs,
)
from pipelines.clients.push_messages import ConfigEntry
from pipelines.clients.pushed_entries import choose_entries
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from udfs.cluster.published_records import BROKER_SOFTWARE

CANARY = "canary-4711"


def choose(*keys, **given):
    conf = {name.replace("_", "."): value for name, value in given.items()}
    return choose_entries(
        keys or DEFAULT_KEYS[PRODUCER],
        LibrdkafkaConfigs(PRODUCER, conf, OWN_CONFIGS).find_config,
        rules=load_rules(),
        software_name="confluent-kafka-python",
        is_default_list=not keys,
    )


def test_a_producer_pushes_its_default_keys_with_types_and_flags():
    chosen = choose(acks="1", linger_ms=20)
    assert chosen.warnings == ()
    assert chosen.entries == (
        ConfigEntry("acks", "1", 1, False),
        ConfigEntry("batch.size", "1000000", 2, True),
        ConfigEntry("buffer.memory", "1073741824", 4, True),
        ConfigEntry("client.id", "rdkafka", 1, True),
        ConfigEntry("compression.type", "none", 1, True),
        ConfigEntry("delivery.timeout.ms", "300000", 2, True),
        ConfigEntry("enable.idempotence", "false", 0, True),
        ConfigEntry("linger.ms", "20", 4, False),
        ConfigEntry("max.in.flight.requests.per.connection", "1000000", 2, True),
        ConfigEntry("request.timeout.ms", "30000", 2, True),
        ConfigEntry("retries", "2147483647", 2, True),
    )


SENSITIVE = [
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "ssl.key.password",
    "ssl_key",
    "SSL.Key.PEM",
    "my.sasl.jaas.config",
    "a.security.b",
    "x.ssl.y",
    "key.serializer",
    "interceptor.classes",
    "partitioner.class",
    "schema.registry.url",
    "com.acme.token",
]


@pytest.mark.parametrize("key", SENSITIVE)
def test_a_sensitive_key_is_warned_of_once_and_not_pushed(key):
    chosen = choose("acks", key, key, **{key.replace(".", "_"): CANARY})
    assert [one.config_key for one in chosen.entries] == ["acks"]
    (warning,) = chosen.warnings
    assert "is sensitive" in warning
    assert CANARY not in warning


def test_types_are_counted_as_the_bridge_counts_them():
    conf = LibrdkafkaConfigs(PRODUCER, {}, OWN_CONFIGS)
    counted = choose_entries(
        ["acks"],
        conf.find_config,
        rules=load_rules(),
        software_name="librdkafka",
        is_default_list=False,
        first_config_type_id=1,
    )
    assert counted.entries == (ConfigEntry("acks", "all", 2, True),)


def test_nothing_is_left_where_all_is_sensitive():
    assert choose("sasl.password", "ssl.key.password").entries == ()


def test_a_text_in_the_place_of_a_key_is_not_told():
    (warning,) = choose("password=geheim 4711").warnings
    assert warning.startswith("(no name) ")


def test_keys_of_other_clients_are_no_configs_of_this_one():
    chosen = choose("max.block.ms", "group.id", "linger.ms")
    assert [one.config_key for one in chosen.entries] == ["linger.ms"]
    assert [text.split()[0] for text in chosen.warnings] == ["max.block.ms", "group.id"]


def test_the_allowed_keys_themselves_are_pushed_where_they_are_listed():
    listed = "acks,config.push.allowed.keys"
    chosen = choose(*listed.split(","), config_push_allowed_keys=listed)
    assert chosen.entries[1] == ConfigEntry(
        "config.push.allowed.keys", listed, 6, False
    )
    assert "config.push.allowed.keys" not in [
        one.config_key for one in choose().entries
    ]


def test_the_rules_for_keys_are_those_of_the_bridge():
    settings = load_settings("base").sensitive_keys
    there = make_sensitive_key_rules(settings, load_config_catalogs())
    here = load_rules()
    assert list(map(str, here._made_from[0])) == [
        str(one).replace(type(one).__name__, "SensitiveKeyRule")
        for one in there._made_from[0]
        if not one.value_patterns
    ]
    assert there._catalogs.keys() - here._catalogs.keys() == {BROKER_SOFTWARE}
    assert here._catalogs.items() <= there._catalogs.items()


OWN = [
    ({}, (True, None, 10_071, 5_000)),
    ({"enable.config.push": None, "config.push.allowed.keys": None}, (True, None, 10_071, 5_000)),
    ({"enable.config.push": False}, (False, None, 10_071, 5_000)),
    ({"enable.config.push": " FALSE "}, (False, None, 10_071, 5_000)),
    ({"config.push.allowed.keys": " acks, , retries"}, (True, ("acks", "retries"), 10_071, 5_000)),
    ({"config.push.allowed.keys": ["acks"]}, (True, ("acks",), 10_071, 5_000)),
    ({"config.push.allowed.keys": " , "}, (True, None, 10_071, 5_000)),
    ({"config.push.api.key": "200", "default.api.timeout.ms": 0}, (True, None, 200, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), OWN)
def test_the_configs_of_the_push_are_read(given, expected):
    own = read_own_configs(given)
    assert (own.is_enabled, own.allowed_keys, own.api_key, own.timeout_ms) == expected


@pytest.mark.parametrize(
    "given",
    [
        {"enable.config.push": "maybe"},
        {"default.api.timeout.ms": -1},
        {"default.api.timeout.ms": "5s"},
        {"config.push.api.key": 40_000},
        {"config.push.first.config.type.id": 2},
        {"config.push.allowed.keys": 5},
    ],
)
def test_a_config_of_the_push_that_cannot_be_is_named(given):
    with pytest.raises(InvalidOwnConfig, match=next(iter(given))):
        read_own_configs(given)


def test_librdkafka_is_not_given_what_it_does_not_know():
    given = {"acks": 1, "enable.config.push": True, "default.api.timeout.ms": 1}
    assert leave_out_own_configs(given) == {"acks": 1}
