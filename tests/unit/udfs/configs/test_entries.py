"""What becomes of each entry of a push, and of the push as a whole."""

import pickle

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.bridge.protocol.push_config import ClientConfig, write_push_config
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from tests.support.config_chain import judge_pushes, resolve_pushes
from udfs.configs.defaults import DEFAULT_SCHEMA, make_known_defaults
from udfs.configs.entries import CONFIG_PUSH_SCHEMA
from udfs.configs.statuses import STATUSES
from udfs.sensitive.config_key_names import NO_NAME
from udfs.sensitive.sensitive_key_rules import CONFIG_TYPE_NAMES, DROP, SensitiveKeyRule
from udfs.sensitive.sensitive_keys import compile_rules

JAVA = "apache-kafka-java"
RULES = make_sensitive_key_rules(
    load_settings("base").sensitive_keys, load_config_catalogs()
)
KNOWN = [
    (JAVA, "4.3.1", "producer", "linger.ms", "5"),
    (JAVA, "4.3.1", "producer", "acks", "all"),
    (JAVA, "4.3.1", "producer", "client.id", ""),
    (JAVA, "4.3.1", "producer", "client.rack", None),
    (JAVA, "4.3.1", "producer", "enable.idempotence", "true"),
    (JAVA, "4.3.1", "producer", "enable.config.push", "true"),
    (JAVA, "3.9.2", "producer", "linger.ms", "0"),
]
DEFAULTS = make_known_defaults(
    pa.Table.from_pylist(
        [dict(zip(DEFAULT_SCHEMA.names, row, strict=True)) for row in KNOWN],
        DEFAULT_SCHEMA,
    )
)


def config(key, value, type_name="STRING", *, is_default=False):
    type_id = CONFIG_TYPE_NAMES.index(type_name) if type_name else -1
    return ClientConfig(key, value, type_id, is_default)


def decode(*pushes, rules=RULES, context=(JAVA, "4.3.1", "producer", "")):
    """Decode pushes of one client; a push is a list of entries, or bytes."""
    bodies = [
        one if isinstance(one, bytes) else write_push_config(one) for one in pushes
    ]
    batch = judge_pushes(bodies, context, rules)
    batch.validate(full=True)
    assert batch.schema == CONFIG_PUSH_SCHEMA
    resolved = resolve_pushes(batch, context, rules, DEFAULTS)
    resolved.validate(full=True)
    return [
        push | {"configs": configs}
        for push, configs in zip(batch.to_pylist(), resolved.to_pylist(), strict=True)
    ]


def decode_entry(*arguments, is_default=False, **more):
    (push,) = decode([config(*arguments, is_default=is_default)], **more)
    return push["configs"][0]


@pytest.mark.parametrize(
    ("entry", "status"),
    [
        (("linger.ms", "5", "LONG"), "set_to_default"),
        (("linger.ms", " +5", "LONG"), "set_to_default"),
        (("linger.ms", "6", "LONG"), "overridden"),
        (("enable.idempotence", "TRUE", "BOOLEAN"), "set_to_default"),
        (("client.id", "", "STRING"), "set_to_default"),
        (("client.id", "app", "STRING"), "overridden"),
        (("client.rack", "", "STRING"), "overridden"),
        (("retries", "3", "INT"), "overridden"),
        (("retries", "three", "INT"), "invalid_value"),
        (("linger.ms", "", "LONG"), "invalid_value"),
        (("enable.config.push", "false", "BOOLEAN"), "overridden"),
        (("enable.idempotency", "false", "BOOLEAN"), "unknown_key"),
        (("ssl.protocol", "TLSv1.3", "STRING"), "redacted"),
        (("ssl.protocol", "x", "INT"), "redacted"),
        (("client.id", "password=x", "STRING"), "redacted"),
    ],
)
def test_an_entry_that_is_no_default_has_a_status(entry, status):
    assert decode_entry(*entry)["status"] == status


@pytest.mark.parametrize(
    ("entry", "status"),
    [
        (("linger.ms", "5", "LONG"), "default"),
        (("linger.ms", "7", "LONG"), "default"),
        (("enable.idempotency", "true", "BOOLEAN"), "default"),
        (("linger.ms", "x", "LONG"), "invalid_value"),
        (("ssl.protocol", "TLSv1.3", "STRING"), "redacted"),
    ],
)
def test_an_entry_that_its_client_calls_a_default_is_one(entry, status):
    assert decode_entry(*entry, is_default=True)["status"] == status


def test_defaults_are_those_of_software_version_and_client_type():
    def status(*context):
        entry = decode_entry("linger.ms", "0", "LONG", context=(*context, ""))
        return entry["status"]

    assert status(JAVA, "3.9.2", "producer") == "set_to_default"
    assert status(JAVA, "4.3.1", "producer") == "overridden"
    assert status(JAVA, "3.9.2", "consumer") == "overridden"
    assert status(JAVA, None, None) == "overridden"


def test_an_entry_has_its_text_its_type_and_its_typed_value():
    linger = decode_entry("linger.ms", " 5", "LONG")
    assert (linger["config_value"], linger["config_type"]) == (" 5", "LONG")
    assert (linger["value_long"], linger["value_string"]) == (5, None)
    assert linger["is_default"] is False
    new = decode_entry("acks", " all", "")
    assert (new["config_type"], new["value_string"]) == (None, " all")


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("ssl.key.password", "canary", "password-type"),
        ("client.id", "password=canary", "named-secret-value"),
    ],
)
def test_a_hidden_value_is_nowhere(key, value, rule):
    (push,) = decode([config("acks", "all"), config(key, value)])
    assert "canary" not in repr(push)
    assert push["violations"] == [{"config_key": key, "rule": rule, "action": "redact"}]
    assert push["configs"][1]["config_key"] == key
    assert push["configs"][1]["config_value"] is None
    assert push["configs"][0]["status"] == "set_to_default"


