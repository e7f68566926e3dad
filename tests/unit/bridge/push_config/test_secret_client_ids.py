"""A client id that is a secret: in no record, and still what selectors match."""

import logging
from dataclasses import replace

from tests.unit.bridge.push_config.policies import Recording
from tests.unit.bridge.push_config.raw_client import PUSH_CONFIG, entry

ACKS = entry("acks", "all")
NAMED = "svc;password=hunter2"
"""A client id that is a secret."""


def test_a_secret_in_the_client_id_is_in_no_record_and_told(run, serving):
    async def test():
        overrides = (
            "client_config.policy=tests.unit.bridge.push_config.policies:Recording",
        )
        async with serving(*overrides) as (bridge, connect):
            client = await connect(NAMED)
            await client.say_versions()
            told = (await client.push(ACKS)).error_message
            assert told.endswith("not stored: client.id (named-secret-value)")
            # Where it is pushed as an entry, too, it is told and counted once.
            again = await client.push(ACKS, entry("client.id", NAMED))
            assert again.error_message == told
            assert bridge.numbers()["violation-count"] == 2
            for place, record in enumerate(bridge.records):
                assert bridge.headers(place)["client_id"] == "(redacted)"
                assert bridge.headers(place)["redacted_keys"] == "client.id"
                assert bridge.headers(place)["redactions"] == (
                    '{"v":1,"redacted":{"named-secret-value":["client.id"]}}'
                )
                assert b"hunter2" not in repr(record).encode()
            contexts = [context for context, _ in Recording.seen.calls]
            assert {one.client_id for one in contexts} == {"(redacted)"}

    run(test)


def test_a_push_with_a_secret_client_id_can_be_refused(run, serving):
    async def test():
        async with serving("client_config.on_violation=reject") as (bridge, connect):
            reply = await (await connect(NAMED)).push(ACKS)
            assert reply.error_code == 40
            assert bridge.records == []

    run(test)


def test_subscriptions_match_the_client_id_that_is_not_written(run, serving):
    async def test():
        match = '["client_id=svc.*hunter2"]'
        subscription = f'[{{name="s",metrics=["*"],interval_ms=100,match={match}}}]'
        async with serving(f"subscriptions={subscription}") as (bridge, connect):
            client, other = await connect(NAMED), await connect("(redacted)")
            given, nothing = await client.subscribe(), await other.subscribe()
            interval_ms = (100).to_bytes(4, "big")
            assert interval_ms in given.answer
            assert interval_ms not in nothing.answer
            assert await client.push_telemetry(given) == 0
            assert bridge.headers()["client_id"] == "(redacted)"
            assert "hunter2" not in repr(bridge.records)

    run(test)


def test_a_secret_client_id_is_in_no_log_and_no_metric(run, serving, caplog):
    caplog.set_level(logging.DEBUG)

    long = 'subscriptions=[{name="s",metrics=["*"],interval_ms=60000,match=[]}]'

    async def test():
        async with serving(long) as (bridge, connect):
            client = await connect(NAMED)
            await client.say_versions()
            assert (await client.push(ACKS)).error_code == 0
            given = await client.subscribe()
            assert await client.push_telemetry(given) == 0
            # Too early, of a subscription that is none, malformed, and of no API.
            assert await client.push_telemetry(given) != 0
            assert (await client.subscribe(given.instance_id)).error_code != 0
            unknown = replace(given, subscription_id=given.subscription_id + 1)
            assert await client.push_telemetry(unknown) != 0
            page = await bridge.server.watch.make_metrics_page()
            assert b"client_instance_id" in page.body
            assert b"hunter2" not in page.body
            for api_key, body in ((PUSH_CONFIG, b"\x05cut"), (72, b"cut"), (999, b"")):
                broken = await connect(NAMED)
                broken.send(api_key, 0, body)
                assert await broken.is_closed()

    run(test)
    assert [one.name for one in caplog.records if "pipelines" in one.name]
    assert "hunter2" not in caplog.text
