"""What clients register is written, within limits."""

import asyncio
from dataclasses import replace

import pytest

from pipelines.bridge.core.handlers import Connection, make_identity
from pipelines.bridge.dynamic_configs import writing
from pipelines.bridge.dynamic_configs.state import Place
from pipelines.kafka_wire.records import TopicFault
from tests.support.bridge.dynamic_configs import set_configs, user
from tests.unit.bridge.dynamic_configs.store_bridge import (
    ANY,
    BOB,
    SETTINGS,
    settle,
)
from udfs.dynamic_configs import (
    RegistrationsWritten,
    SupportedRecord,
)


def register(bridge, *keys, **others):
    given = {"principal": BOB, "supported_configs": keys} | others
    assert bridge.describe(**given)[:2] == (0, 0)


def test_a_client_registers_what_it_supports_of_what_may_be_set(bridge, run):
    async def scene():
        register(bridge, "retries", "acks", "acks", "password=hunter2")
        register(bridge, "acks", resolve_entity=True, client_id="")
        register(bridge, "retries", "acks")
        await settle()
        register(bridge, "acks", "retries")
        await settle()

    run(scene)
    software = ("apache-kafka-java", "4.3.1")
    assert bridge.registrations.transactions == [
        [
            SupportedRecord("bob", "app", *software, ("acks", "retries"), 1_000),
            SupportedRecord("bob", None, *software, ("acks",), 1_000),
        ]
    ]
    assert bridge.describe(principal=BOB, supported_configs=()).entries == []


def test_a_registration_has_no_client_id_that_looks_like_a_secret(bridge, run):
    async def scene():
        register(bridge, "acks", client_id="AKIAIOSFODNN7EXAMPLE")
        await settle()

    run(scene)
    ((record,),) = bridge.registrations.transactions
    assert record.client_id == "(redacted)"


def test_the_oldest_registration_of_a_user_makes_room(bridge, run):
    async def scene():
        for version in ("1", "2", "3"):
            bridge.now_ms += 1
            register(bridge, "acks", version=version)
            register(bridge, "acks", version=version, principal="User:eve")
            await settle()

    run(scene)
    kept = bridge.state.registrations_of("bob").values()
    assert sorted(one.client_software_version for one in kept) == ["2", "3"]
    assert len(bridge.state.registrations_of("eve")) == 2


def test_registrations_that_are_not_written_are_counted(
    bridge, run, counters, monkeypatch
):
    monkeypatch.setattr(writing, "MAX_WAITING_REGISTRATIONS", 1)

    async def scene():
        bridge.registrations.fault = TopicFault("no")
        register(bridge, "acks")
        register(bridge, "acks", version="5")
        await settle()

    run(scene)
    assert counters.lost_registrations == 2
    assert bridge.state.registrations_of("bob") == {}


def make_connection(principal=BOB):
    identity = replace(make_identity("L", "127.0.0.1", 1), principal=principal)
    return Connection(connection_id=1, identity=identity)


def list_client_ids(bridge):
    return [one.client_id for all_ in bridge.registrations.transactions for one in all_]


def test_registrations_above_the_limit_of_a_connection_are_not_written(
    bridge, run, counters
):
    async def scene():
        connection = make_connection()
        for number in range(100):
            register(bridge, "acks", client_id=f"id-{number}", connection=connection)
            # What is known already is written once, and counted once.
            register(bridge, "acks", client_id="id-0", connection=connection)
        await settle()

    run(scene)
    written = [one for one in list_client_ids(bridge) if one]
    assert len(set(written)) == SETTINGS.max_registrations_per_connection
    assert counters.lost_registrations == 97


def test_registrations_above_the_limit_of_a_user_wait_for_the_next_hour(
    bridge, run, counters
):
    async def scene():
        for number in range(100):
            register(bridge, "acks", client_id=f"id-{number}")
        register(bridge, "acks", client_id="other", principal="User:eve")
        await settle()
        assert counters.lost_registrations == 95
        bridge.now_ms += 3_600_000
        register(bridge, "acks", client_id="later")
        await settle()

    run(scene)
    written = set(list_client_ids(bridge))
    assert written == {f"id-{number}" for number in range(5)} | {"other", "later"}


def test_registration_left_over_by_an_error_is_written_by_the_next_run(bridge):
    """Even if no other registration arrives."""

    async def scene():
        bridge.registrations.fault = RuntimeError("unexpected")
        writing = asyncio.create_task(bridge.writer.run())
        register(bridge, "acks")
        with pytest.raises(RuntimeError):
            await writing
        bridge.registrations.fault = None
        writing = asyncio.create_task(bridge.writer.run())
        await settle()
        writing.cancel()

    asyncio.run(scene())
    assert list_client_ids(bridge) == ["app"]


def test_a_refused_description_registers_nothing(bridge, run):
    async def scene():
        described = bridge.describe(*ANY, principal=BOB, supported_configs=("acks",))
        assert described.error_code == 31
        await settle()

    run(scene)
    assert bridge.registrations.transactions == []


def test_registrations_are_lost_while_their_topic_is_not_read(bridge, run, counters):
    bridge.state.clear(Place.REGISTRATIONS)

    async def scene():
        register(bridge, "acks")
        await settle()
        assert await bridge.alter(set_configs(user("bob"), acks="1")) == [(0, None)]

    run(scene)
    assert bridge.registrations.transactions == []
    assert counters.lost_registrations == 1


TOLD = [[RegistrationsWritten(1_000)]]


def test_configs_topic_is_told_of_registrations_at_most_once_in_an_interval(
    bridge, run, monkeypatch
):
    monkeypatch.setattr(writing, "TELL_EVERY_S", 1.0)

    async def scene():
        for number in range(3):
            register(bridge, "acks", client_id=f"id-{number}")
            await settle()
        assert bridge.topic.transactions == TOLD
        await asyncio.sleep(1.5)

    run(scene)
    assert bridge.topic.transactions == 2 * TOLD
    assert len(bridge.registrations.transactions) == 3


def test_registrations_that_cannot_be_told_of_are_told_of_later(
    bridge, run, counters, monkeypatch
):
    monkeypatch.setattr(writing, "TELL_EVERY_S", 0.1)

    async def scene():
        bridge.topic.fault = TopicFault("no")
        register(bridge, "acks")
        await settle()
        bridge.topic.fault = None
        await asyncio.sleep(0.5)

    run(scene)
    assert bridge.topic.transactions == TOLD
    assert counters.lost_registrations == 0


def test_oldest_registration_is_forgotten_by_a_null_record(bridge, run):
    async def scene():
        for version in ("1", "2", "3"):
            bridge.now_ms += 1
            register(bridge, "acks", version=version)
            await settle()

    run(scene)
    forgotten = [
        one.client_software_version
        for all_ in bridge.registrations.transactions
        for one in all_
        if one.config_keys is None
    ]
    assert forgotten == ["1"]
