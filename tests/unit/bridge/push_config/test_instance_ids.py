"""Which ClientInstanceId a connection goes by, in configuration and telemetry."""

import uuid

import pytest

from pipelines.bridge.core.client_identity import uuid_text
from tests.unit.bridge.push_config.raw_client import entry

ACKS = entry("acks", "all")
BY_FIELD, BY_SUFFIX = uuid.uuid4(), uuid.uuid4()
ZERO, ONE = uuid.UUID(int=0), uuid.UUID(int=1)
SUFFIXED = ("confluent-kafka-python", f"2.16.1-rdkafka-2.16.0-cid-{BY_SUFFIX.hex}")


def on_a_bridge(run, serving, test, *overrides):
    async def whole():
        async with serving(*overrides) as (bridge, connect):
            await test(bridge, await connect())

    run(whole)


async def pushed_as(bridge, client):
    """Push a configuration; return the id and the software version of its record."""
    assert (await client.push(ACKS)).error_code == 0
    headers = bridge.headers()
    assert bridge.records[-1].key.decode() == headers["client_instance_id"]
    return headers["client_instance_id"], headers["client_software_version"]


def test_the_field_of_api_versions_comes_first(run, serving):
    async def test(bridge, client):
        await client.say_versions(software=SUFFIXED, instance_id=BY_FIELD)
        given = await client.subscribe(uuid.uuid4())
        assert given.error_code == 0
        name, version = await pushed_as(bridge, client)
        assert name == uuid_text(BY_FIELD)
        assert version == "2.16.1-rdkafka-2.16.0"

    on_a_bridge(run, serving, test)


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_then_the_suffix_of_the_software_version(run, serving, version):
    async def test(bridge, client):
        await client.say_versions(version, software=SUFFIXED)
        await client.subscribe(uuid.uuid4())
        name, software_version = await pushed_as(bridge, client)
        assert name == uuid_text(BY_SUFFIX)
        assert software_version == "2.16.1-rdkafka-2.16.0"

    on_a_bridge(run, serving, test)


def test_then_what_get_was_given(run, serving):
    async def test(bridge, client):
        await client.say_versions()
        given = await client.subscribe()
        assert (await pushed_as(bridge, client))[0] == uuid_text(given.instance_id)
        own = uuid.uuid4()
        assert (await client.subscribe(own)).instance_id == own
        assert (await pushed_as(bridge, client))[0] == uuid_text(own)

    on_a_bridge(run, serving, test)


def test_then_a_new_one_which_telemetry_shares(run, serving):
    async def test(bridge, client):
        await client.say_versions(4)
        name, _ = await pushed_as(bridge, client)
        assert (await pushed_as(bridge, client))[0] == name
        given = await client.subscribe()
        assert uuid_text(given.instance_id) == name
        assert await client.push_telemetry(given) == 0
        assert bridge.headers()["client_instance_id"] == name

    on_a_bridge(run, serving, test)


@pytest.mark.parametrize("software", [None, SUFFIXED])
def test_get_without_an_id_answers_the_one_the_connection_has(run, serving, software):
    async def test(bridge, client):
        if software:
            await client.say_versions(4, software=software)
        else:
            await client.say_versions(instance_id=BY_FIELD)
        given = await client.subscribe()
        assert given.instance_id == (BY_SUFFIX if software else BY_FIELD)
        assert await client.push_telemetry(given) == 0
        assert bridge.headers()["client_instance_id"] == uuid_text(given.instance_id)
        assert (await pushed_as(bridge, client))[0] == uuid_text(given.instance_id)

    on_a_bridge(run, serving, test)


def test_get_with_an_id_of_its_own_is_answered_with_that(run, serving):
    async def test(_bridge, client):
        await client.say_versions(instance_id=BY_FIELD)
        own = uuid.uuid4()
        assert (await client.subscribe(own)).instance_id == own

    on_a_bridge(run, serving, test)


def test_without_any_each_get_makes_a_new_one(run, serving):
    async def test(_bridge, client):
        await client.say_versions()
        first, second = await client.subscribe(), await client.subscribe()
        assert first.instance_id != second.instance_id
        assert ZERO not in {first.instance_id, second.instance_id}

    on_a_bridge(run, serving, test)


@pytest.mark.parametrize("reserved", [ZERO, ONE])
def test_a_reserved_id_names_nobody(run, serving, reserved):
    async def test(bridge, client):
        await client.say_versions(instance_id=reserved)
        assert (await pushed_as(bridge, client))[0] != uuid_text(reserved)
        other = ("app", f"1.0-cid-{reserved.hex}")
        await client.say_versions(software=other)
        name, version = await pushed_as(bridge, client)
        assert name not in {uuid_text(ZERO), uuid_text(ONE)}
        assert version == "1.0"

    on_a_bridge(run, serving, test)


def test_the_suffix_is_stripped_from_telemetry_and_matching_too(run, serving):
    subscription = (
        '[{name="s",metrics=["only.these."],interval_ms=100,'
        'match=["client_software_version=2[.]16[.]1-rdkafka-2[.]16[.]0"]}]'
    )

    async def test(bridge, client):
        await client.say_versions(4, software=("other", "1.0"))
        assert b"only.these." not in (await client.subscribe(uuid.uuid4())).answer
        await client.say_versions(4, software=SUFFIXED)
        given = await client.subscribe()
        assert b"only.these." in given.answer
        assert await client.push_telemetry(given) == 0
        headers = bridge.headers()
        assert headers["client_software_version"] == "2.16.1-rdkafka-2.16.0"
        assert not [text for text in headers.values() if BY_SUFFIX.hex in text]

    on_a_bridge(run, serving, test, f"subscriptions={subscription}")


def test_the_suffix_names_the_instance_where_configurations_are_not_taken(run, serving):
    async def test(bridge, client):
        await client.say_versions(5, software=SUFFIXED)
        given = await client.subscribe()
        assert given.instance_id == BY_SUFFIX
        assert await client.push_telemetry(given) == 0
        assert "-cid-" not in bridge.headers()["client_software_version"]

    on_a_bridge(run, serving, test, "client_config.enabled=false")


def test_software_that_kafka_does_not_accept_names_nobody(run, serving):
    async def test(bridge, client):
        bad = ("bad name", f"1-cid-{BY_SUFFIX.hex}")
        assert (await client.say_versions(software=bad, instance_id=BY_FIELD))[0] == 42
        name, version = await pushed_as(bridge, client)
        assert name not in {uuid_text(BY_FIELD), uuid_text(BY_SUFFIX)}
        assert version == "unknown"

    on_a_bridge(run, serving, test)


def test_instances_are_counted_while_their_connections_are_open(run, serving):
    async def test():
        async with serving() as (bridge, connect):
            one, two, other = await connect(), await connect(), await connect()
            shared = uuid.uuid4()
            for client in (one, two):
                await client.say_versions(instance_id=shared)
                await client.push(ACKS)
            await other.say_versions()
            await other.push(ACKS)
            await other.push(ACKS)
            assert bridge.numbers()["instance-count"] == 2
            # Another id on the same connection takes the place of the one before.
            await two.say_versions(instance_id=uuid.uuid4())
            await two.push(ACKS)
            assert bridge.numbers()["instance-count"] == 3
        assert bridge.numbers()["instance-count"] == 0

    run(test)
