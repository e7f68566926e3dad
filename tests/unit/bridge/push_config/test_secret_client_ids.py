"""A client id that is a secret: in no record, and still what selectors match."""

from tests.unit.bridge.push_config.policies import Recording
from tests.unit.bridge.push_config.raw_client import entry

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
                assert bridge.headers(place)["redacted_keys"] == (
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
