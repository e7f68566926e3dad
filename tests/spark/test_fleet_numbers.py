"""Every number that people see equals an independent model of the sample fleet.

`demo --sample` writes the tables once. The model computes each answer from their rows
in plain Python; the product computes it the way its users query it.
"""

from datetime import timedelta

import pytest

from pipelines.reading import changes
from pipelines.reading.comparisons import select_samples, split_at
from pipelines.reading.config_outliers import select_outliers
from pipelines.reading.groups import select_groups
from pipelines.reading.latency import select_latency_by_broker
from pipelines.reading.rollups import roll_up
from pipelines.reading.throttling import select_throttling
from tests.support.documents import find_block
from tests.support.fleet_model import PREFIX
from tests.support.fleet_screens import CLIENT

_OPEN = "SELECT * FROM client_findings WHERE until IS NULL"
GAUGES = (
    "producer.request.latency.avg",
    "producer.request.latency.max",
    "producer.node.request.latency.avg",
    "producer.outgoing.byte.rate",
    "producer.produce.throttle.time.max",
    "consumer.fetch.manager.records.lag.max",
    "consumer.fetch.manager.records.consumed.rate",
    "consumer.fetch.manager.bytes.consumed.rate",
)
SUMS = (
    "producer.record.send.total",
    "producer.record.error.total",
    "producer.connection.creation.total",
    "consumer.coordinator.rebalance.total",
)


def test_clients_state_equals_model(fleet):
    query = "SELECT client_instance_id, state FROM clients"
    found = fleet.rows(query)
    states = {row["client_instance_id"]: row["state"] for row in found}
    assert states == fleet.model.list_states()
    assert {*states.values()} == {"active", "idle", "terminated"}


def test_quota_use_equals_model(fleet):
    query = (
        "SELECT cluster_id, principal, basis, used_rate, `use`, throttled_ms "
        "FROM quota_use"
    )
    found = {
        (row["cluster_id"], row["principal"].removeprefix("User:")): row
        for row in fleet.rows(query)
        if row["use"] is not None
    }
    expected = fleet.model.list_quota_use()
    assert expected["SampleClusterBarcelona", "loaders"][2] == pytest.approx(1.2)
    throttled = fleet.model.longest_quota_throttling()
    assert throttled["SampleClusterAmsterdam", "bulk"] == 240.0
    for key, (basis, rate, use) in expected.items():
        row = found.pop(key)
        assert row["basis"] == basis, key
        assert (row["used_rate"], row["use"]) == pytest.approx((rate, use)), key
        assert row["throttled_ms"] == throttled[key], key
    assert not found


def test_client_rollups_equal_model(fleet):
    query = "SELECT * FROM client_rollups"
    found = {
        (*(row[name] for name in CLIENT), row["metric"].removeprefix(PREFIX)): row
        for row in fleet.rows(query)
    }
    for client in fleet.model.list_clients(fleet.model.list_active()):
        for metric in (*GAUGES, *SUMS):
            expected = fleet.model.roll_up(client, metric)
            row = found.get((*client, metric))
            value = None if row is None else row["value"]
            assert value == pytest.approx(expected), (client, metric)


def test_roll_up_rate_of_whole_range_equals_model(fleet):
    by = ("cluster_id", "client_id", "client_type")
    metrics = [PREFIX + metric for metric in SUMS]
    points = fleet.points.where(fleet.points["metric"].isin(metrics))
    found = {
        (*(row[name] for name in by), row["metric"].removeprefix(PREFIX)): row
        for row in roll_up(points, by=by).collect()
    }
    for client, instances in fleet.model.list_clients(fleet.model.instances).items():
        for metric in SUMS:
            rates = [fleet.model.rate_of(one, metric) for one in instances]
            known = [rate for rate in rates if rate is not None]
            row = found.get((client[0], client[2], client[3], metric))
            assert (row is None) == (not known), (client, metric)
            if known:
                assert row["value"] == pytest.approx(sum(known)), (client, metric)


def test_select_groups_lag_and_rebalances_equal_model(fleet):
    found = {
        (row["cluster_id"], row["group_id"]): row
        for row in select_groups(fleet.points).collect()
    }
    groups = fleet.model.list_groups()
    assert found.keys() == groups.keys()
    for key, members in groups.items():
        row = found[key]
        lag = fleet.model.lag_of(members)
        assert row["members"] == len(members), key
        assert row["lag_max"] == (None if lag is None else int(lag)), key


def test_select_latency_by_broker_equals_model(fleet):
    found = {
        (row["cluster_id"], row["broker"]): row["latency_ms_max"]
        for row in select_latency_by_broker(fleet.points).collect()
        if row["latency_ms_max"] is not None
    }
    assert found == pytest.approx(fleet.model.longest_by_broker())


