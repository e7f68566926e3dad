"""Every number that people see equals an independent model of the sample fleet.

`demo --sample` writes the tables once. The model computes each answer from their rows
in plain Python; the product computes it the way its users query it.
"""

import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines.demo import sample
from pipelines.reading import views
from pipelines.reading.comparisons import select_samples, split_at
from pipelines.reading.config_outliers import select_outliers
from pipelines.reading.groups import select_groups
from pipelines.reading.latency import select_latency_by_broker
from pipelines.reading.points import read_points
from pipelines.reading.rollups import roll_up
from pipelines.reading.throttling import select_throttling
from pipelines.settings import load_settings
from tests.support.documents import find_block
from tests.support.fleet_answers import FleetAnswers
from tests.support.fleet_model import PREFIX
from tests.support.jobs.given_calls import run_line
from tests.support.spark.empty_tables import make_tables

AHEAD = timedelta(minutes=8)
"""Of the end of the data, so that clients are still active when tests run."""
LINE = "./spark-submit.sh demo --sample --clients 50 --hours 3 --until "
CLIENT = ("cluster_id", "principal", "client_id", "client_type")
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


class Fleet:
    """Tables of the sample, their views, and the model of both."""

    def __init__(self, spark, folder):
        self.spark = spark
        self.settings = load_settings("base", own_file=str(folder / "settings.toml"))
        views.register(spark, self.settings, views.TABLES_AND_VIEWS)
        root = Path(self.settings.tables.root_path)
        self.model = FleetAnswers(root, datetime.now(tz=UTC))
        self.points = read_points(spark).localCheckpoint()

    def rows(self, query):
        return [row.asDict(recursive=True) for row in self.spark.sql(query).collect()]

    def ask(self, block):
        """Return the rows of the query in a block of a page."""
        (line,) = block.commands
        return self.rows(shlex.split(line)[-1])

    def at_rest(self, ask):
        """Return an answer and the model's clients, both of one state of the fleet."""
        for _ in range(5):
            self.model.now = datetime.now(tz=UTC)
            before = self.model.list_states()
            found = ask()
            self.model.now = datetime.now(tz=UTC)
            if self.model.list_states() == before:
                return found
        pytest.fail("clients changed their state in each of five queries")


@pytest.fixture(scope="session")
def fleet(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    until = datetime.now(tz=UTC).replace(microsecond=0) + AHEAD
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "ROOT", folder)
        # Copies of empty tables, which other tests share.
        patch.setattr(sample, "ensure_tables", make_tables)
        run_line(spark, LINE + until.isoformat())
    (made,) = (folder / "data").iterdir()
    return Fleet(spark, made)


def test_clients_state_equals_model(fleet):
    query = "SELECT client_instance_id, state FROM clients"
    found = fleet.at_rest(lambda: fleet.rows(query))
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
        for row in fleet.at_rest(lambda: fleet.rows(query))
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
    found = fleet.at_rest(lambda: fleet.ask(find_block("README.md", "who")))
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
    found = fleet.at_rest(lambda: fleet.ask(find_block("README.md", "acks")))
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
