"""What records make of the tables of a cluster, at once or one by one."""

import pytest

from tests.support.cluster_records import (
    BROKER,
    GROUP,
    METRICS,
    START_MS,
    TOPIC_CONFIG,
    broker,
    config,
    endpoint,
    full_set,
    gone,
    level,
    quota,
    sent,
)
from tests.support.cluster_tables import Cluster, ms, times
from udfs.cluster.record_bytes import write_record
from udfs.cluster.record_keys import record_key

LOG = {"source": "metadata_log"}
FIRST, SECOND = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"


@pytest.fixture
def cluster():
    return Cluster()


def test_a_quota_is_a_row_for_each_value_and_a_line_for_each_change(cluster):
    alice = {"user": "alice", "client_id": None}
    cluster.write(
        quota(alice, "producer_byte_rate", 1048576.0, 0),
        quota(alice, "producer_byte_rate", 524288.0, 5, not_before_ms=START_MS + 3),
        quota(alice, "producer_byte_rate", 524288.0, 6),
    )
    cluster.write(quota(alice, "producer_byte_rate", None, 9))
    assert times(cluster, "client_quotas", "entity_path", "quota_value") == [
        ("users/alice/clients/<default>", 1048576.0, 0, 5),
        ("users/alice/clients/<default>", 524288.0, 5, 9),
    ]
    assert cluster.changes == [
        "producer_byte_rate set to 1048576",
        "producer_byte_rate 1048576 -> 524288",
        None,
        "producer_byte_rate 524288 removed",
    ]
    columns = ("user_name", "is_default_user", "client_id", "is_default_client_id")
    assert cluster.rows("client_quotas", *columns)[0] == ("alice", False, None, True)
    looks = [row[0] for row in cluster.rows("client_quotas", "not_before")]
    assert looks == [(START_MS + 3) * 1000, None]
    assert {row["entity"] for row in cluster.ledger} == {
        "users/alice/clients/<default>"
    }


def test_each_alteration_has_a_row_though_times_are_equal_or_run_back(cluster):
    def ip(value, at):
        return quota({"ip": "10.0.0.7"}, "connection_creation_rate", value, at)

    cluster.write(ip(1.0, 5), ip(2.0, 5))
    cluster.write(ip(3.0, 4), ip(None, 4), ip(4.0, 4))
    assert times(cluster, "client_quotas", "quota_value") == [
        (1.0, 5, 5.001),
        (2.0, 5.001, 5.002),
        (3.0, 5.002, 5.003),
        (4.0, 5.003, None),
    ]


def test_dynamic_configs_of_brokers_groups_and_topics_hide_what_was_withheld(cluster):
    cluster.write(
        config(BROKER, "1", "log.segment.bytes", "7", 0),
        config(BROKER, "", "listener.name.x.ssl.key.password", None, 1, withheld=1),
        config(GROUP, "g/1", "consumer.session.timeout.ms", "9", 2),
        config(TOPIC_CONFIG, "t", "retention.ms", "1", 3, **LOG),
        config(BROKER, "", "listener.name.x.ssl.key.password", None, 4),
        config(8, "1", "kafka.server", "DEBUG", 5),
        config(BROKER, "", "never.set", None, 6),
    )
    columns = ("resource_type", "resource_name", "config_name", "config_value")
    assert cluster.rows("resource_configs", *columns, "status", "is_current") == [
        ("broker", "", "listener.name.x.ssl.key.password", None, "redacted", False),
        ("broker", "1", "log.segment.bytes", "7", "set", True),
        ("group", "g/1", "consumer.session.timeout.ms", "9", "set", True),
        ("topic", "t", "retention.ms", "1", "set", True),
    ]
    assert cluster.changes[1] == "listener.name.x.ssl.key.password set to (hidden)"
    assert cluster.changes[4] == "listener.name.x.ssl.key.password (hidden) removed"
    assert cluster.changes[5:] == [None, None]
    assert cluster.ledger[2]["entity"] == "groups/g%2F1"
    assert cluster.ledger[5]["entity"] == "broker-loggers/1"


def subscription(key, value, at):
    return config(METRICS, "team-a", key, value, at)