def test_what_is_dropped_or_has_no_name_is_a_violation_only():
    drop = SensitiveKeyRule(name="gone", action=DROP, keys=("acks",))
    custom = SensitiveKeyRule(name="custom", action="redact", is_custom=True)
    rules = compile_rules([drop, custom], {JAVA: {"acks": frozenset()}})
    (push,) = decode([config("acks", "all"), config("pass word", "x")], rules=rules)
    assert push["configs"] == []
    assert [(one["config_key"], one["rule"]) for one in push["violations"]] == [
        ("acks", "gone"), (NO_NAME, "custom"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("header", "statuses"),
    [
        ("", ["overridden", "invalid_value", "overridden"]),
        (None, ["overridden", "invalid_value", "overridden"]),
        (
            '{"v":1,"redacted":{"a":["client.id","retries"]}}',
            ["redacted", "redacted", "overridden"],
        ),
        (
            '{"v":2,"redacted":{"a":["x"]},"more":3}',
            ["redacted", "redacted", "overridden"],
        ),
        ("client.id,retries", ["overridden", "invalid_value", "overridden"]),
        (
            '{"v":1,"redacted":{"a":["x"],"b":["retries"]},"dropped":{"a":["client.id"]}}',
            ["overridden", "redacted", "overridden"],
        ),
        (
            '{"v":1,"dropped":{"a":[""]}}',
            ["overridden", "invalid_value", "overridden"],
        ),
    ],
)
def test_what_the_bridge_redacted_is_redacted(header, statuses):
    entries = [
        config("client.id", ""), config("retries", "", "INT"), config("group.id", "g"),
    ]  # fmt: skip
    (push,) = decode(entries, context=(JAVA, "4.0.0", "producer", header))
    assert [one["status"] for one in push["configs"]] == statuses
    assert push["violations"] == []


def test_a_bad_push_is_empty_and_its_neighbours_are_whole():
    good = [config("acks", "all")]
    one, bad, three = decode(good, b"\x05", good)
    assert one == three
    assert bad == {
        "decode_status": "truncated_push_config", "content_hash": None,
        "configs": [], "violations": [],
    }  # fmt: skip
    assert decode() == []


def test_the_content_hash_is_of_keys_values_types_and_flags_and_no_order():
    a, b = config("acks", "all"), config("linger.ms", "5", "LONG")
    pushes = [
        [a, b], [b, a], [a], [], [config("acks", "al"), b], [a, b._replace(is_default=True)],
        [a, b._replace(config_type=2)], [config("ack", "sall"), b],
        [a, config("client.id", "")], [a, config("ssl.x", "1")], [a, config("ssl.x", "2")],
        [config("acks", "all;9:linger.ms1:5LONG:0")],
    ]  # fmt: skip
    hashes = [push["content_hash"] for push in decode(*pushes)]
    assert hashes[0] == hashes[1]
    assert hashes[9] == hashes[10]  # what was hidden makes no difference
    different = [one for at, one in enumerate(hashes) if at not in {1, 10}]
    assert len(set(different)) == len(different)
    assert all(len(one) == 32 for one in hashes)
    # A table keeps it: it may not change between batches or releases.
    assert decode([a])[0]["content_hash"] == hashes[2]
    assert hashes[3] == "cae66941d9efbd404e4d88758ea67670"


def test_defaults_can_be_sent_to_workers():
    assert pickle.loads(pickle.dumps(DEFAULTS)) == DEFAULTS  # noqa: S301 - our own bytes


entries = st.builds(
    config,
    st.one_of(
        st.sampled_from(["acks", "linger.ms", "ssl.x", "x", "", "client.id", "a b"]),
        st.text(max_size=4),
    ),
    st.one_of(
        st.sampled_from(["", "5", "all", "true", "1.5", "password=x", "a,b"]),
        st.text(max_size=5),
    ),
    st.sampled_from([*CONFIG_TYPE_NAMES, ""]),
    is_default=st.booleans(),
)
pushes_of_entries = st.one_of(
    st.lists(entries, max_size=6, unique_by=lambda one: one.config_key),
    st.binary(max_size=20),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(pushes_of_entries, max_size=5), st.sampled_from(["", "acks,x"]))
def test_a_push_is_decoded_the_same_alone_and_among_others(pushes, header):
    context = (JAVA, "4.3.1", "producer", header)
    together = decode(*pushes, context=context)
    alone = [decode(push, context=context)[0] for push in pushes]
    assert repr(together) == repr(alone)
    for push, decoded in zip(pushes, together, strict=True):
        assert all(one["status"] in STATUSES for one in decoded["configs"])
        if not isinstance(push, bytes):
            for one in push:
                verdict = RULES.judge_entry(
                    one.config_key, one.config_value,
                    CONFIG_TYPE_NAMES[one.config_type] if one.config_type >= 0 else "",
                    JAVA,
                )  # fmt: skip
                hidden = [v["rule"] for v in decoded["violations"]]
                assert verdict.action == "allow" or verdict.rule in hidden
