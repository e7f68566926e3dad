"""Real sockets and the real wiring; only Kafka's answer is given by the test."""

import pytest

from tests.unit.bridge.push_config.raw_client import (
    JAVA,
    PUSH_CONFIG,
    PushReply,
    entry,
    push_body,
    read_record,
)

OK = PushReply(0, 0, None)
ACKS = entry("acks", "all")
SECRET = entry("ssl.keystore.password", "canary-1", "PASSWORD")
CUSTOM = entry("com.acme.token", "canary-2")


def answers(run, serving, test, *overrides):
    """Run a test with a bridge and a client that has said who it is."""

    async def whole():
        async with serving(*overrides) as (bridge, connect):
            client = await connect()
            await client.say_versions()
            await test(bridge, client)

    run(whole)


ALWAYS = {
    3: (0, 13), 17: (0, 1), 32: (1, 4), 36: (0, 2), 44: (0, 1), 48: (0, 1),
    49: (0, 1), 50: (0, 0), 71: (0, 0), 72: (0, 0), 74: (0, 1),
}  # fmt: skip
"""What every bridge serves beside ApiVersions."""


def test_push_config_is_served_and_advertised_only_when_enabled(run, serving):
    async def test():
        async with serving() as (_, connect):
            client = await connect()
            assert (await client.say_versions(4))[1] == {
                **ALWAYS, 18: (0, 6), PUSH_CONFIG: (0, 0),
            }  # fmt: skip
        async with serving("client_config.enabled=false") as (bridge, connect):
            client = await connect()
            assert (await client.say_versions(4))[1] == {
                **ALWAYS, 18: (0, 5),
            }  # fmt: skip
            assert await client.say_versions(6) == (35, {18: (0, 5)})
            client.send(PUSH_CONFIG, 0, push_body(ACKS))
            assert await client.is_closed()
            assert not list(bridge.part.handlers())

    run(test)


def test_the_numbers_that_kafka_has_not_given_are_settings(run, serving):
    async def test():
        async with serving(
            "client_config.api_key=300",
            "client_config.config_too_large_error_code=301",
            "client_config.instance_id_api_version=9",
            "client_config.max_bytes=3",
        ) as (_, connect):
            client = await connect()
            served = (await client.say_versions(9))[1]
            assert (served[300], served[18]) == ((0, 0), (0, 9))
            reply = await client.ask(300, 0, push_body(ACKS))
            assert reply[5:7] == (301).to_bytes(2, "big")

    run(test)


def test_a_push_is_answered_with_its_record(run, serving):
    async def test(bridge, client):
        linger = entry("linger.ms", "5", "LONG", is_default=True)
        assert await client.push(ACKS, linger) == OK
        (record,) = bridge.records
        assert record.topic == "clientele.configs"
        assert record.value == push_body(ACKS, linger)
        headers = bridge.headers()
        port = str(client.writer.get_extra_info("sockname")[1])
        assert headers.pop("push_id") > "0"
        assert int(headers.pop("received_at_ms")) == record.timestamp_ms
        assert headers.pop("client_instance_id") == record.key.decode()
        assert headers == {
            "client_id": "app-1", "client_software_name": JAVA[0],
            "client_software_version": JAVA[1], "principal": "User:ANONYMOUS",
            "listener": "PLAINTEXT", "client_source_address": "127.0.0.1",
            "client_source_port": port, "bridge_id": "bridge-1", "redacted_keys": "",
        }  # fmt: skip
        assert bridge.numbers()["accepted-count"] == 1

    answers(run, serving, test)


def test_sensitive_values_are_gone_and_their_keys_and_rules_are_told(run, serving):
    async def test(bridge, client):
        assert await client.push(SECRET, ACKS, CUSTOM) == PushReply(
            0, 0, "sensitive configuration was not stored: ssl.keystore.password "
            "(password-type), com.acme.token (custom-key)",
        )  # fmt: skip
        assert read_record(bridge.records[0].value) == [
            ("ssl.keystore.password", "", 8, False),
            ("acks", "all", 1, False),
            ("com.acme.token", "", 1, False),
        ]
        assert bridge.headers()["redacted_keys"] == (
            "ssl.keystore.password,com.acme.token"
        )
        assert bridge.headers()["redactions"] == (
            '{"v":1,"redacted":{"password-type":["ssl.keystore.password"],'
            '"custom-key":["com.acme.token"]}}'
        )
        assert bridge.numbers()["violation-count"] == 2

    answers(run, serving, test)


def test_a_push_of_sensitive_keys_alone_leaves_a_record_without_values(run, serving):
    async def test(bridge, client):
        assert (await client.push(SECRET)).error_code == 0
        assert read_record(bridge.records[0].value)[0][1] == ""
        assert (await client.push()) == OK
        assert bridge.records[1].value == push_body()

    answers(run, serving, test)


