"""What a client sends makes Kafka keep little more: twice that, and 1 kB a record."""

import json
import random
import struct
import uuid

import pytest

from tests.unit.bridge.push_config.raw_client import (
    JAVA,
    PUSH_TELEMETRY,
    compact,
    entry,
)

MAX_BYTES = 1_000
MAX_HEADER_BYTES = 8_000
_FRAMING_BYTES = 61 + 30
"""A batch of one record, and the fields of a record beside its texts."""
LONGEST = 2**15 - 1
ANY_SIZE = "client_config.max_bytes=1048576"


def kept_bytes(records):
    """Return what Kafka keeps of records that it writes one by one."""
    return sum(
        len(one.key)
        + len(one.value)
        + sum(len(name) + len(value) + 4 for name, value in one.headers)
        + _FRAMING_BYTES
        for one in records
    )


def assert_bounded(bridge, records):
    received = bridge.server.counters.received_bytes
    assert kept_bytes(records) <= 2 * received + MAX_BYTES * len(records)
    for one in records:
        size = sum(len(name) + len(value) for name, value in one.headers)
        assert size <= MAX_HEADER_BYTES


async def push_often(client, count, size):
    """Push for ever new instances, whose first push is never too early."""
    for number in range(count):
        subscription = await client.subscribe(uuid.UUID(int=number + 9))
        fixed = struct.pack(
            ">16sibb", subscription.instance_id.bytes,
            subscription.subscription_id, 0, 0,
        )  # fmt: skip
        body = fixed + compact(b"m" * size) + b"\0"
        await client.ask(PUSH_TELEMETRY, 0, body)


@pytest.mark.parametrize("size", [0, 5_000])
@pytest.mark.parametrize("client_id", ["a", "i" * 85, "i" * 300, "i" * 30_000])
def test_pushes_of_a_client_with_long_names_stay_small(run, serving, client_id, size):
    async def test():
        async with serving() as (bridge, connect):
            client = await connect(client_id)
            await client.say_versions(software=("n" * LONGEST, "v" * LONGEST))
            before = bridge.server.counters.received_bytes
            await push_often(client, 30, size)
            assert len(bridge.records) == 30
            # What is said once is not paid back by every push.
            bridge.server.counters.received_bytes -= before
            assert_bounded(bridge, bridge.records)

    run(test)


def test_a_client_id_that_is_no_utf8_does_not_grow_beyond_its_bound(run, serving):
    async def test():
        async with serving() as (bridge, connect):
            client = await connect()
            client.client_id = RawText(b"\xff" * 85)
            await client.say_versions(software=("n" * 96, "v" * 96))
            await push_often(client, 10, 0)
            assert len(bridge.records) == 10
            assert_bounded(bridge, bridge.records)

    run(test)


class RawText:
    """Bytes where a text is expected."""

    def __init__(self, data):
        self.data = data

    def encode(self):
        return self.data


WORST = {
    "no UTF-8": [entry("acks", b"\xff" * 50_000)],
    "no UTF-8 here and there": [entry("acks", b"a\xff" * 25_000)],
    "no UTF-8 in keys": [entry(b"\xff" * 500, b"\xff\xff") for _ in range(100)],
    "secret keys": [entry(f"ssl.key.password.{n}", "") for n in range(2_000)],
    "a few secret keys": [entry(f"com.acme.{n:03}.password", "") for n in range(40)],
    "keys without names": [entry("!", "") for _ in range(9_000)],
    "both": [
        entry("acks", b"\xff" * 3_000),
        *(entry(f"com.acme.{n:04}", "x", "PASSWORD") for n in range(200)),
    ],
    "nothing": [],
}


@pytest.mark.parametrize("worst", WORST)
def test_pushed_configurations_take_twice_their_requests(run, serving, worst):
    entries = WORST[worst]

    async def test():
        async with serving(ANY_SIZE) as (bridge, connect):
            client = await connect()
            await client.say_versions(software=(JAVA[0], "v" * 96))
            for _ in range(3):
                assert (await client.push(*entries)).error_code == 0
            assert len(bridge.records) == 3
            assert_bounded(bridge, bridge.records)

    run(test)


def test_configurations_of_any_bytes_take_twice_their_requests(run, serving):
    chance = random.Random(14)  # noqa: S311 - to be repeatable
    parts = (b"\xff", b"a", b"acks", b".password", b"\xef\xbf\xbd", b"com.acme", b"")

    def text():
        return b"".join(chance.choices(parts, k=chance.randrange(40)))

    async def test():
        async with serving(ANY_SIZE) as (bridge, connect):
            client = await connect()
            await client.say_versions()
            for _ in range(100):
                body = [entry(text(), text()) for _ in range(chance.randrange(60))]
                before = len(bridge.records)
                bridge.server.counters.received_bytes = 0
                await client.push(*body)
                assert_bounded(bridge, bridge.records[before:])
            assert len(bridge.records) == 100

    run(test)


def test_what_is_left_out_of_a_record_is_counted_in_it(run, serving):
    """An empty value is not taken for an honest one where names are missing."""

    async def test():
        async with serving(ANY_SIZE) as (bridge, connect):
            client = await connect()
            await client.say_versions()
            await client.push(*WORST["secret keys"])
            said = json.loads(bridge.headers()["redactions"])
            named = sum(
                len(keys)
                for action in ("redacted", "dropped")
                for keys in said.get(action, {}).values()
            )
            assert named + said["more"] == 2_000
            assert bridge.headers()["redacted_keys"].endswith(" more")

    run(test)


def test_a_few_hidden_keys_are_all_named(run, serving):
    async def test():
        async with serving(ANY_SIZE) as (bridge, connect):
            client = await connect()
            await client.say_versions()
            await client.push(*(entry(f"ssl.{n}.password", "x") for n in range(10)))
            assert "more" not in bridge.headers()["redacted_keys"]
            assert json.loads(bridge.headers()["redactions"])["v"] == 1

    run(test)


def test_a_body_that_grows_keeps_what_can_be_read(run, serving):
    async def test():
        async with serving(ANY_SIZE) as (bridge, connect):
            client = await connect()
            await client.say_versions()
            await client.push(entry("acks", b"a\xff\xff\xff" * 9_000 + b"end"))
            assert bridge.records[0].value.count("a\ufffda\ufffd".encode()) > 1_000
            await client.push(entry("acks", b"a\xff\xffend"))
            assert "a\ufffd\ufffdend".encode() in bridge.records[1].value

    run(test)
