"""Use per principal, and what changed."""

from datetime import UTC, datetime, timedelta

from pipelines.reading.quota_overview import (
    select_most_used,
    select_quota_changes,
    select_quota_use,
)

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
    found = {row["principal"]: row for row in select_quota_use(frame).collect()}
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