def test_a_push_with_sensitive_keys_can_be_refused(run, serving):
    async def test(bridge, client):
        assert await client.push(ACKS, CUSTOM) == PushReply(
            0,
            40,
            "sensitive configuration is not accepted: com.acme.token (custom-key)",
        )
        assert bridge.records == []
        assert await client.push(ACKS) == OK
        numbers = bridge.numbers()
        assert (numbers["rejected-count"], numbers["violation-count"]) == (1, 1)

    answers(run, serving, test, "client_config.on_violation=reject")


def test_an_own_rule_can_allow_and_drop(run, serving):
    async def test(bridge, client):
        reply = await client.push(CUSTOM, entry("com.acme.pin", "canary-3"))
        assert reply.error_message == (
            "sensitive configuration was not stored: com.acme.pin (pin)"
        )
        assert bridge.records[0].value == push_body(CUSTOM)

    rules = (
        '[{name="pin",key_suffixes=[".pin"],action="drop"},'
        '{name="ours",key_prefixes=["com.acme."],action="allow"},'
        '{name="custom",is_custom=true,action="redact"}]'
    )
    answers(run, serving, test, f"sensitive_keys.rules={rules}")


@pytest.mark.parametrize(("extra", "is_taken"), [(0, True), (1, False)])
def test_a_push_above_the_limit_is_too_large(run, serving, extra, is_taken):
    limit = 10_240

    async def test(bridge, client):
        rest = limit + extra - len(push_body(entry("client.id", "")))
        # Each length takes one byte more once the text is longer than 126 bytes.
        whole = push_body(entry("client.id", "x" * (rest - 1)))
        assert len(whole) == limit + extra
        reply = await client.push(entry("client.id", "x" * (rest - 1)))
        if is_taken:
            assert reply == OK
            return
        assert reply == PushReply(
            0, 10_072, "a configuration of 10241 bytes is larger than "
            "client.config.max.bytes, which is 10240",
        )  # fmt: skip
        assert bridge.records == []
        assert bridge.numbers()["too-large-count"] == 1
        assert await client.push(ACKS) == OK

    answers(run, serving, test)


def test_a_push_that_kafka_does_not_take_is_refused_as_throttled(run, serving):
    async def test(bridge, client):
        bridge.refused = 1
        assert await client.push(ACKS) == PushReply(0, 89, None)
        assert await client.push(ACKS) == OK
        numbers = bridge.numbers()
        assert (numbers["not-stored-count"], numbers["accepted-count"]) == (1, 1)

    answers(run, serving, test)


def test_pushes_of_one_connection_are_held_to_an_interval(run, serving):
    async def test():
        async with serving("client_config.min_push_interval_ms=60000") as (
            bridge,
            connect,
        ):
            client, other = await connect(), await connect()
            await client.say_versions()
            assert await client.push(ACKS) == OK
            reply = await client.push(ACKS)
            assert (reply.error_code, reply.error_message) == (89, None)
            assert 0 < reply.throttle_time_ms <= 60_000
            await other.say_versions()
            assert await other.push(ACKS) == OK
            assert bridge.numbers()["throttled-count"] == 1
            assert len(bridge.records) == 2

    run(test)


def test_a_malformed_push_closes_its_connection_only(run, serving):
    async def test():
        async with serving() as (bridge, connect):
            client, other = await connect(), await connect()
            client.send(PUSH_CONFIG, 0, b"\x05\x02k")
            assert await client.is_closed()
            await other.say_versions()
            assert await other.push(ACKS) == OK
            assert bridge.server.counters.malformed_requests == 1

    run(test)


def test_types_can_count_from_one(run, serving):
    async def test(bridge, client):
        reply = await client.push(entry("acks", "all", "PASSWORD", first_type_id=1))
        assert "acks (password-type)" in reply.error_message
        await client.push(entry("linger.ms", "5", "LONG", first_type_id=1))
        assert read_record(bridge.records[1].value) == [("linger.ms", "5", 4, False)]

    answers(run, serving, test, "client_config.first_config_type_id=1")


def test_replies_keep_their_order_among_other_requests(run, serving):
    async def test(bridge, client):
        client.send(PUSH_CONFIG, 0, push_body(ACKS))
        client.send(18, 0, b"")
        client.send(PUSH_CONFIG, 0, push_body(SECRET))
        replies = [await client.receive() for _ in range(3)]
        assert [len(one) > 20 for one in replies] == [False, True, True]
        assert len(bridge.records) == 2

    answers(run, serving, test)
