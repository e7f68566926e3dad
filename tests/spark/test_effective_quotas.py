"""What the quotas of a cluster mean for the clients that were seen."""

from datetime import timedelta

import pytest

from pipelines.errors import MissingTable
from pipelines.jobs.quotas.job import PacedRefresh, paced, refresh
from pipelines.tables.cluster import (
    BROKER_REGISTRATIONS,
    BROKER_STATIC_CONFIGS,
    CLIENT_QUOTAS,
    EFFECTIVE_QUOTAS,
)
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.support.spark.quota_tables import (
    CLUSTER,
    NOW,
    PRODUCER,
    QuotaTables,
    ago,
)
from udfs.quotas import QUOTA_KEYS

PRODUCE, CONSUME, CONNECTION = QUOTA_KEYS[0], QUOTA_KEYS[1], QUOTA_KEYS[-1]
FETCH = "org.apache.kafka.consumer.fetch.manager."


BASE = (("users/alice", 1_048_576), ("users/<default>", 2_097_152), ("clients/c9", 5))


def base(tables, cluster_id=CLUSTER):
    """Set the quotas of a cluster and register its brokers."""
    tables.set_quotas(*BASE, cluster_id=cluster_id)
    tables.register_brokers(False, False, True, False, cluster_id=cluster_id)


@pytest.fixture
def tables(spark, tmp_path):
    made = QuotaTables(spark, tmp_path)
    base(made)
    return made


# Each of these fills a cluster of its own, and all are worked out at once.
def one_client(tables, known):
    tables.push("User:alice", "c1", **known)


def clients_of_all_kinds(tables, known):
    tables.push("User:a", "pushed", at=ago(days=6), **known)
    tables.push("User:a", "long-ago", at=ago(days=8), **known)
    shared = known | {"client_source_address": "10.0.0.2"}
    tables.add(
        CLIENT_CONFIGS,
        shared
        | {"principal": "User:b", "client_id": "c", "received_at": ago(hours=25)},
        shared | {"principal": "User:new", "received_at": ago(hours=23)},
        shared | {"principal": "User:old", "received_at": ago(days=9)},
    )
    tables.add(
        CLIENT_WIRE_CONFIGS,
        shared | {"principal": "User:c", "client_id": None, "received_at": ago(days=2)},
        shared
        | {"principal": "User:b", "client_id": "c", "received_at": ago(days=2)}
        | {"config_key": "acks"},
    )


def instances(tables, known):
    tables.push("User:alice", "c1", **known)
    tables.push("User:alice", "c1", **known)
    tables.push("User:alice", "c2", client_source_address="10.0.0.3", **known)
    tables.push("User:alice", "silent", at=ago(minutes=2), **known)
    tables.push("User:alice", "ended", terminating=True, **known)
    tables.push("User:bob", "c1", **known)


def producers(tables, known):
    avg, most = "produce.throttle.time.avg", "produce.throttle.time.max"
    rate = "outgoing.byte.rate"
    old = {f"{PRODUCER}{avg}": 1.0, f"{PRODUCER}{most}": 9.0, f"{PRODUCER}{rate}": 7.0}
    new = {f"{PRODUCER}{avg}": 10.0, f"{PRODUCER}{most}": 80.0}
    at, first = ago(seconds=40), {"instance": "i1"} | known
    tables.push("User:alice", "c1", at=at, values=old, **first)
    tables.push("User:alice", "c1", values=new, **first)
    other = {f"{PRODUCER}{avg}": 20.0, f"{PRODUCER}{most}": 30.0}
    other |= {f"{PRODUCER}{rate}": 100.0, f"{FETCH}bytes.consumed.rate": float("nan")}
    tables.push("User:alice", "c1", instance="i2", values=other, **known)
    silent = {f"{PRODUCER}{avg}": 5.0}
    tables.push("User:bob", "c1", at=ago(minutes=5), values=silent, **known)