def test_select_samples_shorter_push_interval_changes_no_rate(fleet):
    """A client that always sends 10 records per second has the same rate before and
    after its push interval changes."""
    changed_at = fleet.model.change_of_interval("steady")
    metric = f"{PREFIX}producer.record.send.total"
    points = fleet.points.where(f"client_id = 'steady' AND metric = '{metric}'")
    rows = select_samples(points, split_at(changed_at)).collect()
    assert {row["side"] for row in rows} == {"before", "after"}
    assert [row["value"] for row in rows] == pytest.approx([10.0] * len(rows))


def test_read_points_wrong_clock_uses_time_of_receipt(fleet):
    rows = fleet.points.where("client_id = 'clock-ahead'").select("at", "received_at")
    for at, received_at in rows.distinct().collect():
        assert at == received_at


def test_readme_reconnecting_equals_model(fleet):
    found = {
        row["client_id"]: row["connections"]
        for row in fleet.ask(find_block("README.md", "reconnecting"))
    }
    assert found == pytest.approx(fleet.model.connections_by_client_id())


def test_readme_who_lists_each_instance_with_its_state(fleet):
    found = fleet.ask(find_block("README.md", "who"))
    expected = sorted(
        (str(fleet.model.instances[one]["client_id"]), state)
        for one, state in fleet.model.list_states().items()
    )
    assert sorted((str(row["client_id"]), row["state"]) for row in found) == expected


def test_findings_of_throttling_equal_model(fleet):
    """Clients that were throttled earlier have no open finding."""
    found = {
        (row["cluster_id"], row["client_id"])
        for row in fleet.rows(_OPEN + " AND rule = 'client-throttled-by-quota'")
    }
    expected = fleet.model.list_throttled(timedelta(minutes=30))
    assert ("SampleClusterBarcelona", "loader-1") in expected
    assert found == expected


def test_findings_of_acks_equal_model(fleet):
    """Instances that terminated before the evaluation do not count."""
    found = {
        (row["cluster_id"], row["client_id"])
        for row in fleet.rows(_OPEN + " AND rule = 'producer-acks-not-all'")
    }
    expected = fleet.model.list_weak_acks()
    assert ("SampleClusterAmsterdam", "worker-3") in expected
    assert found == expected


def test_readme_slow_lists_newest_latency_by_broker(fleet):
    found = {}
    for row in fleet.ask(find_block("README.md", "slow")):
        key = row["client_id"], row["broker"], row["metric"].removeprefix(PREFIX)
        found.setdefault(key, []).append(row["value"])
    expected = fleet.model.list_newest_latency()
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert sorted(found[key]) == pytest.approx(sorted(values)), key


def test_readme_acks_equals_model(fleet):
    found = fleet.ask(find_block("README.md", "acks"))
    weak = {client_id for _, client_id in fleet.model.list_weak_acks()}
    assert {row["client_id"] for row in found} == weak


def test_readme_changed_lists_both_values_of_a_changed_key(fleet):
    rows = fleet.ask(find_block("README.md", "changed"))
    found = {
        (row["client_id"], row["config_value"])
        for row in rows
        if row["config_key"] == "linger.ms"
        and row["client_id"] in {"changed", "steady"}
    }
    assert found == {("changed", "5"), ("changed", "100"), ("steady", "5")}


def test_select_throttling_equals_model(fleet):
    found = {
        tuple(row[name] for name in CLIENT): row["reported_ms"]
        for row in select_throttling(fleet.points).collect()
    }
    assert found == pytest.approx(fleet.model.longest_throttling())


def test_select_outliers_names_active_clients_that_differ(fleet):
    entries = fleet.spark.table("active_config_entries")
    rows = select_outliers(entries).collect()
    acks = {row["client_id"] for row in rows if row["config_key"] == "acks"}
    assert acks == {"worker-3", "only-wire"}


def test_select_changes_lists_new_clients_and_versions_once(fleet):
    since = fleet.model.since + (fleet.model.until - fleet.model.since) / 2
    names = ("known_clients", "known_instances")
    tables = {name: fleet.spark.table(name) for name in names}
    rows = changes.select_changes(tables, since).collect()
    appeared = [
        tuple(row[name] for name in CLIENT)
        for row in rows
        if row["what"] == changes.APPEARED
    ]
    assert sorted(appeared, key=str) == sorted(fleet.model.list_new(since), key=str)
    versions = [
        (row["client_id"], row["before"], row["after"])
        for row in rows
        if row["what"] == changes.VERSION
    ]
    assert versions == [("restarted", "3.9.2", "4.3.1")]
