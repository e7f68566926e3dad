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
from pipelines.reading.groups import select_groups
from pipelines.reading.latency import select_latency_by_broker
from pipelines.reading.points import read_points
from pipelines.reading.rollups import roll_up
from pipelines.settings import load_settings
from tests.support.documents import find_block
from tests.support.fleet_model import PREFIX, FleetModel
from tests.support.jobs.given_calls import run_line

AHEAD = timedelta(minutes=8)
"""Of the end of the data, so that clients are still active when tests run."""
LINE = "./spark-submit.sh demo --sample --clients 60 --hours 3 --until "
CLIENT = ("cluster_id", "principal", "client_id", "client_type")
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
        self.model = FleetModel(root, datetime.now(tz=UTC))
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
    query = "SELECT cluster_id, principal, basis, used_rate, `use` FROM quota_use"
    found = {
        (row["cluster_id"], row["principal"].removeprefix("User:")): row
        for row in fleet.rows(query)
        if row["use"] is not None
    }
    expected = fleet.model.list_quota_use()
    assert expected["SampleClusterBarcelona", "loaders"][2] == pytest.approx(1.2)
    for key, (basis, rate, use) in expected.items():
        row = found.pop(key)
        assert row["basis"] == basis, key
        assert (row["used_rate"], row["use"]) == pytest.approx((rate, use)), key
    assert not found


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