def consumer(tables, known):
    values = {f"{FETCH}fetch.throttle.time.avg": 4.0, f"{FETCH}bytes.consumed.rate": 8}
    row = tables.push(
        "User:alice", "c1", values={k: float(v) for k, v in values.items()}, **known
    )
    shared = {name: row[name] for name in ("push_id", "received_at", "event_date")}
    point = {"metric": f"{FETCH}bytes.consumed.rate", "value_double": 99.0}
    whole = {"metric": f"{FETCH}fetch.throttle.time.max", "value_long": 6}
    tables.add(CLIENT_METRICS, shared | point | {"topic_name": "t"}, shared | whole)


def plugin(tables, known):
    tables.push("User:alice", "c1", **known)
    name = "client.quota.callback.class"
    for broker, value in ((2, "a.B"), (10, "a.B"), (3, None)):
        tables.configure_broker(name, value, broker_id=broker, **known)


def static_default(tables, known):
    tables.push("User:alice", "c1", **known)
    for broker, value in ((1, "2000"), (2, "1000")):
        tables.configure_broker(
            "quota.consumer.default", value, broker_id=broker, **known
        )
    tables.configure_broker("quota.producer.default", str(2**63 - 1), **known)


def former_quota(tables, known):
    tables.push("User:alice", "c1", **known)
    tables.end_quota("users/alice", CONSUME, ago(hours=1), value=3, **known)


CLUSTERS = (
    *(one_client, clients_of_all_kinds, instances, producers, consumer, plugin),
    *(static_default, former_quota),
)


@pytest.fixture(scope="module")
def clusters(spark, tmp_path_factory):
    made = QuotaTables(spark, tmp_path_factory.mktemp("clusters"))
    for fill in CLUSTERS:
        base(made, fill.__name__)
        fill(made, {"cluster_id": fill.__name__})
    done = refresh_at(made)
    found = [row.asDict() for row in made.read(EFFECTIVE_QUOTAS).collect()]
    assert (done.changed, done.gone) == (len(found), 0)
    return found


def rows_of(clusters, fill, key=PRODUCE, **where):
    where |= {"cluster_id": fill.__name__, "quota_key": key}
    rows = [
        row
        for row in clusters
        if all(row[name] == what for name, what in where.items())
    ]
    return sorted(rows, key=lambda row: (row["principal"], row["client_id"]))


def row_of(clusters, fill, key=PRODUCE, **where):
    (row,) = rows_of(clusters, fill, key, **where)
    return row


def refresh_at(tables, now=NOW):
    return refresh(tables.spark, tables.settings, now)


def read(tables, key=PRODUCE, **where):
    found = tables.read(EFFECTIVE_QUOTAS).where(f"quota_key = '{key}'").collect()
    rows = [
        row.asDict()
        for row in found
        if all(row[name] == value for name, value in where.items())
    ]
    return sorted(rows, key=lambda row: (row["principal"], row["client_id"]))


def one(tables, key=PRODUCE, **where):
    (row,) = read(tables, key, **where)
    return row


def test_a_row_says_what_applies_and_why(clusters):
    row = row_of(clusters, one_client)
    assert row["principal"] == "User:alice"
    assert (row["limit"], row["level"]) == (1_048_576, 3)
    assert (row["entity_path"], row["quota_id"]) == ("users/alice", "alice:")
    assert (row["user_tag"], row["client_id_tag"]) == ("alice", "")
    assert (row["live_brokers"], row["cluster_limit"]) == (3, 3 * 1_048_576)
    assert row["reason"] == "level 3: users/alice"
    assert row["as_of"].astimezone(NOW.tzinfo) == NOW
    row = row_of(clusters, one_client, CONSUME)
    assert (row["limit"], row["level"], row["entity_path"]) == (None, None, None)
    assert (row["reason"], row["quota_id"]) == ("unlimited: nothing is set", ":c1")
    keys = [key for key in QUOTA_KEYS if rows_of(clusters, one_client, key)]
    assert keys == [*QUOTA_KEYS]