STATE = ("metrics", "interval_ms", "match", "problem")


@pytest.mark.parametrize("at_once", [True, False])
def test_subscription_change_by_bridge_with_slow_clock_keeps_former_state(
    cluster, at_once
):
    """The bridge that leads next has a clock that is 5 ms behind."""
    cluster.write(subscription("metrics", "a.", 9), subscription("match", "", 9))
    changes = [subscription("interval.ms", "1000", 4), subscription("metrics", "b.", 6)]
    for records in [changes] if at_once else [[one] for one in changes]:
        cluster.write(*records)
    rows = times(cluster, "client_metrics_subscriptions", "metrics", "interval_ms")
    assert sorted(rows, key=lambda row: row[2]) == [
        (["a."], None, 9, 9.001),
        (["a."], 1_000, 9.001, 9.002),
        (["b."], 1_000, 9.002, None),
    ]


def test_what_is_set_in_one_moment_is_one_state_of_a_subscription(cluster):
    cluster.write(subscription("metrics", " a. , b.", 0))
    cluster.write(
        subscription("interval.ms", "1000", 0),
        subscription("match", "client_id=x.*,client_id=y", 0),
        subscription("interval.ms", "2000", 7),
    )
    match = [("client_id", "y")]
    assert times(cluster, "client_metrics_subscriptions", *STATE) == [
        (["a.", "b."], 1000, match, None, 0, 7),
        (["a.", "b."], 2000, match, None, 7, None),
    ]
    assert cluster.changes[-1] == "interval.ms 1000 -> 2000"
    cluster.write(
        subscription("metrics", None, 9),
        subscription("interval.ms", None, 9),
        subscription("match", None, 9),
    )
    assert cluster.current("client_metrics_subscriptions", "name") == []


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        (
            {"interval.ms": "99"},
            (
                "Invalid value 99 for interval.ms, interval must be between 100 and 3600000"
                " (1 hour)"
            ),
        ),
        (
            {"interval.ms": "soon"},
            (
                "Invalid value soon for configuration interval.ms: Not a number of type "
                "INT"
            ),
        ),
        (
            {"match": "client_id=x,client=1"},
            "Illegal client matching pattern: client=1",
        ),
        ({"random": "1"}, "Unknown client metrics configuration: random"),
    ],
)
def test_a_subscription_says_why_the_bridge_cannot_use_it(cluster, properties, problem):
    for key, value in properties.items():
        cluster.write(subscription(key, value, 0))
    # What is wrong stays so, whatever else is set.
    cluster.write(subscription("metrics", "a.", 1))
    rows = cluster.current("client_metrics_subscriptions", "problem", "metrics")
    assert rows == [(problem, ["a."])]


REGISTRATION = ("incarnation_id", "broker_epoch", "end_reason", "is_current")


def test_an_incarnation_of_the_log_ends_when_it_is_replaced_or_unregistered(cluster):
    def started(incarnation, epoch, at):
        return broker(1, at, incarnation_id=incarnation, broker_epoch=epoch, **LOG)

    cluster.write(level(25, 0), started(FIRST, 4, 1), level(26, 2))
    cluster.write(started(SECOND, 9, 3), gone(1, 5, **LOG))
    assert cluster.rows("broker_registrations", *REGISTRATION, "metadata_version") == [
        (FIRST, 4, "replaced", False, 25),
        (SECOND, 9, "unregistered", True, 26),
    ]
    ended = cluster.rows("broker_registrations", "registered_at", "ended_at")
    assert [tuple(map(ms, row)) for row in ended] == [(1, 3), (3, 5)]
    assert cluster.changes == [
        "metadata.version set to 25",
        f"registered, incarnation {FIRST}, epoch 4",
        "metadata.version 25 -> 26",
        f"registered, incarnation {SECOND}, epoch 9",
        "unregistered",
    ]
    # While it lives it comes back by the name that it has.
    cluster.write(started(SECOND, 12, 7))
    found = cluster.rows("broker_registrations", *REGISTRATION)
    assert found[1] == (SECOND, 12, None, True)


