"""Full sets of a cluster's records, and all that does not depend on batches."""

import copy
import random

import pytest

from pipelines.tables.cluster import CLUSTER_CHANGES, CLUSTER_STATES
from tests.support.cluster_records import (
    BROKER,
    CLUSTER,
    GROUP,
    METRICS,
    TOPIC_CONFIG,
    broker,
    config,
    full_set,
    level,
    quota,
    random_records,
    sent,
)
from tests.support.cluster_tables import KEYS, Cluster, ms

LOG = {"source": "metadata_log"}
SEGMENT = "log.segment.bytes"


@pytest.fixture
def cluster():
    return Cluster()


def subscription(key, value, at):
    return config(METRICS, "team-a", key, value, at)


def everything(at):
    return [
        broker(1, at, {SEGMENT: "1"}, static_configs="described"),
        config(BROKER, "1", SEGMENT, "2", at),
        config(BROKER, "", "x", "2", at),
        subscription("metrics", "a.", at),
        quota({"user": "alice"}, "producer_byte_rate", 1.0, at),
    ]


OTHERS = [
    broker(2, 1, {SEGMENT: "1"}, static_configs="described"),
    config(BROKER, "1", "y", "2", 1),
    config(GROUP, "g", "y", "2", 1),
    config(TOPIC_CONFIG, "t", "y", "2", 1, **LOG),
    subscription("interval.ms", "1000", 1),
    config(METRICS, "b", "metrics", "a.", 1),
    quota({"user": None}, "producer_byte_rate", 1.0, 1),
]


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_full_set_closes_what_it_does_not_name(cluster, is_cut):
    cluster.write(*everything(0), *OTHERS)
    whole = full_set(everything(8), 9)
    if is_cut:
        cluster.write(*whole[:2])
        cluster.write(*whole[2:])
    else:
        cluster.write(*whole)
    live = ("broker_id", "end_reason", "ended_at")
    assert [
        (*r[:2], ms(r[2])) for r in cluster.rows("broker_registrations", *live)
    ] == [
        (1, None, None),
        (2, "vanished", 9),
    ]
    assert cluster.current("resource_configs", "resource_type", "config_name") == [
        ("broker", SEGMENT),
        ("broker", "x"),
        # A look does not see topics.
        ("topic", "y"),
    ]
    assert cluster.current("broker_static_configs", "broker_id") == [(1,)]
    assert cluster.current("client_metrics_subscriptions", "name", "interval_ms") == [
        ("team-a", None)
    ]
    assert cluster.current("client_quotas", "entity_path") == [("users/alice",)]
    assert cluster.changes[-1] == (
        "full set of 5 records, closed brokers/1 y, brokers/2, client-metrics/b metrics"
        ", client-metrics/team-a interval.ms, groups/g y and 1 more"
    )


@pytest.mark.parametrize(
    "records",
    [
        full_set(everything(8)[1:], 9, count=5),
        full_set(everything(8)[1:], 9, covers=()),
        [sent("full_set/x", b"{", 9), sent("full_set/x", b'{"v":2}', 9)],
    ],
)
def test_a_set_that_is_cut_off_closes_nothing(cluster, records):
    cluster.write(*everything(0), *OTHERS)
    before = copy.deepcopy(cluster.tables)
    cluster.write(*records)
    assert cluster.tables == before


def test_a_set_keeps_the_configs_of_a_broker_that_does_not_answer(cluster):
    cluster.write(*everything(0))
    known = [broker(1, 8, static_configs="unreachable"), *everything(8)[2:]]
    cluster.write(*full_set(known, 9))
    assert cluster.current("resource_configs", "config_name") == [(SEGMENT,), ("x",)]


@pytest.mark.parametrize("seed", range(20))
def test_all_tables_are_functions_of_the_topic(seed):
    records = random_records(seed)
    at_once, rng = Cluster(), random.Random(seed)  # noqa: S311 - a test
    at_once.write(*records)
    cut = Cluster()
    while records:
        size = rng.randint(1, 7)
        cut.write(*records[:size])
        records = records[size:]
    assert cut.tables == at_once.tables
    assert cut.ledger == at_once.ledger
    for name in KEYS.keys() - {"broker_registrations"}:
        for row in at_once.tables[name].values():
            assert row["valid_to"] is None or row["valid_from"] < row["valid_to"]
            assert row["is_current"] == (row["valid_to"] is None)


def test_rows_have_the_columns_of_their_tables():
    cluster = Cluster()
    cluster.write(*full_set([*everything(0), *OTHERS], 9), level(25, 10))
    for contract in CLUSTER_STATES:
        for row in cluster.tables[contract.name].values():
            assert row.keys() == {*contract.column_names}
    assert {*cluster.ledger[0]} == {*CLUSTER_CHANGES.column_names}
    assert {row["cluster_id"] for row in cluster.ledger} == {CLUSTER}
