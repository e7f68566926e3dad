"""The policy that comes with the bridge."""

import logging

import pytest

from pipelines.bridge.push_config.policy.contract import (
    ClientConfigData,
    InvalidPolicySetting,
    PolicyConfig,
    PolicyContext,
    PolicyViolation,
)
from pipelines.bridge.push_config.policy.value_rules import ValueRules, parse_value_rule
from tests.unit.bridge.push_config.raw_client import PushReply, entry

CONTEXT = PolicyContext(
    client_instance_id="tpzDWnpUR5Cqacwr1O5FOA", client_id=None,
    client_software_name="app", client_software_version="1", principal="User:a",
    listener="L", client_source_address="::1",
)  # fmt: skip


def process(settings, **values):
    rules = ValueRules()
    rules.configure(settings)
    configs = tuple(
        PolicyConfig(
            key=key.replace("_", "."), value=value, type="STRING", is_default=False
        )
        for key, value in values.items()
    )
    rules.process(CONTEXT, ClientConfigData(configs=configs, timestamp_ms=0))
    rules.close()


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ("k == all reject", ["all", " all "], ["1", "ALL", "", "all,1"]),
        ("k != none reject", ["gzip", ""], ["none"]),
        ("k in all,-1 reject", ["all", "-1"], ["1", "", "all,-1"]),
        ("k < 5 reject", ["4", "-1", "4.9"], ["5", "6", "", "x", "NaN", "Infinity"]),
        ("k <= 100 reject", ["100", "1e2", " 7 "], ["100.1", "-Infinity", "1 0"]),
        ("k > 5 reject", ["6"], ["5", "NaN"]),
        ("k >= 5 reject", ["5"], ["4"]),
        ("k <= 0.5 reject", ["0.5"], ["0.50000000000000000001"]),
    ],
)
def test_each_operator_has_its_hits_and_misses(rule, good, bad):
    for value in good:
        process({"r": rule}, k=value)
    for value in bad:
        with pytest.raises(PolicyViolation):
            process({"r": rule}, k=value)


def test_a_refusal_says_what_is_wanted_and_never_what_was_sent():
    settings = {
        "durable": "acks in all,-1 reject",
        "quick": "linger.ms <= 100 reject",
        "other": "retries > 0 reject",
    }
    with pytest.raises(PolicyViolation) as raised:
        process(settings, acks="canary-1", linger_ms="4711", retries="1")
    assert str(raised.value) == (
        "acks must be in all,-1 (durable); linger.ms must be <= 100 (quick)"
    )


def test_a_key_that_is_not_there_keeps_its_rules():
    process({"durable": "acks == all reject"}, linger_ms="5")
    process({"durable": "acks == all reject"})
    process({}, acks="0")


def test_two_rules_may_look_at_one_key():
    settings = {"low": "linger.ms >= 5 reject", "high": "linger.ms <= 9 reject"}
    process(settings, linger_ms="7")
    for value in ("4", "10"):
        with pytest.raises(PolicyViolation):
            process(settings, linger_ms=value)


def test_a_rule_that_logs_lets_the_push_pass_and_names_no_value(caplog):
    caplog.set_level(logging.INFO)
    process({"durable": "acks == all log"}, acks="canary")
    assert caplog.messages == [
        "client instance tpzDWnpUR5Cqacwr1O5FOA breaks rule durable on acks"
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expects key operator value action"),
        ("acks all reject", "expects key operator value action"),
        ("acks == all reject now", "expects key operator value action"),
        ("acks ~ all reject", "the operator must be one of == != in < <= > >="),
        ("linger.ms <= soon reject", "<= compares with a number"),
        ("linger.ms <= nan reject", "<= compares with a number"),
        ("acks == all drop", "the action must be log or reject"),
    ],
)
def test_a_rule_that_cannot_be_used_is_named(text, reason):
    with pytest.raises(InvalidPolicySetting) as raised:
        parse_value_rule("r", text)
    assert str(raised.value) == f"r: {reason}"


def test_the_rules_work_in_a_bridge(run, serving):
    overrides = [
        "client_config.policy=pipelines.bridge.push_config.policy.value_rules:ValueRules",
        'client_config.policy_settings={durable="acks in all,-1 reject"}',
    ]

    async def test():
        async with serving(*overrides) as (bridge, connect):
            client = await connect()
            await client.say_versions()
            assert await client.push(entry("acks", "1")) == PushReply(
                0, 40, "acks must be in all,-1 (durable)"
            )
            assert await client.push(entry("acks", "all")) == PushReply(0, 0, None)
            assert len(bridge.records) == 1

    run(test)