def test_a_look_knows_a_broker_by_its_being_there_and_its_address(cluster):
    cluster.write(broker(1, 0, rack="r1"), broker(1, 5, rack="r1", fenced=True))
    moved = [endpoint(9999)]
    cluster.write(broker(1, 10, endpoints=moved), gone(1, 20))
    cluster.write(broker(1, 30, endpoints=moved))
    seen = [f"seen-{START_MS + at}" for at in (0, 10, 30)]
    assert cluster.rows("broker_registrations", *REGISTRATION, "is_fenced") == [
        (seen[0], None, "replaced", False, True),
        (seen[1], None, "vanished", False, False),
        (seen[2], None, None, True, False),
    ]
    assert cluster.changes[1] == "fenced"
    assert cluster.changes[3] == "vanished"
    unknown = ("features", "log_dirs", "in_controlled_shutdown", "metadata_version")
    assert {*cluster.rows("broker_registrations", *unknown)} == {(None,) * 4}


def test_a_look_leaves_what_the_log_has_told(cluster):
    listeners = [endpoint(9091), endpoint(9094, protocol="SSL")]
    given = {"incarnation_id": FIRST, "broker_epoch": 4, "endpoints": listeners}
    cluster.write(broker(1, 0, **given, **LOG))
    cluster.write(broker(1, 5, {"a": "1"}, fenced=True, static_configs="described"))
    columns = ("incarnation_id", "broker_epoch", "is_fenced", "static_configs")
    assert cluster.rows("broker_registrations", *columns) == [
        (FIRST, 4, True, "described")
    ]
    assert len(cluster.rows("broker_registrations", "endpoints")[0][0]) == 2


def event(kind, at, version=0, *, headers=LOG, **fields):
    given = {"broker_id": 1, "broker_epoch": 4} | fields
    value = write_record(kind, version, given)
    return sent(record_key(kind, "brokers/1"), value, at, **headers)


def test_a_full_set_says_again_what_was_so_and_changes_nothing(cluster):
    given = {"incarnation_id": FIRST, "broker_epoch": 4, "fenced": True}
    told = [broker(1, 0, **given, **LOG), event("UnfenceBroker", 5)]
    told += [event("FenceBroker", 7), event("UnfenceBroker", 9)]
    cluster.write(*told)
    before = cluster.rows("broker_registrations", "is_fenced", "valid_from", "offset")
    cluster.write(*full_set(told, 20, **LOG))
    after = cluster.rows("broker_registrations", "is_fenced", "valid_from", "offset")
    assert (before, cluster.changes[4:-1]) == (after, [None] * 4)
    # A snapshot may know what nobody has told before.
    cluster.write(*full_set([broker(1, 30, **given, **LOG)], 31, set_id="2", **LOG))
    assert cluster.changes[-2:] == ["fenced", "full set of 1 records"]


def test_a_look_may_find_a_fenced_broker_without_its_address(cluster):
    cluster.write(broker(1, 0, fenced=True, endpoints=[]), broker(1, 1))
    cluster.write(broker(1, 2, fenced=True, endpoints=[]))
    columns = ("incarnation_id", "is_fenced", "endpoints")
    (row,) = cluster.rows("broker_registrations", *columns)
    assert row[:2] == (f"seen-{START_MS}", True)
    assert row[2][0]["port"] == 9091


def test_fencing_and_controlled_shutdown_are_told_by_the_log(cluster):
    given = {"incarnation_id": FIRST, "broker_epoch": 4, "fenced": True}
    cluster.write(broker(1, 0, **given, **LOG), event("UnfenceBroker", 1))
    assert cluster.rows("broker_registrations", "is_fenced") == [(False,)]
    cluster.write(event("FenceBroker", 2))
    assert cluster.rows("broker_registrations", "is_fenced") == [(True,)]
    cluster.write(
        event(
            "BrokerRegistrationChange",
            3,
            3,
            fenced=-1,
            in_controlled_shutdown=1,
            log_dirs=[],
            cordoned_log_dirs=[FIRST],
        )
    )
    columns = ("is_fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs")
    assert cluster.rows("broker_registrations", *columns) == [
        (False, True, None, [FIRST])
    ]
    assert cluster.changes[1:3] == ["unfenced", "fenced"]
    assert cluster.changes[3] == (
        f"unfenced; in controlled shutdown; cordoned log dirs not told -> {FIRST}"
    )
    # Of a broker that nobody has registered nothing is said.
    cluster.write(gone(1, 4, **LOG), event("FenceBroker", 5))
    assert cluster.changes[-1] is None


