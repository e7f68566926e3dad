"""What the bridge in this process answers, and what clients make of it."""

import asyncio

import pytest

from pipelines.clients.instance_ids import instance_id_text
from pipelines.clients.key_lists import PRODUCER
from pipelines.clients.sensitive_key_rules import CONFIG_TYPE_NAMES
from pipelines.clients.starting import prepare
from tests.unit.bridge.push_config.raw_client import read_record


def test_many_clients_of_one_process_push_each_once(serving, run):
    async def test():
        async with serving() as (bridge, server):
            conf = {"bootstrap.servers": server}
            made = await asyncio.gather(
                *(asyncio.to_thread(prepare, PRODUCER, conf) for _ in range(40))
            )
            ids = {instance_id_text(one.client_instance_id) for one in made}
            stored = [record.key.decode() for record in bridge.records]
            assert len(ids) == len(stored) == 40
            assert ids == set(stored)

    run(test)


def test_a_bridge_that_could_not_store_it_is_asked_again_when_it_says(
    serving, run, log
):
    """First 89 without a time, then 89 with one, which is waited for."""

    async def test():
        interval = "client_config.min_push_interval_ms=2500"
        async with serving(interval) as (bridge, server):
            bridge.refused = 1
            conf = {
                "bootstrap.servers": server,
                "logger": log.logger,
                "default.api.timeout.ms": 60_000,
            }
            await asyncio.to_thread(prepare, PRODUCER, conf)
            assert len(bridge.records) == 1
            assert bridge.part.counters.throttled == 1
            assert log.warnings == []

    run(test)


def test_a_bridge_that_counts_types_from_one_is_told_them_so(serving, run, log):
    async def test():
        async with serving("client_config.first_config_type_id=1") as (bridge, server):
            own = {"config.push.first.config.type.id": "1", "acks": 1}
            conf = {"bootstrap.servers": server, "logger": log.logger}
            prepared = await asyncio.to_thread(prepare, PRODUCER, conf | own)
            (first, *_) = read_record(bridge.records[0].value)
            assert first == ("acks", "1", CONFIG_TYPE_NAMES.index("STRING"), False)
            assert set(prepared.conf) == {*conf, "acks", "client.software.version"}
            assert log.warnings == []

    run(test)


ANSWERS = {
    "too large": (["client_config.max_bytes=100"], "error 10072: a configuration of "),
    "just fits": (["client_config.max_bytes=340"], None),
    "a policy": (
        [
            "client_config.policy=pipelines.bridge.push_config.policy.value_rules:ValueRules",
            'client_config.policy_settings={durable="acks in all reject"}',
        ],
        "error 40: acks must be in all (durable)",
    ),
}


@pytest.mark.parametrize(("overrides", "told"), ANSWERS.values(), ids=ANSWERS)
def test_what_the_bridge_refuses_is_told_once(serving, run, log, overrides, told):
    async def test():
        async with serving(*overrides) as (bridge, server):
            conf = {"bootstrap.servers": server, "acks": 1, "logger": log.logger}
            prepared = await asyncio.to_thread(prepare, PRODUCER, conf)
            assert prepared.client_instance_id is not None
            assert len(bridge.records) == (told is None)
            if told is None:
                assert log.warnings == []
            else:
                (warning,) = log.warnings
                assert warning.startswith(f"configuration push: failed: {told}")

    run(test)
