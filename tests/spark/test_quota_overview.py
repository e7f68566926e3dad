"""Use per principal, and what changed."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.reading import quota_overview
from pipelines.reading.quota_overview import select_most_used, select_quota_changes
from pipelines.reading.quota_use import CLIENT_QUOTA_USE_SQL, select_quota_use

KEY = "producer_byte_rate"
USE_SCHEMA = (
    "cluster_id STRING, principal STRING, quota_key STRING, quota_id STRING, "
    "`limit` DOUBLE, cluster_limit DOUBLE, entity_path STRING, reported_rate DOUBLE, "
    "reported_throttle_ms_max DOUBLE"
)
QUOTA_SCHEMA = (
    "cluster_id STRING, entity_path STRING, quota_key STRING, quota_value DOUBLE, "
    "valid_from TIMESTAMP, valid_to TIMESTAMP"
)
START = datetime(2026, 3, 1, tzinfo=UTC)


def use_row(principal, quota_id, limit, rate, *, throttled=None, key=KEY):
    path = None if limit is None else f"users/{principal}"
    whole = None if limit is None else 3.0 * limit
    return ("k", principal, key, quota_id, limit, whole, path, rate, throttled)


def test_clients_of_one_quota_id_share_its_limit(spark):
    rows = [
        use_row("a", "a:", 10.0, 6.0, throttled=3.0),
        use_row("a", "a:", 10.0, 9.0, throttled=None),
        use_row("b", "b:", 10.0, None),
        use_row("c", ":x", None, 5.0),
        use_row("a", None, 1.0, None, key="connection_creation_rate"),
    ]
    frame = spark.createDataFrame(rows, USE_SCHEMA)
    found = {
        row["principal"]: row
        for row in quota_overview.select_quota_use(frame).collect()
    }
    assert list(found) == ["a", "b", "c"]
    a, b, c = found.values()
    assert (a["clients"], a["limit"], a["cluster_limit"]) == (2, 10.0, 30.0)
    assert (a["use"], a["used_percent"], a["throttle_ms_max"]) == (15.0, 50.0, 3.0)
    assert (b["use"], b["used_percent"], b["entity_paths"]) == (None, None, "users/b")
    assert (c["limit"], c["use"], c["used_percent"]) == (None, 5.0, None)
    assert select_most_used(frame).collect() == [(f"a {KEY}", 50.0)]


def test_changes_are_what_was_set_changed_and_removed(spark):
    day = timedelta(days=1)
    first = ("k", "users/a", KEY)
    rows = [
        (*first, 1.0, START, START + day),
        (*first, 2.0, START + day, START + 2 * day),
        (*first, 3.0, START + 4 * day, None),
        ("k", "users/b", KEY, 9.0, START - 9 * day, None),
    ]
    frame = spark.createDataFrame(rows, QUOTA_SCHEMA)
    found = select_quota_changes(frame, START + day / 2).collect()
    assert [(row["before"], row["after"]) for row in found] == [
        (None, 3.0),
        (2.0, None),
        (1.0, 2.0),
    ]
    assert {row["entity_path"] for row in found} == {"users/a"}


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
    shares.createOrReplaceTempView("effective_quotas")
    select_quota_use(shares).createOrReplaceTempView("quota_use")
    rows = spark.sql(CLIENT_QUOTA_USE_SQL).where("cluster_id = 'k1'").collect()
    for name in ("effective_quotas", "quota_use"):
        spark.catalog.dropTempView(name)
    found = {row["client_id"]: row for row in rows}
    assert len(rows) == len(found) == 10
    assert (found["c2"]["use"], found["c2"]["reported_rate"]) == (1.2, 900.0)
    assert (found["free"]["use"], found["free"]["used_rate"]) == (None, 5.0)