STATIC = ("config_value", "is_default", "report", "effective_value", "effective_source")
SEGMENT = "log.segment.bytes"


def test_a_described_config_has_what_is_in_force_beside_its_static_value(cluster):
    defaults = {"defaults": SEGMENT, "static_configs": "described"}
    cluster.write(broker(1, 0, {SEGMENT: "1"}, **defaults))
    cluster.write(config(BROKER, "", SEGMENT, "2", 0))
    cluster.write(config(BROKER, "1", SEGMENT, "3", 5))
    cluster.write(config(BROKER, "1", SEGMENT, None, 6))
    cluster.write(config(BROKER, "", SEGMENT, None, 7))
    cluster.write(broker(1, 9, {SEGMENT: "4"}, defaults="", static_configs="described"))
    known = ("1", True, "describe_configs")
    assert times(cluster, "broker_static_configs", *STATIC) == [
        (*known, "1", "default", 7, 9),
        (*known, "2", "dynamic_default_broker", 0, 5),
        (*known, "2", "dynamic_default_broker", 6, 7),
        (*known, "3", "dynamic_broker", 5, 6),
        ("4", False, "describe_configs", "4", "static", 9, None),
    ]
    assert cluster.changes[-1] == f"{SEGMENT} 1 -> 4"
    assert {*cluster.rows("broker_static_configs", "config_type")} == {("INT",)}


def test_a_registration_tells_no_more_than_static_values(cluster):
    given = {"incarnation_id": FIRST, "broker_epoch": 4}
    cluster.write(
        config(BROKER, "1", SEGMENT, "2", 0, **LOG),
        broker(1, 1, {SEGMENT: "1", "x": None}, **given, **LOG),
        broker(2, 1, version=4, **given, **LOG),
    )
    assert cluster.rows("broker_static_configs", *STATIC) == [
        ("1", None, "registration", None, None),
        (None, None, "registration", None, None),
    ]
    assert cluster.rows("broker_registrations", "broker_id", "static_configs") == [
        (1, "reported"),
        (2, "not_reported"),
    ]
    # What it no longer reports ends.
    given["incarnation_id"] = SECOND
    cluster.write(broker(1, 5, {SEGMENT: "1"}, **given, **LOG))
    assert cluster.current("broker_static_configs", "config_name") == [(SEGMENT,)]
    cluster.write(gone(1, 6, **LOG))
    assert cluster.current("broker_static_configs", "config_name") == []


def test_a_refused_question_leaves_the_configs_that_are_known(cluster):
    cluster.write(broker(1, 0, {SEGMENT: "1"}, static_configs="described"))
    cluster.write(broker(1, 5, static_configs="refused"))
    assert cluster.current("broker_static_configs", "config_name") == [(SEGMENT,)]
    assert cluster.rows("broker_registrations", "static_configs") == [("refused",)]
    assert cluster.changes[1] == "static configs described -> refused"


def test_records_that_cannot_be_read_change_nothing_and_stand_in_the_ledger(cluster):
    good = quota({"user": "a"}, "producer_byte_rate", 1.0, 0)
    cluster.write(
        sent(good.key, good.value[:-3]),
        sent(good.key, good.value + b"x"),
        sent("Topic/x", b"\x01\x02\x00"),
        sent("x", b"\x01\x00\x63"),
        sent("x", b"\x07"),
        sent("x", b"x" * 10_001),
        sent("full_set/1", b"[]"),
        good,
    )
    assert [row["decode_status"] for row in cluster.ledger] == [
        *("truncated", "trailing_bytes", "unknown_record", "unknown_version"),
        *("unknown_frame_version", "too_large", "malformed_full_set", "ok"),
    ]
    assert len(cluster.rows("client_quotas", "quota_key")) == 1
