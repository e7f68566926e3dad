"""Use per principal, and what changed."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.reading.quota_overview import (
    select_limits,
    select_most_used,
    select_quota_changes,
    select_traffic_over_time,
)
from pipelines.reading.quota_use import CLIENT_QUOTA_USE_SQL, select_quota_use

KEY = "producer_byte_rate"
QUOTA_SCHEMA = (
    "cluster_id STRING, entity_path STRING, quota_key STRING, quota_value DOUBLE, "
    "valid_from TIMESTAMP, valid_to TIMESTAMP, not_before TIMESTAMP, source STRING"
)
START = datetime(2026, 3, 1, tzinfo=UTC)


def test_changes_are_what_was_set_changed_and_removed(spark):
    day = timedelta(days=1)
    first = ("k", "users/a", KEY)
    rows = [
        (*first, 1.0, START, START + day, None, "file"),
        (*first, 2.0, START + day, START + 2 * day, START, "file"),
        (*first, 3.0, START + 4 * day, None, None, "file"),
        ("k", "users/b", KEY, 9.0, START - 9 * day, None, None, "file"),
    ]
    frame = spark.createDataFrame(rows, QUOTA_SCHEMA)
    found = select_quota_changes(frame, START + day / 2).collect()
    assert [(row["before"], row["after"]) for row in found] == [
        (None, 3.0),
        (2.0, None),
        (1.0, 2.0),
    ]
    assert [row["not_before"] is None for row in found] == [True, True, False]
    assert {row["entity_path"] for row in found} == {"users/a"}
    assert len(select_quota_changes(frame).collect()) == 5


SHARE_SCHEMA = (
    "cluster_id STRING, principal STRING, client_id STRING, "
    "client_source_address STRING, quota_key STRING, `limit` DOUBLE, level INT, "
    "entity_path STRING, quota_id STRING, shared_by INT, live_brokers INT, "
    "cluster_limit DOUBLE, reason STRING, reported_throttle_ms_max DOUBLE, "
    "reported_rate DOUBLE, used_rate DOUBLE, throttled_ms DOUBLE"
)


def share_row(cluster, client, quota_id, rate, **values):
    brokers = values.get("live_brokers", 3)
    limit = values.get("limit", 1000.0)
    known = limit is not None and brokers is not None
    row = {
        "cluster_id": cluster,
        "principal": "User:a",
        "client_id": client,
        "client_source_address": "10.0.0.1",
        "quota_key": KEY,
        "limit": limit,
        "level": 3,
        "entity_path": "users/a",
        "quota_id": quota_id,
        "shared_by": 4,
        "live_brokers": brokers,
        "cluster_limit": limit * brokers if known else None,
        "reason": "level 3: users/a",
        "reported_throttle_ms_max": None,
        "reported_rate": rate,
        "used_rate": None,
        "throttled_ms": None,
    }
    return tuple((row | values).values())


@pytest.fixture(scope="module")
def shares(spark):
    one_client = {"shared_by": 1, "entity_path": "users/b", "principal": "User:b"}
    counted = {"used_rate": 500.0, "throttled_ms": 7.0, "entity_path": "users/c"}
    rows = [
        *(share_row("k1", f"c{number}", "a:", 900.0) for number in range(1, 5)),
        share_row("k2", "c1", "a:", 30.0, limit=10.0, live_brokers=1),
        share_row("k1", "one", "b:", 2400.0, **one_client),
        *(share_row("k1", name, "c:", 2900.0, **counted) for name in ("p", "q")),
        share_row("k1", "free", None, 5.0, limit=None, entity_path=None, level=None),
        share_row("k1", "free2", None, 6.0, limit=None, entity_path=None, level=None),
        share_row("k1", "lost", "d:", 6.0, live_brokers=None),
        share_row("k1", "c1", None, None, quota_key="connection_creation_rate"),
    ]
    return spark.createDataFrame(rows, SHARE_SCHEMA)


def test_select_quota_use_without_proxy_adds_the_reports_of_all_sharers(shares):
    found = {
        (row["cluster_id"], row["quota_id"] or row["client_id"]): row
        for row in select_quota_use(shares).collect()
    }
    shared, alone = found["k1", "a:"], found["k1", "b:"]
    assert (shared["used_rate"], shared["use"]) == (3600.0, 1.2)
    assert (shared["basis"], shared["clients"], shared["shared_by"]) == (
        *("reported", 4),
        4,
    )
    assert (alone["use"], alone["limit"], alone["live_brokers"]) == (0.8, 1000.0, 3)
    assert found["k2", "a:"]["use"] == 3.0
    assert found["k1", "d:"]["use"] is None
    assert {name for cluster, name in found} == {
        "a:",
        "b:",
        "c:",
        "d:",
        "free",
        "free2",
    }


def test_select_quota_use_with_proxy_takes_the_busiest_broker(shares):
    (row,) = select_quota_use(shares).where("quota_id = 'c:'").collect()
    assert (row["basis"], row["used_rate"], row["use"]) == ("proxy", 500.0, 0.5)
    assert row["throttled_ms"] == 7.0


def test_client_quota_use_gives_each_client_the_use_of_its_sharers(spark, shares):
    rows = read_client_use(spark, shares).where("cluster_id = 'k1'").collect()
    found = {row["client_id"]: row for row in rows}
    assert len(rows) == len(found) == 10
    assert (found["c2"]["use"], found["c2"]["reported_rate"]) == (1.2, 900.0)
    assert (found["free"]["use"], found["free"]["used_rate"]) == (None, 5.0)


def test_select_limits_lists_each_limit_once_with_all_its_sharers(spark, shares):
    client_use = read_client_use(spark, shares)
    found = select_limits(client_use.where("client_id IN ('c1', 'c2')")).collect()
    assert [(one["cluster_id"], one["used_percent"]) for one in found] == [
        *(("k2", 300.0), ("k1", 120.0))
    ]
    most = select_most_used(select_limits(client_use)).collect()
    assert [one["quota"] for one in most[:2]] == [f"a: {KEY} @ k2", f"a: {KEY} @ k1"]


def read_client_use(spark, shares):
    use = select_quota_use(shares)
    query = CLIENT_QUOTA_USE_SQL.replace("FROM effective_quotas", "FROM {shares}")
    query = query.replace("JOIN quota_use", "JOIN {use}")
    return spark.sql(query, shares=shares, use=use)


def test_select_traffic_over_time_keeps_clients_with_equal_ids_apart(spark):
    schema = (
        "cluster_id STRING, principal STRING, client_id STRING, window_start TIMESTAMP,"
        "window_ms INT, produced_bytes BIGINT, fetched_bytes BIGINT, "
        "throttle_ms_sum BIGINT, produce_throttle_ms_sum BIGINT"
    )
    rows = [
        ("k", "User:a", "c", START, 10_000, 100, 0, 0, 0),
        ("k", "User:a", "c", START, 10_000, 50, 0, 0, 0),
        ("k", "User:b", "c", START, 5_000, 100, 0, 0, 0),
        ("k", "User:b", "", START, 5_000, 0, 100, 7, 0),
    ]
    found = select_traffic_over_time(spark.createDataFrame(rows, schema)).collect()
    assert [(row["client"], row["bytes_s"], row["throttled_ms"]) for row in found] == [
        ("(no client id) fetched", 20.0, 7),
        ("c, User:a produced", 15.0, 0),
        ("c, User:b produced", 20.0, 0),
    ]
