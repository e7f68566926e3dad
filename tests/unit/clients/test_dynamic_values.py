"""What becomes of dynamic configs, by the handles of confluent_kafka itself."""

from functools import partial

import pytest

from pipelines.clients.configs_in_force import LibrdkafkaConfigs
from pipelines.clients.dynamic_values import (
    APPLIED,
    IGNORED,
    PENDING,
    UNSUPPORTED,
    DynamicConfig,
    compare,
    list_supported,
    overlay,
    read_in_force,
    reduce_conf,
    settle,
)
from pipelines.clients.key_lists import ADMIN, CONSUMER, PRODUCER, SHARE_CONSUMER
from pipelines.clients.trial_handles import is_taken

GROUP = {"group.id": "g"}
SESSION, HEARTBEAT = "session.timeout.ms", "heartbeat.interval.ms"


def settled(client_type, conf, values):
    return settle(client_type, conf, values, partial(is_taken, client_type))


APPLIES = {
    "acks over none": (PRODUCER, {}, {"acks": "0"}),
    "acks over the application's": (PRODUCER, {"acks": "all"}, {"acks": "1"}),
    "acks over another name of it": (
        PRODUCER, {"request.required.acks": 1}, {"acks": "0"}),
    "acks over a topic's": (
        PRODUCER, {"default.topic.config": {"acks": 1, "compression.type": "gzip"}},
        {"acks": "0"}),
    "all acks of an idempotent producer": (
        PRODUCER, {"enable.idempotence": True}, {"acks": "-1"}),
    "all acks of a transactional producer": (
        PRODUCER, {"transactional.id": "t"}, {"acks": "all"}),
    "a session": (CONSUMER, GROUP, {SESSION: "20000"}),
    "a heartbeat below the application's session": (
        CONSUMER, GROUP | {SESSION: 9_000}, {HEARTBEAT: "8999"}),
    "both": (CONSUMER, GROUP, {SESSION: "7000", HEARTBEAT: "6999"}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("client_type", "conf", "values"), APPLIES.values(), ids=APPLIES
)
def test_a_dynamic_value_stands_over_the_applications(client_type, conf, values):
    made = settled(client_type, conf, values)
    assert made.told == {key: DynamicConfig(values[key], APPLIED) for key in values}
    in_force = read_in_force(client_type, made.conf)
    assert {key: in_force[key] for key in values} == {
        key: "-1" if value == "all" else value for key, value in values.items()
    }
    assert is_taken(client_type, made.conf)


BELOW = "heartbeat.interval.ms must be below session.timeout.ms"
REFUSED = "confluent_kafka refuses the value"
IGNORES = {
    "acks of an idempotent producer": (
        PRODUCER, {"enable.idempotence": "true"}, {"acks": "1"},
        "enable.idempotence needs acks=all"),
    "acks of a transactional producer": (
        PRODUCER, {"transactional.id": "t"}, {"acks": "0"},
        "transactional.id needs acks=all"),
    "acks that are none": (PRODUCER, {}, {"acks": "many"}, REFUSED),
    "acks out of range": (PRODUCER, {}, {"acks": "1001"}, REFUSED),
    "an empty value": (PRODUCER, {"acks": 1}, {"acks": ""}, REFUSED),
    "a heartbeat as long as a session": (
        CONSUMER, GROUP, {SESSION: "9000", HEARTBEAT: "9000"}, BELOW),
    "a heartbeat above the application's session": (
        CONSUMER, GROUP | {SESSION: 6_000}, {HEARTBEAT: "7000"}, BELOW),
    "a session below the application's heartbeat": (
        CONSUMER, GROUP | {HEARTBEAT: 9_000}, {SESSION: "8000"}, BELOW),
    "a session out of range": (CONSUMER, GROUP, {SESSION: "3600001"}, REFUSED),
    "a session above the poll interval": (
        CONSUMER, GROUP | {"max.poll.interval.ms": 50_000}, {SESSION: "50001"}, REFUSED),
    "a session of the newer protocol": (
        CONSUMER, GROUP | {"group.protocol": "Consumer"},
        {SESSION: "9000", HEARTBEAT: "1000"},
        "group.protocol=consumer: the group's configs at the broker decide"),
    "a session of a share consumer": (
        SHARE_CONSUMER, GROUP, {SESSION: "9000"},
        "the group's configs at the broker decide for share consumers"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("client_type", "conf", "values", "why"), IGNORES.values(), ids=IGNORES
)
def test_a_value_that_must_not_be_leaves_the_applications(
    client_type, conf, values, why
):
    made = settled(client_type, conf, values)
    assert made.told == {
        key: DynamicConfig(values[key], IGNORED, why) for key in sorted(values)
    }
    assert made.conf == conf


def test_a_value_that_is_refused_takes_no_other_with_it():
    made = settled(CONSUMER, GROUP, {SESSION: "3600001", HEARTBEAT: "4000"})
    assert [made.told[key].state for key in (HEARTBEAT, SESSION)] == [APPLIED, IGNORED]
    assert made.conf == GROUP | {HEARTBEAT: "4000"}


def test_a_heartbeat_goes_with_the_session_that_it_needs():
    """The session is refused, and the application's is shorter than the heartbeat."""
    conf = GROUP | {SESSION: 6_000}
    made = settled(CONSUMER, conf, {SESSION: "3600001", HEARTBEAT: "7000"})
    assert made.told[HEARTBEAT] == DynamicConfig("7000", IGNORED, BELOW)
    assert made.told[SESSION] == DynamicConfig("3600001", IGNORED, REFUSED)
    assert made.conf == conf


def test_no_other_key_is_taken_whatever_the_cluster_has():
    values = {
        "bootstrap.servers": "evil:1",
        "plugin.library.paths": "x",
        SESSION: "9000",
    }
    made = settled(PRODUCER, {}, values | {"supported.configs": "acks"})
    assert made.conf == {}
    assert {key: one.state for key, one in made.told.items()} == dict.fromkeys(
        values, UNSUPPORTED
    )


def test_what_cannot_be_tried_whole_is_tried_in_part():
    """A plugin has properties that nobody else knows; the dynamic value still counts."""
    conf = GROUP | {"plugin.library.paths": "x", "only.it.knows": 1}

    def takes(client_type, tried):
        find = LibrdkafkaConfigs(client_type, tried, {}).find
        return is_taken(client_type, reduce_conf(tried, find))

    consumes, produces = partial(takes, CONSUMER), partial(takes, PRODUCER)
    made = settle(CONSUMER, conf, {SESSION: "3600001", HEARTBEAT: "4000"}, consumes)
    assert made.conf == conf | {HEARTBEAT: "4000"}
    made = settle(PRODUCER, {"plugin.library.paths": "x"}, {"acks": "0"}, produces)
    assert made.told["acks"].state == APPLIED


@pytest.mark.parametrize(
    ("client_type", "conf", "keys"),
    [
        (PRODUCER, {}, ("acks",)),
        (CONSUMER, GROUP, (HEARTBEAT, SESSION)),
        (CONSUMER, GROUP | {"group.protocol": "consumer"}, None),
        (SHARE_CONSUMER, GROUP, None),
        (ADMIN, {}, None),
    ],
)
def test_a_client_registers_what_it_can_take(client_type, conf, keys):
    find = LibrdkafkaConfigs(client_type, conf, {}).find
    assert list_supported(client_type, find) == keys


def test_what_runs_is_compared_by_the_values_in_force():
    running = settled(PRODUCER, {"acks": "all"}, {})
    same = settled(PRODUCER, {"acks": "all"}, {"acks": "-1"})
    other = settled(PRODUCER, {"acks": "all"}, {"acks": "1"})
    assert compare(PRODUCER, running, same, "why") == same.told
    pending = {"acks": DynamicConfig("1", PENDING, "why")}
    assert compare(PRODUCER, running, other, "why") == pending
    gone = {"acks": DynamicConfig(None, PENDING, "why")}
    assert compare(PRODUCER, other, running, "why") == gone


def test_nothing_over_a_configuration_leaves_it():
    conf = {"acks": 1, "default.topic.config": {"acks": 0}}
    assert overlay(conf, {}) == conf
