"""Configurations, quotas and quality in notebooks equal the model of the sample fleet."""

from collections import Counter, defaultdict

import pytest

from pipelines.reading import (
    brokers,
    config_overview,
    quality_overview,
    quota_overview,
)
from pipelines.reading.client_software import read_traffic
from tests.support.sample_fleet import EPOCH, WINDOW, WINDOW_S, window_of


def test_quotas_and_traffic_equal_model(fleet):
    traffic = read_traffic(fleet.spark)
    found = defaultdict(float)
    for row in quota_overview.select_traffic_over_time(traffic).collect():
        found[window_of(row), row["client"].split()[-1]] += row["bytes_s"]
    expected = defaultdict(float)
    for (start, _, word), rate in fleet.model.list_traffic().items():
        expected[(start - EPOCH) // WINDOW, word] += rate
    assert found == pytest.approx(expected)
    levels = quota_overview.select_levels(quota_overview.read_quotas(fleet.spark))
    counts = {
        (row["cluster_id"], row["entity_path"].removeprefix("users/")): row["clients"]
        for row in levels.collect()
        if row["quota_key"] == "producer_byte_rate" and row["entity_path"]
    }
    known = fleet.model.list_known_clients()
    assert counts == {
        (cluster_id, user): len(
            {one[2] for one in known if one[:2] == (cluster_id, f"User:{user}")}
        )
        for cluster_id, user in fleet.model.list_user_quotas()
    }


def test_drift_cells_equal_model(fleet):
    configs = fleet.spark.table("broker_configs").where("state = 'live'")
    drift = configs.transform(brokers.select_drift)
    found = Counter(
        (row["config_name"], row["value"])
        for row in brokers.select_drift_cells(drift).collect()
    )
    clusters = {row["cluster_id"] for row in fleet.model.registrations}
    assert found == Counter(
        key
        for cluster_id in clusters
        for key, own in fleet.model.list_drift(cluster_id).items()
        for _ in own
    )


def test_configurations_equal_model(fleet):
    entries = fleet.spark.table("active_config_entries")
    active = fleet.model.list_active_configs()
    holders, values = defaultdict(set), defaultdict(set)
    for client, configs in active:
        for key, entry in configs.items():
            if not entry["is_default"]:
                holders[key].add(client[1:])
                values[key].add(entry["config_value"])
    rows = config_overview.select_overridden_keys(entries).collect()
    found = {
        row["config_key"]: (row["logical_clients"], row["different_values"])
        for row in rows
    }
    assert found == {key: (len(own), len(values[key])) for key, own in holders.items()}
    spread = config_overview.select_value_spread(entries, "linger.ms").collect()
    counts = defaultdict(set)
    for client, configs in active:
        if "linger.ms" in configs:
            entry = configs["linger.ms"]
            suffix = " (default)" if entry["is_default"] else ""
            counts[f"{entry['config_value']}{suffix}"].add(client)
    assert {row["value"]: row["clients"] for row in spread} == {
        value: len(own) for value, own in counts.items()
    }


def test_who_runs_what_equals_model(fleet):
    known = fleet.spark.table("known_instances")
    rows = config_overview.select_who_runs_what(known).collect()
    found = {
        (row["software"], row["client_type"]): (row["clients"], row["instances"])
        for row in rows
    }
    clients, instances = defaultdict(set), Counter()
    names = ("client_software_name", "client_software_version")
    for one in fleet.model.list_known():
        if one.state == "active":
            key = " ".join(one.row[name] for name in names), one.row["client_type"]
            clients[key].add(one.client)
            instances[key] += one.known_by != "wire"
    assert found == {key: (len(own), instances[key]) for key, own in clients.items()}


def test_rejected_records_equal_model(fleet):
    """Records that another job rejected do not count."""
    rows = quality_overview.count_rejected(fleet.spark, fleet.picked()).collect()
    found = {(row["reason"], row["source_job"]): row["records"] for row in rows}
    assert found == fleet.model.count_rejected()
    records = quality_overview.read_records(fleet.spark, fleet.picked())
    counted = {
        row["topic"]: (row["read"], row["rejected"], row["rejected_percent"])
        for row in quality_overview.count_records(records).collect()
    }
    read = len(fleet.model.pushes)
    rejected = fleet.model.count_rejected()[
        "missing_header", "client_telemetry_to_delta"
    ]
    percent = round(100 * rejected / (read + rejected), 3)
    assert counted["clientele.telemetry"] == (read, rejected, percent)
    shares = quality_overview.select_rejected_share(records, window_s=86_400 * 365)
    of_all = {row["topic"]: row["percent"] for row in shares.collect()}
    assert of_all["clientele.telemetry"] == pytest.approx(percent, abs=0.001)


def test_delays_equal_model(fleet):
    rows = quality_overview.select_delays(fleet.points, window_s=WINDOW_S).collect()
    by_push = defaultdict(float)
    for point in fleet.model.points:
        delay = abs((point["received_at"] - point["time"]).total_seconds())
        key = point["received_at"], point["push_id"]
        by_push[key] = max(by_push[key], delay)
    expected = defaultdict(float)
    for (at, _), delay in by_push.items():
        window = (at - EPOCH) // WINDOW
        expected[window] = max(expected[window], delay)
    found = {
        window_of(row): row["delay_s"]
        for row in rows
        if row["pushes_within"] == "all pushes"
    }
    assert found == pytest.approx(expected)


def test_coverage_counts_each_client_once(fleet):
    coverage = fleet.spark.table("client_metric_coverage")
    rows = quality_overview.count_coverage(coverage).collect()
    delivered = Counter()
    for row in rows:
        if row["status"] in {"delivered", "wrong_kind"}:
            delivered[row["metric"]] += row["clients"]
    for metric, number in delivered.items():
        assert number == sum(
            fleet.model.is_delivered(one, metric) for one in fleet.model.instances
        ), metric


def test_coverage_reports_nothing_missing_of_clients_that_push_everything(fleet):
    """franz-go omits what did not happen, which is not missing."""
    found = fleet.rows(
        "SELECT DISTINCT status FROM client_metric_coverage "
        "WHERE client_id IN ('orders', 'billing', 'go-reader')"
    )
    assert {row["status"] for row in found} <= {
        *("delivered", "not_asked", "nothing_happened", "not_supported")
    }