def test_clients_are_seen_by_telemetry_configurations_and_the_proxy(clusters):
    rows = rows_of(clusters, clients_of_all_kinds)
    seen = [(row["principal"], row["client_id"]) for row in rows]
    assert seen == [
        *(("User:a", "pushed"), ("User:b", "c"), ("User:c", ""), ("User:new", "")),
    ]
    # A pushed configuration keeps a client without telemetry active for 24 hours.
    assert [row["shared_by"] for row in rows] == [0, 0, 0, 1]


def test_live_instances_share_a_limit_and_others_do_not(clusters):
    by_client = {
        (row["principal"], row["client_id"]): row["shared_by"]
        for row in rows_of(clusters, instances)
    }
    assert by_client == {
        ("User:alice", "c1"): 3,
        ("User:alice", "c2"): 3,
        ("User:alice", "silent"): 3,
        ("User:alice", "ended"): 3,
        ("User:bob", "c1"): 1,
    }
    addresses = rows_of(clusters, instances, CONNECTION)
    shared = {row["client_id"]: row["shared_by"] for row in addresses}
    assert (shared["c2"], shared["silent"]) == (1, 3)


def test_reports_are_of_the_newest_push_of_live_instances(clusters):
    row = row_of(clusters, producers, principal="User:alice")
    assert row["reported_throttle_ms_avg"] == 15.0
    assert row["reported_throttle_ms_max"] == 80.0
    assert row["reported_rate"] == 100.0
    row = row_of(clusters, producers, CONSUME, principal="User:alice")
    assert row["reported_rate"] is row["reported_throttle_ms_avg"] is None
    row = row_of(clusters, producers, principal="User:bob")
    assert row["reported_throttle_ms_avg"] is None


def test_a_consumer_reports_of_fetches_and_points_of_topics_are_passed_over(clusters):
    row = row_of(clusters, consumer, CONSUME)
    assert (row["reported_throttle_ms_avg"], row["reported_rate"]) == (4.0, 8.0)
    assert row["reported_throttle_ms_max"] == 6.0
    assert row_of(clusters, consumer)["reported_rate"] is None


def test_where_a_plugin_decides_nothing_is_said_but_that(clusters):
    row = row_of(clusters, plugin)
    assert row["limit"] is row["level"] is row["quota_id"] is row["shared_by"] is None
    assert row["reason"] == (
        "a plugin decides: client.quota.callback.class of broker 2, 10"
    )
    row = row_of(clusters, plugin, CONNECTION)
    assert row["reason"] == "unlimited: nothing is set"


def test_a_static_default_of_old_brokers_is_the_last_level(clusters):
    row = row_of(clusters, static_default, CONSUME)
    assert (row["limit"], row["level"], row["cluster_limit"]) == (1000, None, 3000)
    assert row["reason"] == (
        "nothing is set; the last level is quota.consumer.default of the brokers"
    )
    assert row_of(clusters, static_default)["reason"] == "level 3: users/alice"


def test_a_former_quota_is_none(clusters):
    assert row_of(clusters, former_quota, CONSUME)["limit"] is None


@pytest.mark.long
def test_only_what_differs_is_written_and_who_is_seen_no_more_goes(tables):
    tables.push("User:alice", "c1", at=ago(days=6))
    tables.push("User:bob", "c2")
    assert refresh_at(tables).changed == 10
    later = NOW + timedelta(minutes=20)
    done = refresh_at(tables, later)
    # bob is silent by then, so nobody shares with him, or with alice her address.
    assert (done.changed, done.gone) == (6, 0)
    assert refresh_at(tables, later + timedelta(minutes=1)).changed == 0
    assert one(tables, principal="User:alice")["as_of"].astimezone(NOW.tzinfo) == NOW
    tables.set_quotas(("users/bob", {CONSUME: 7}))
    done = refresh_at(tables, NOW + timedelta(days=2))
    # alice's five are gone; of bob one key has a limit, and tags of it alone changed.
    assert (done.changed, done.gone) == (1, 5)
    assert [row["principal"] for row in read(tables)] == ["User:bob"]
    assert one(tables, CONSUME)["limit"] == 7


