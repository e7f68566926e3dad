"""Every number that commands print equals the model of the sample fleet."""

import json
import re
from collections import Counter
from datetime import timedelta

import pytest

from pipelines.reading.client_states import time_sql
from pipelines.reading.views import session_views
from tests.support.fleet_model import PREFIX
from tests.support.jobs.given_calls import run_line

WINDOW = timedelta(minutes=30)
"""Of the rules about throttling."""
CLUSTERS = ("SampleClusterAmsterdam", "SampleClusterBarcelona")
each_cluster = pytest.mark.parametrize("cluster_id", CLUSTERS)


@pytest.fixture
def ask(fleet, capsys, monkeypatch):
    """Run a command at the time of the fleet and return what it prints."""
    monkeypatch.setattr(session_views, "NOW", time_sql(fleet.now))

    def run(words, *, code=0):
        capsys.readouterr()
        run_line(fleet.spark, f"./spark-submit.sh {words}", *fleet.words, code=code)
        text = capsys.readouterr().out
        return json.loads(text) if words.endswith("--json") else text

    return run


@each_cluster
def test_quotas_top_equals_model(fleet, ask, cluster_id):
    found = {
        row["principal"].removeprefix("User:"): row
        for row in ask(f"quotas top --cluster-id {cluster_id} --json")
        if row["use"] is not None
    }
    expected = {
        user: told
        for (cluster, user), told in fleet.model.list_quota_use().items()
        if cluster == cluster_id and told[1]
    }
    assert found.keys() == expected.keys()
    for user, (basis, rate, use) in expected.items():
        row = found[user]
        assert row["basis"] == basis, user
        assert (row["used_rate"], row["use"]) == pytest.approx((rate, use)), user
    text = ask(f"quotas top --cluster-id {cluster_id}")
    for user, (_, _, use) in expected.items():
        assert re.search(rf"^\s*{use:.1%} +User:{user} ", text, re.MULTILINE), text


@each_cluster
def test_quotas_history_lists_each_limit_that_was_set(fleet, ask, cluster_id):
    found = Counter(
        (row["entity_path"], row["after"])
        for row in ask(f"quotas history --cluster-id {cluster_id} --json")
    )
    assert found == Counter(
        (row["entity_path"], row["quota_value"])
        for row in fleet.model.quotas
        if row["cluster_id"] == cluster_id
    )


@each_cluster
def test_brokers_list_and_drift_equal_model(fleet, ask, cluster_id):
    listed = ask(f"brokers list --cluster-id {cluster_id} --json")
    counts = {row["broker_id"]: row["config_count"] for row in listed}
    assert counts == fleet.model.count_configs(cluster_id)
    assert {row["state"] for row in listed} == {"live"}
    assert len(listed) == fleet.model.count_brokers(cluster_id)
    expected = fleet.model.list_drift(cluster_id)
    rows = ask(f"brokers drift --cluster-id {cluster_id} --json", code=bool(expected))
    found = {(row["config_name"], row["config_value"]): row["brokers"] for row in rows}
    assert found == expected


def test_clients_coverage_equals_model(fleet, ask):
    """A metric that means zero if it is absent is delivered for a day."""
    rows = ask("clients coverage --all --json", code=1)
    wrong = []
    for row in rows:
        one, metric = row["client_instance_id"], row["metric"]
        if one not in fleet.model.instances:
            continue
        is_delivered = row["status"] in {"delivered", "wrong_kind"}
        is_known = is_delivered and bool(fleet.model.points_by[one, metric])
        has_it = fleet.model.is_delivered(one, metric)
        if is_delivered != (has_it or is_known) or (
            not is_delivered
            and row["status"] != "not_supported"
            and (row["status"] != "not_asked") != fleet.model.is_asked(one, metric)
        ):
            wrong.append((row["client_id"], metric, row["status"]))
    assert wrong == []
    instances = {row["client_instance_id"] for row in rows}
    assert {*fleet.model.list_active()} <= instances


def test_clients_coverage_counts_clients_of_the_model(fleet, ask):
    text = ask("clients coverage", code=1)
    lacking, clients = map(int, re.findall(r"\d+", text)[:2])
    known = [one for one in fleet.model.list_known() if one.known_by != "wire"]
    assert clients == sum(one.state not in {"terminated", "expired"} for one in known)
    assert 0 < lacking <= clients


def test_clients_stale_lists_each_client_and_version_of_the_model(fleet, ask):
    rows = ask("clients stale --all --json", code=1)
    found = Counter(
        (row["principal"], row["client_id"], row["client_software_version"])
        for row in rows
    )
    expected = {
        (
            one.row["cluster_id"],
            one.row["principal"],
            one.row["client_id"],
            one.row["client_software_version"],
        )
        for one in fleet.model.list_known()
    }
    assert found == Counter(one[1:] for one in expected)


def test_findings_equal_model(fleet, ask):
    found = ask("findings --json", code=1)
    counts = Counter(one["rule"] for one in found["findings"])
    assert counts["client-throttled-by-quota"] == len(
        fleet.model.list_throttled(WINDOW)
    )
    assert counts["producer-acks-not-all"] == len(fleet.model.list_weak_acks())
    runs = {one["rule"]: one["findings"] for one in found["rules"]}
    assert counts == {rule: number for rule, number in runs.items() if number}
    severities = Counter(one["severity"] for one in found["findings"])
    text = ask("findings", code=1)
    told = re.search(
        r"^(\d+) errors?, (\d+) warnings?, (\d+) advice", text, re.MULTILINE
    )
    assert [int(one) for one in told.groups()] == [
        severities[one] for one in ("error", "warning", "advice")
    ]


@pytest.mark.parametrize("client_id", ["worker-3", "steady", "only-configs"])
def test_configs_describe_equals_model(fleet, ask, client_id):
    found = {
        row["config_key"]: row["config_value"]
        for row in ask(f"configs describe --client-id {client_id} --json")
        if row["source"] == "pushed"
    }
    assert found == fleet.model.list_set_values(client_id)


def test_configs_diff_equals_model(fleet, ask):
    names = ("worker-1", "worker-3")
    words = " ".join(f"--client-id {one}" for one in names)
    found = {row["config_key"] for row in ask(f"configs diff {words} --json")}
    one, other = map(fleet.model.list_set_values, names)
    differing = {key for key in {*one, *other} if one.get(key) != other.get(key)}
    assert found == differing - {"client.id"}


def test_configs_history_lists_both_values_of_a_changed_key(ask):
    rows = ask("configs history --client-id changed --key linger.ms --json")
    assert [row["config_value"] for row in rows] == ["5", "100"]
    assert rows[0]["valid_to"] == rows[1]["valid_from"]


def test_sql_counts_points_and_pushes_of_the_model(fleet, ask):
    query = "SELECT count(*) AS n FROM"
    for table, rows in (
        ("client_pushes", fleet.model.pushes),
        ("client_metrics", fleet.model.points),
    ):
        assert f"{len(rows)}" in ask(f"sql '{query} {table}'")
    assert any(point["metric"].startswith(PREFIX) for point in fleet.model.points)
