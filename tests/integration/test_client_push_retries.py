"""Retries, throttling and outages: the test plan of KIP-1324, as far as clients go.

Each test has the running bridge, as its command starts it, and a real Kafka.
"""

import os
import signal
import time

import pytest

from pipelines.clients.catalogs import load_rules
from pipelines.clients.configs_in_force import LibrdkafkaConfigs
from pipelines.clients.handshake import Handshake
from pipelines.clients.instance_ids import make_instance_id
from pipelines.clients.kafka_client.properties import make_access
from pipelines.clients.key_lists import DEFAULT_KEYS, PRODUCER
from pipelines.clients.own_configs import DEFAULT_API_KEY
from pipelines.clients.push_messages import ConfigEntry, NamedSoftware
from pipelines.clients.push_plan import PushPlan
from pipelines.clients.pushed_entries import choose_entries
from pipelines.clients.starting import prepare
from tests.support.bridge.config_support import DEADLINE_S, read_topic, running_bridge
from tests.support.kafka.stopped_processes import stop_process


def make_plan(host, port, timeout_ms=DEADLINE_S * 1_000, **more):
    conf = {"bootstrap.servers": f"{host}:{port}"} | more
    found = LibrdkafkaConfigs(PRODUCER, conf, {})
    chosen = choose_entries(
        DEFAULT_KEYS[PRODUCER],
        found.find_config,
        rules=load_rules(),
        software_name="confluent-kafka-python",
        is_default_list=True,
    )
    return PushPlan(
        access=make_access(found.find, conf),
        software=NamedSoftware(
            client_id="app",
            name="confluent-kafka-python",
            version="1",
            client_instance_id=make_instance_id(),
        ),
        entries=list(chosen.entries),
        api_key=DEFAULT_API_KEY,
        timeout_ms=timeout_ms,
        retry_backoff_ms=100,
        retry_backoff_max_ms=1_000,
    )


def test_a_kafka_that_comes_back_is_waited_for_as_the_bridge_says(
    kafka, push_topics, tmp_path
):
    """First 89 without a time, then 89 with one, then success."""
    settings = [
        "bridge.publish_timeout_ms=300",
        "client_config.min_push_interval_ms=3000",
    ]
    waits = []
    (pid,) = kafka.pids.values()
    with running_bridge(kafka, tmp_path / "log", *push_topics, *settings) as (
        _,
        host,
        port,
    ):
        # The producer of the bridge has then been to Kafka once.
        Handshake(make_plan(host, port)).run()

        def wait(seconds):
            waits.append(seconds)
            os.kill(pid, signal.SIGCONT)
            time.sleep(seconds)

        handshake = Handshake(make_plan(host, port), wait=wait)
        stop_process(pid)
        try:
            handshake.run()
        finally:
            os.kill(pid, signal.SIGCONT)
        assert (handshake.is_pushed, handshake.fault) == (True, "")
        keys = [
            record.key()
            for record in read_topic(kafka, push_topics[1].partition("=")[2])
        ]
    assert len(set(keys)) == 2
    assert 0.08 <= waits[0] <= 0.12
    # The rest of the three seconds between two pushes of one connection, by its own clock.
    assert 0.2 <= waits[1] <= 3.0


def test_the_backoff_doubles_up_to_its_longest_and_is_jittered(
    kafka, push_topics, tmp_path
):
    """Kafka is silent for five answers, so that the bridge refuses each with 89."""
    waits = []
    (pid,) = kafka.pids.values()
    quick = "bridge.publish_timeout_ms=200"
    with running_bridge(kafka, tmp_path / "log", *push_topics, quick) as (
        _,
        host,
        port,
    ):
        Handshake(make_plan(host, port)).run()

        def wait(seconds):
            waits.append(seconds)
            if len(waits) >= 5:
                os.kill(pid, signal.SIGCONT)

        handshake = Handshake(make_plan(host, port), wait=wait)
        stop_process(pid)
        try:
            handshake.run()
        finally:
            os.kill(pid, signal.SIGCONT)
    assert (handshake.is_pushed, handshake.fault) == (True, "")
    assert len(waits) >= 5
    for waited_s, grown_s in zip(waits, [0.1, 0.2, 0.4, 0.8, 1.0], strict=False):
        assert 0.8 * grown_s <= waited_s <= 1.2 * grown_s


REFUSALS = {
    "CONFIG_TOO_LARGE": ("client_config.max_bytes=100", "error 10072: "),
    "INVALID_CONFIG": ("client_config.on_violation=reject", "error 40: sensitive"),
}


@pytest.mark.parametrize(("setting", "told"), REFUSALS.values(), ids=REFUSALS)
def test_what_is_refused_for_good_is_not_tried_again(
    kafka, push_topics, tmp_path, setting, told
):
    waits = []
    with running_bridge(kafka, tmp_path / "log", *push_topics, setting) as (
        _,
        host,
        port,
    ):
        plan = make_plan(host, port, **{"client.id": "app-7"})
        # A client with no rules of its own.
        token = ConfigEntry("com.acme.token", "x", 1, False)
        plan.entries.append(token)
        handshake = Handshake(plan, wait=waits.append)
        handshake.run()
        assert read_topic(kafka, push_topics[1].partition("=")[2]) == []
    assert handshake.fault.startswith(told)
    assert (handshake.is_pushed, handshake.is_advertised) == (False, True)
    assert waits == []


def test_an_outage_blocks_no_longer_than_was_said(
    kafka, push_topics, tmp_path, push_log
):
    logger, told = push_log
    (pid,) = kafka.pids.values()
    quick = "bridge.publish_timeout_ms=300"
    with running_bridge(kafka, tmp_path / "log", *push_topics, quick) as (
        _,
        host,
        port,
    ):
        conf = {"bootstrap.servers": f"{host}:{port}", "logger": logger}
        stop_process(pid)
        try:
            prepared = prepare(PRODUCER, conf, **{"default.api.timeout.ms": 1_500})
        finally:
            os.kill(pid, signal.SIGCONT)
        assert prepared.client_instance_id is not None
    (warning,) = told
    assert warning.startswith("configuration push: failed: not done in")
    # The bridge is gone now.
    prepared = prepare(PRODUCER, conf, **{"default.api.timeout.ms": 2_000})
    assert prepared.conf == conf
    assert told[1].endswith("last: Connection refused")


def test_a_frozen_bridge_blocks_no_longer_than_was_said(
    kafka, push_topics, tmp_path, push_log
):
    logger, told = push_log
    with running_bridge(kafka, tmp_path / "log", *push_topics) as (process, host, port):
        conf = {"bootstrap.servers": f"{host}:{port}", "logger": logger}
        stop_process(process.pid)
        try:
            prepared = prepare(PRODUCER, conf, **{"default.api.timeout.ms": 300})
        finally:
            process.send_signal(signal.SIGCONT)
    assert prepared.conf == conf
    (warning,) = told
    assert "not done in" in warning
