"""Policies behind the real wiring; only Kafka's answer is given by the test."""

import logging

import pytest

from tests.unit.bridge.push_config import policies
from tests.unit.bridge.push_config.raw_client import JAVA, PushReply, entry

MODULE = "tests.unit.bridge.push_config.policies"
OK = PushReply(0, 0, None)
ACKS = entry("acks", "canary", is_default=True)


def with_policy(run, serving, name, test, *overrides):
    async def whole():
        policy = f"client_config.policy={MODULE}:{name}"
        async with serving(policy, *overrides) as (bridge, connect):
            await test(bridge, connect)

    run(whole)
    return getattr(policies, name).seen


async def connected(connect, client_id="app-1"):
    client = await connect(client_id)
    await client.say_versions()
    return client


def test_a_policy_sees_who_pushed_and_what_is_not_sensitive(run, serving):
    async def test(bridge, connect):
        client = await connected(connect)
        secret = entry("ssl.key.password", "hidden", "PASSWORD")
        linger = entry("linger.ms", "5", "LONG")
        await client.push(ACKS, secret, linger)
        name = bridge.headers()["client_instance_id"]
        ((context, data),) = policies.Recording.seen.calls
        assert (context.client_instance_id, context.client_id) == (name, "app-1")
        assert context.principal == "User:ANONYMOUS"
        assert (context.client_software_name, context.client_software_version) == JAVA
        assert [(c.key, c.value, c.type, c.is_default) for c in data.configs] == [
            ("acks", "canary", "STRING", True),
            ("linger.ms", "5", "LONG", False),
        ]
        assert data.timestamp_ms == bridge.records[0].timestamp_ms
        assert "canary" not in repr(data)

    seen = with_policy(
        run, serving, "Recording", test, 'client_config.policy_settings={a="b"}'
    )
    assert seen.settings == {"a": "b"}
    assert seen.is_closed


def test_a_policy_refuses_with_its_own_words(run, serving):
    async def test(bridge, connect):
        refused = await connected(connect, "refused")
        assert await refused.push(ACKS) == PushReply(0, 40, "not on Sundays")
        assert bridge.records == []
        assert await (await connected(connect)).push(ACKS) == OK
        numbers = bridge.numbers()
        assert numbers["policy-refusal-count"] == 1
        assert list(numbers["policy-invocation-count"].values()) == [1, 1]
        assert list(numbers["policy-error-count"].values()) == [0, 0]

    with_policy(run, serving, "Recording", test)


def test_a_policy_that_is_late_is_passed_over(run, serving):
    async def test(bridge, connect):
        client = await connected(connect)
        assert await client.push(ACKS) == OK
        assert len(bridge.records) == 1
        numbers = bridge.numbers()
        assert (numbers["policy-late-count"], numbers["accepted-count"]) == (1, 1)
        assert numbers["policy-invocation-count"] == {}
        # From here on nothing is late, however slow the machine.
        bridge.part._runner._timeout_s = 20
        policies.Blocking.seen.may_go.set()
        refused = await connected(connect, "refused")
        assert (await refused.push(ACKS)).error_code == 40
        assert sum(bridge.numbers()["policy-invocation-count"].values()) == 2

    with_policy(run, serving, "Blocking", test, "client_config.policy_timeout_ms=50")


def test_what_a_late_policy_says_changes_nothing(run, serving):
    async def test(bridge, connect):
        client = await connected(connect, "refused")
        assert await client.push(ACKS) == OK
        policies.Blocking.seen.may_go.set()
        await bridge.part.close()
        assert len(bridge.records) == 1
        assert bridge.numbers()["policy-refusal-count"] == 0

    with_policy(run, serving, "Blocking", test, "client_config.policy_timeout_ms=1")


@pytest.mark.parametrize(("name", "raised"), [("Failing", "KeyError"), ("Leaving", "SystemExit")])  # fmt: skip
def test_what_a_policy_raises_is_counted_and_logged_by_its_type(
    run, serving, caplog, name, raised
):
    async def test(bridge, connect):
        client = await connected(connect)
        for _ in range(3):
            assert await client.push(ACKS) == OK
        (errors,) = bridge.numbers()["policy-error-count"].values()
        assert (errors, len(bridge.records)) == (3, 3)

    caplog.set_level(logging.DEBUG)
    with_policy(run, serving, name, test)
    lines = [record.getMessage() for record in caplog.records]
    named = [line for line in lines if raised in line]
    assert named == [f"the policy raised {raised}; later ones are only counted"]
    assert "canary" not in caplog.text
    if name == "Failing":
        assert "the policy raised OSError as it closed" in lines


def test_a_text_that_cannot_be_told_does_not_stop_the_answer(run, serving):
    async def test(_bridge, connect):
        reply = await (await connected(connect, "surrogate")).push(ACKS)
        assert (reply.error_code, reply.error_message[:4]) == (40, "a?bx")
        assert len(reply.error_message) == 1_000
        assert await (await connected(connect)).push(ACKS) == OK

    with_policy(run, serving, "BadText", test)


def test_times_of_a_policy_are_kept_per_instance(run, serving):
    async def test(bridge, connect):
        client = await connected(connect)
        await client.push(ACKS)
        await client.push(ACKS)
        numbers = bridge.numbers()
        (average,) = numbers["policy-time-avg"].values()
        (longest,) = numbers["policy-time-max"].values()
        assert 0 < average <= longest < 20_000
        assert list(numbers["policy-invocation-count"]) == [
            bridge.headers()["client_instance_id"]
        ]

    with_policy(run, serving, "Recording", test)
