"""What of a record may be published."""

import csv

import pytest

from pipelines.settings import (
    CONF_PATH,
    load_broker_configs,
    load_config_catalogs,
    load_settings,
)
from pipelines.settings.rules import make_published_rules
from tests.unit.udfs.cluster.golden_records import EXPECTED, golden_records
from udfs.cluster.broker_catalog import NEVER, PASSWORD, judge_name
from udfs.cluster.published_records import publish_record
from udfs.cluster.record_bytes import read_record
from udfs.cluster.record_writing import (
    write_client_quota,
    write_config,
    write_register_broker,
    write_unregister_broker,
)

CATALOG = load_broker_configs()
RULES = make_published_rules(
    load_settings("local").sensitive_keys, load_config_catalogs(), CATALOG
)
BROKER, TOPIC, CLIENT_METRICS, GROUP = 4, 2, 16, 32
CANARY = "correct-horse-battery-staple"
GOLDEN = golden_records()
SECRET_KEYS = [
    name for name in CATALOG if judge_name(name, CATALOG) in (PASSWORD, NEVER)
]


def _config(name, value, resource_type=BROKER, resource_name="1"):
    return publish_record(
        write_config(resource_type, resource_name, name, value), RULES
    )


def _register(configs, **more):
    record = write_register_broker(
        broker_id=1, endpoints=[], rack=None, fenced=False, static_configs=configs
    )
    return publish_record(record, RULES, **more)


def _told(published):
    return {one["name"]: one["value"] for one in published.fields["static_configs"]}


@pytest.mark.parametrize("name", [one for one in EXPECTED if "v5 (framed)" not in one])
def test_a_record_without_secrets_is_published_as_it_is(name):
    published = publish_record(GOLDEN[name], RULES)
    assert published.value == GOLDEN[name]
    assert (published.withheld, published.frame_error) == (0, None)
    assert published.fields == EXPECTED[name][2]


def test_registration_keeps_configs_without_a_validator():
    # broker.rack has no validator, and the proposal's example has it all the same.
    name = "seed003 RegisterBrokerRecord v5 (framed)"
    published = publish_record(GOLDEN[name], RULES)
    assert published.fields == EXPECTED[name][2]
    assert (published.value, published.withheld) == (GOLDEN[name], 0)
    told = _register([("log.dirs", "/data/1,/data/2"), ("ssl.key.password", "x")])
    assert (_told(told), told.withheld) == ({"log.dirs": "/data/1,/data/2"}, 1)
    secret = _register([("log.dirs", "https://user:hunter2@host/")])
    assert (_told(secret), secret.withheld) == ({}, 1)


def test_described_configs_without_a_validator_are_not_counted_as_withheld():
    configs = [("log.dirs", "/data/1"), ("log.segment.bytes", "1"), ("ssl.x", "y")]
    published = _register(configs, is_described=True)
    assert (_told(published), published.withheld) == ({"log.segment.bytes": "1"}, 1)
    assert read_record(published.value).fields == published.fields
    secret = _register([("log.dirs", "//u:hunter2@host/")], is_described=True)
    assert (_told(secret), secret.withheld) == ({}, 1)


@pytest.mark.parametrize(
    "value",
    [
        bytes.fromhex("01140000"),  # NoOp
        b"\x01\x0b\x00" + b"\x06alice" + bytes(20),  # UserScramCredential
        b"\x01\x0a\x00" + bytes(20),  # DelegationToken
        b"\x01\x00\x06" + bytes(60),  # RegisterBroker 6
        GOLDEN["metadata ConfigRecord v0"][:-1],
        GOLDEN["metadata ConfigRecord v0"] + CANARY.encode(),
        b"",
        None,
    ],
)
def test_what_is_not_known_or_not_readable_is_not_published(value):
    published = publish_record(value, RULES)
    assert (published.key, published.value, published.fields) == (None, None, None)
    assert published.frame_error


def test_tagged_fields_that_nobody_knows_are_left_out():
    whole = GOLDEN["metadata ConfigRecord v0"]
    canary = CANARY.encode()
    tagged = whole[:-1] + b"\x01\x09" + bytes([len(canary)]) + canary
    assert publish_record(tagged, RULES).value == whole


@pytest.mark.parametrize("resource_type", [BROKER, TOPIC, GROUP, 8, 99])
@pytest.mark.parametrize("name", SECRET_KEYS)
def test_a_config_of_every_password_and_never_key_has_no_value(name, resource_type):
    published = _config(name, CANARY, resource_type)
    assert published.fields["value"] is None
    assert published.withheld == 1
    assert read_record(published.value).fields == published.fields
    assert CANARY.encode() not in published.value


