"""Keys name exactly the thing that a record is about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.cluster.record_keys import (
    broker_entity,
    config_entity,
    desanitize,
    feature_entity,
    full_set_key,
    quota_entity_path,
    record_key,
    sanitize,
)

KAFKAS_OWN = (
    (
        "CN=Some characters !@#$%&*()_-+=';:,/~",
        "CN%3DSome%20characters%20%21%40%23%24%25%26%2A%28%29_-%2B%3D%27%3B%3A%2C%2F%7E",
    ),
    ("<default>", "%3Cdefault%3E"),
    ("a.b-c_d", "a.b-c_d"),
    ("ü", "%C3%BC"),
    ("", ""),
)


@pytest.mark.parametrize(("name", "sanitized"), KAFKAS_OWN)
def test_names_are_encoded_as_kafkas_sanitizer_does(name, sanitized):
    assert sanitize(name) == sanitized
    assert desanitize(sanitized) == name


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_every_name_comes_back_and_holds_no_slash(name):
    assert desanitize(sanitize(name)) == name
    assert not set(sanitize(name)) & set("/<>+* ~")


def test_half_a_surrogate_is_a_question_mark_as_in_java():
    assert sanitize("a\ud800b") == "a%3Fb"


def test_bytes_that_are_no_utf_8_become_replacement_characters():
    assert desanitize("a%FFb") == "a\ufffdb"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (record_key("RegisterBroker", broker_entity(1)), "RegisterBroker/brokers/1"),
        (
            record_key("Config", config_entity(4, "1"), "log.segment.bytes"),
            "Config/brokers/1/log.segment.bytes",
        ),
        (
            record_key("Config", config_entity(4, ""), "log.segment.bytes"),
            "Config/brokers//log.segment.bytes",
        ),
        (
            record_key("Config", config_entity(16, "team-a"), "interval.ms"),
            "Config/client-metrics/team-a/interval.ms",
        ),
        (
            record_key("Config", config_entity(32, "g/1"), "consumer.session"),
            "Config/groups/g%2F1/consumer.session",
        ),
        (record_key("Config", config_entity(2, "t"), ""), "Config/topics/t/"),
        (config_entity(99, "x"), "resource-type-99/x"),
        (
            record_key("FeatureLevel", feature_entity("metadata.version")),
            "FeatureLevel/features/metadata.version",
        ),
        (full_set_key("s1"), "full_set/s1"),
    ],
)
def test_a_key_names_the_type_the_entity_and_the_config(key, expected):
    assert key == expected


@pytest.mark.parametrize(
    ("entity", "path"),
    [
        ([("user", "alice")], "users/alice"),
        ([("client-id", None), ("user", "alice")], "users/alice/clients/<default>"),
        ([("user", None), ("client-id", "c 1")], "users/<default>/clients/c%201"),
        ([("user", "<default>")], "users/%3Cdefault%3E"),
        ([("ip", "10.0.0.7")], "ips/10.0.0.7"),
        ([("ip", None)], "ips/<default>"),
        ([("client-id", "")], "clients/"),
        ([("z/z", "1"), ("b", "2"), ("ip", "::1")], "ips/%3A%3A1/b/2/z%2Fz/1"),
        ([], ""),
    ],
)
def test_a_quotas_path_is_kip_55s(entity, path):
    assert quota_entity_path(entity) == path