@pytest.mark.long
def test_clients_without_a_cluster_are_in_the_only_one(tables):
    tables.push("User:alice", "c1")
    refresh_at(tables)
    assert {row["cluster_id"] for row in read(tables)} == {CLUSTER}
    tables.set_quotas(("users/alice", 1), cluster_id="cluster-2")
    done = refresh_at(tables)
    assert (done.changed, done.gone) == (0, 5)


@pytest.mark.parametrize(
    ("missing", "job"),
    [
        (CLIENT_QUOTAS, "cluster_metadata_to_delta"),
        (CLIENT_PUSHES, "client_telemetry_to_delta"),
    ],
)
def test_a_table_that_is_missing_is_told_with_the_job_that_makes_it(
    spark, tmp_path, missing, job
):
    there = [one for one in (CLIENT_QUOTAS, CLIENT_PUSHES) if one is not missing]
    tables = QuotaTables(spark, tmp_path, there)
    with pytest.raises(MissingTable, match=f"no {missing.name} in .*; {job} makes it"):
        refresh_at(tables)


@pytest.mark.long
def test_tables_of_brokers_and_points_may_be_missing(spark, tmp_path):
    tables = QuotaTables(spark, tmp_path, [CLIENT_QUOTAS, CLIENT_PUSHES])
    tables.set_quotas(("users/alice", 4))
    tables.push("User:alice", "c1")
    refresh_at(tables)
    row = one(tables)
    assert (row["limit"], row["live_brokers"], row["cluster_limit"]) == (4, None, None)
    there = {path.name for path in (tmp_path / "tables").iterdir()}
    assert not there & {BROKER_REGISTRATIONS.name, BROKER_STATIC_CONFIGS.name}


@pytest.mark.long
def test_configurations_alone_are_enough(spark, tmp_path):
    tables = QuotaTables(spark, tmp_path, [CLIENT_QUOTAS, CLIENT_CONFIGS])
    tables.set_quotas(("users/alice", 4))
    tables.add(
        CLIENT_CONFIGS,
        {"principal": "User:alice", "client_id": "c", "received_at": ago(hours=1)},
    )
    refresh_at(tables)
    assert (one(tables)["limit"], one(tables)["shared_by"]) == (4, 0)


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


def test_batches_refresh_at_most_each_interval_and_lose_no_change():
    clock, done = Clock(), []
    paced = PacedRefresh(done.append, clock, timedelta(seconds=60))
    assert not paced.after_batch("first", has_changed=False)
    assert paced.after_batch("second", has_changed=True)
    clock.now += timedelta(seconds=59)
    assert not paced.after_batch("third", has_changed=True)
    clock.now += timedelta(seconds=1)
    assert paced.after_batch("fourth", has_changed=False)
    assert not paced.after_batch("fifth", has_changed=False)
    assert done == ["second", "fourth"]


def test_a_job_that_has_changed_quotas_goes_on_where_nothing_can_be_worked_out(
    spark, tmp_path, caplog
):
    tables = QuotaTables(spark, tmp_path, [CLIENT_QUOTAS])
    assert paced(tables.settings, Clock()).after_batch(spark, has_changed=True)
    assert "client_telemetry_to_delta makes it" in caplog.text


@pytest.mark.long
def test_a_job_that_has_changed_quotas_refreshes(tables):
    tables.push("User:alice", "c1")
    paced(tables.settings, Clock()).after_batch(tables.spark, has_changed=True)
    assert one(tables)["limit"] == 1_048_576