@pytest.mark.parametrize("name", SECRET_KEYS)
@pytest.mark.parametrize("is_described", [True, False])
def test_no_password_and_no_never_key_is_among_static_configs(name, is_described):
    published = _register([(name, CANARY)], is_described=is_described)
    assert (_told(published), published.withheld) == ({}, 1)


@pytest.mark.parametrize(
    "name",
    [
        "listener.name.internal.ssl.keystore.password",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config",
        "SSL_Key_Password",
        " ssl.keystore.key",
        "my.plugin.api.key",
        "my.Class.Name",
        "metrics",
    ],
)
def test_keys_in_disguise_and_of_plugins_have_no_value(name):
    published = _config(name, CANARY)
    assert published.withheld == 1
    assert published.value is None or CANARY.encode() not in published.value


@pytest.mark.parametrize(
    ("name", "value", "resource_type"),
    [
        ("log.segment.bytes", "268435456", BROKER),
        ("log.retention.ms", "-1", BROKER),
        ("leader.replication.throttled.rate", "1000", BROKER),
        ("retention.ms", "86400000", TOPIC),
        ("leader.replication.throttled.replicas", "0:1,1:2", TOPIC),
        ("consumer.session.timeout.ms", "45000", GROUP),
        ("metrics", "org.apache.kafka.producer.", CLIENT_METRICS),
        ("match", "client_id=password=secret.*", CLIENT_METRICS),
    ],
)
def test_ordinary_configs_are_published_as_they_are(name, value, resource_type):
    record = write_config(resource_type, "x", name, value)
    assert publish_record(record, RULES)[2:4] == (record, 0)


def test_what_looks_like_a_secret_is_hidden_whatever_its_key():
    assert _config("log.dirs", "https://user:hunter2@host/").withheld == 1
    url = [("compression.type", "https://user:hunter2@host/")]
    assert (_told(_register(url)), _register(url).withheld) == ({}, 1)


def test_a_key_that_is_itself_a_secret_is_not_published():
    name = "AKIAIOSFODNN7EXAMPLE"
    assert _config(name, "1")[1:4] == (None, None, 1)
    assert _config(name, None)[1:4] == (None, None, 1)
    assert (_told(_register([(name, "1")])), _register([(name, "1")]).withheld) == (
        {},
        1,
    )


def test_a_removal_is_not_a_hidden_value():
    published = _config("ssl.key.password", None)
    assert published.withheld == 0
    assert published.key == "Config/brokers/1/ssl.key.password"
    assert published.fields["value"] is None


def test_an_unknown_key_passes_from_a_broker_and_not_from_describe_configs():
    configs = [("log.new.in.kafka.6", "7"), ("log.segment.bytes", None)]
    reported, described = _register(configs), _register(configs, is_described=True)
    assert _told(reported) == dict(configs)
    assert (_told(described), described.withheld) == ({"log.segment.bytes": None}, 1)


def test_all_that_a_broker_has_is_cut_to_what_it_reports_by_default():
    path = CONF_PATH / "broker_configs" / "kafka-4.3.1.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    told = [(row["name"], row["default"]) for row in rows]
    published = _register(told, is_described=True)
    assert (len(_told(published)), published.withheld) == (192, 87)
    reported = _register(told)
    assert (len(_told(reported)), reported.withheld) == (273, 87)


def test_static_configs_that_nobody_told_stay_untold():
    assert _register(None).fields["static_configs"] is None
    assert _register([]).fields["static_configs"] == []


def test_quotas_and_ends_of_brokers_are_published():
    quota = write_client_quota([("user", "password=hunter2")], "request_percentage", 1)
    gone = write_unregister_broker(7)
    assert publish_record(quota, RULES).value == quota
    assert publish_record(gone, RULES)[:4] == (
        "UnregisterBroker",
        "UnregisterBroker/brokers/7",
        gone,
        0,
    )


@pytest.mark.parametrize(
    "count", [2_000, pytest.param(100_000, marks=pytest.mark.long)]
)
def test_no_canary_in_any_password_or_never_key_gets_through(count):
    mark = b"canary-"
    told = [(SECRET_KEYS[n % len(SECRET_KEYS)], f"canary-{n:x}") for n in range(count)]
    resources = (BROKER, TOPIC, GROUP, CLIENT_METRICS)
    published = [
        _config(name, value, resources[n % 4]) for n, (name, value) in enumerate(told)
    ]
    published += [
        _register(told[start : start + 500], is_described=bool(start % 1000))
        for start in range(0, count, 500)
    ]
    assert sum(one.withheld for one in published) == 2 * count
    assert [one for one in published if mark in (one.value or b"")] == []
    assert [one for one in published if "canary" in str(one.fields)] == []
