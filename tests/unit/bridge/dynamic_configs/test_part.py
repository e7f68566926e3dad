"""Wiring of dynamic client configs: what ends the start, what is said before all is read."""

import asyncio

import pytest

from pipelines.bridge.dynamic_configs import part as part_module
from pipelines.bridge.dynamic_configs.part import DynamicConfigPart
from pipelines.bridge.dynamic_configs.state import Place
from pipelines.bridge.dynamic_configs.store_topic import ReadBatch
from pipelines.bridge.server import BridgeServer
from pipelines.errors import InvalidSetting
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from pipelines.settings.secret_references import SecretReader
from udfs.dynamic_configs import (
    ConfigRecord,
    SupportedRecord,
    record_key,
    record_value,
)

ENABLED = "dynamic_configs.enabled=true"
ACKS = ConfigRecord("alice", None, False, "acks", "all", "User:admin", 1)


def make_part(*changes):
    settings = load_settings("base", changes)
    rules = make_sensitive_key_rules(settings.sensitive_keys, load_config_catalogs())
    return DynamicConfigPart(settings, {}, rules, lambda: 0, lambda: False)


def take(part, *records, place=Place.CONFIGS, **others):
    made = [
        (offset, record_key(one), record_value(one), 5)
        for offset, one in enumerate(records)
    ]
    part._take(place, ReadBatch(made, **others))


def end_registrations(part):
    take(part, place=Place.REGISTRATIONS, is_at_end=True)


def test_nothing_is_served_where_it_is_not_enabled():
    part = make_part()
    assert list(part.handlers()) == []
    assert part.readiness().fault is None


def test_both_apis_are_served_where_it_is():
    part = make_part(ENABLED, "dynamic_configs.alter_api_key=1234")
    assert [one.api.api_key for one in list(part.handlers())] == [10_050, 1_234]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (["dynamic_configs.alter_api_key=10050"], "dynamic_configs.alter_api_key: is 10050, as dynamic_configs.describe_api_key is"),
        (["client_config.enabled=true", "client_config.api_key=10051"], "dynamic_configs.alter_api_key: is 10051, as client_config.api_key is"),
        (["dynamic_configs.keys_location=/nowhere/keys.toml"], "/nowhere/keys.toml: cannot be read"),
        (['bridge.admin_principals=["admin"]'], "bridge.admin_principals"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_end_the_start(changes, fault):
    with pytest.raises(InvalidSetting, match=fault):
        BridgeServer(
            load_settings("base", [ENABLED, *changes]), SecretReader(environ={})
        )


def test_a_bridge_is_ready_when_it_has_read_to_the_end(caplog):
    part = make_part(ENABLED)
    assert part.readiness().fault == (
        "the dynamic client configs have not been read to their end"
    )
    take(part, fault="_TRANSPORT")
    assert part.readiness().fault.endswith("to their end (_TRANSPORT)")
    take(part, ACKS, ACKS._replace(config_key="linger.ms"))
    assert part.readiness().fault is not None
    take(part, is_at_end=True)
    assert part.counters.is_loaded
    assert part.readiness().fault is not None
    end_registrations(part)
    assert part.readiness().fault is None
    assert "does not take them: linger.ms" in caplog.text
    assert part.counters.faults == 1


def test_a_topic_that_begins_anew_is_read_to_its_end_anew(caplog):
    part = make_part(ENABLED)
    end_registrations(part)
    take(part, ACKS, is_at_end=True)
    assert part.readiness().fault is None
    take(part, is_anew=True)
    assert part.counters.entities == 0
    assert part.readiness().fault is not None
    assert "begins anew" in caplog.text


def test_a_record_that_cannot_be_read_is_logged_by_its_offset(caplog):
    part = make_part(ENABLED)
    part._take(Place.CONFIGS, ReadBatch([(17, b"secret/key", b"secret", 0)]))
    assert "record 17 of topic clientele.client_configs cannot be read" in caplog.text
    assert "secret" not in caplog.text
    assert part.counters.unreadable_records == {"unknown_type": 1}


@pytest.mark.parametrize(
    "end", [{"is_at_end": True}, {"fault": "TOPIC_AUTHORIZATION_FAILED"}]
)
def test_start_waits_until_the_store_is_loaded_or_cannot_be_read(monkeypatch, end):
    part = make_part(ENABLED)
    part._without_topic.clear()

    async def run_for_ever():
        await asyncio.Event().wait()

    monkeypatch.setattr(part, "_run", run_for_ever)

    async def scene():
        starting = asyncio.create_task(part.prepare())
        await asyncio.sleep(0)
        take(part, ACKS)
        end_registrations(part)
        await asyncio.sleep(0)
        assert not starting.done()
        take(part, **end)
        async with asyncio.timeout(10):
            await starting
        await part.close()

    asyncio.run(scene())


def test_start_without_a_topic_waits_for_nothing(monkeypatch):
    part = make_part(ENABLED)

    async def run_for_ever():
        await asyncio.Event().wait()

    monkeypatch.setattr(part, "_run", run_for_ever)

    async def scene():
        async with asyncio.timeout(10):
            await part.prepare()
        await part.close()

    asyncio.run(scene())


def test_registrations_that_are_loaded_are_told_of_once(monkeypatch):
    """The bridge may have stopped before it told of its last ones."""
    part, told = make_part(ENABLED), []
    monkeypatch.setattr(part._writer, "tell_registrations", lambda: told.append(1))
    java = SupportedRecord("alice", "app", "apache-kafka-java", "4", ("acks",), 1)
    take(part, is_at_end=True)
    take(part, java, place=Place.REGISTRATIONS, is_at_end=True)
    take(part, place=Place.REGISTRATIONS, is_at_end=True)
    assert told == [1]
    assert part.counters.registrations == 1


def test_start_without_records_ends_and_names_the_fault(monkeypatch):
    monkeypatch.setattr(part_module, "_START_S", 0.05)
    part = make_part(ENABLED)
    part._without_topic.clear()

    async def run_for_ever():
        await asyncio.Event().wait()

    monkeypatch.setattr(part, "_run", run_for_ever)

    async def scene():
        starting = asyncio.create_task(part.prepare())
        for _ in range(4):
            # Records that arrive prolong the wait.
            await asyncio.sleep(0.03)
            take(part, ACKS)
        assert not starting.done()
        await starting
        part._running.cancel()

    asyncio.run(scene())
    assert "no record of the store for 0.05 s" in part.readiness().fault
