"""Metrics that notebooks show equal the model of the sample fleet."""

from collections import Counter, defaultdict
from datetime import UTC, timedelta
from math import ceil
from statistics import fmean

import pytest

from pipelines.reading import (
    comparisons,
    groups,
    latency,
    one_client,
    overview,
)
from pipelines.reading.points import choose_metrics
from pipelines.reading.rollups import roll_up
from pipelines.reading.views import select_newest_values
from tests.support.fleet_model import PREFIX
from tests.support.sample_fleet import EPOCH, WINDOW, WINDOW_S, window_of

MEAN_LATENCY = "request.latency.avg"
NODE_LATENCY = "node.request.latency.avg"


def list_windows(fleet, instances, metric):
    return fleet.model.line_of(instances, metric, EPOCH, WINDOW)


def list_latency(fleet):
    """Return instance to push ID to latency: its own, else that of its brokers."""
    found = {}
    for one, row in fleet.model.instances.items():
        kind = row["client_type"]
        values = fleet.model.values_of(one, f"{kind}.{NODE_LATENCY}")
        values |= fleet.model.values_of(one, f"{kind}.{MEAN_LATENCY}")
        found[one] = {push: ms for push, ms in values.items() if ms > 0}
    return found


def list_latency_windows(fleet):
    """Return cluster and window to the mean latency of each instance."""
    found = defaultdict(list)
    for one, values in list_latency(fleet).items():
        at = {p["push_id"]: fleet.model.at_of(p) for p in fleet.model.points_of[one]}
        own = defaultdict(list)
        for push_id, ms in values.items():
            own[(at[push_id] - EPOCH) // WINDOW].append(ms)
        cluster_id = fleet.model.instances[one]["cluster_id"]
        for window, times in own.items():
            found[cluster_id, window].append(fmean(times))
    return found


def list_begun_windows(fleet):
    """Return cluster and newest window, if less than nine tenths of it have passed."""
    newest = {}
    for one, values in list_latency(fleet).items():
        cluster_id = fleet.model.instances[one]["cluster_id"]
        for point in fleet.model.points_of[one]:
            if point["push_id"] in values:
                at = fleet.model.at_of(point)
                newest[cluster_id] = max(newest.get(cluster_id, EPOCH), at)
    return {
        (cluster_id, (at - EPOCH) // WINDOW)
        for cluster_id, at in newest.items()
        if (at - EPOCH) % WINDOW < 0.9 * WINDOW
    }


def test_software_counts_equal_model(fleet):
    clients = fleet.spark.table("clients")
    rows = overview.select_software(clients).collect()
    found = {(row["software"], row["state"]): row["clients"] for row in rows}
    names = ("client_software_name", "client_software_version")
    assert found == Counter(
        (" ".join(fleet.model.instances[one][name] for name in names), state)
        for one, state in fleet.model.list_states().items()
    )


def test_clients_of_overview_equal_model(fleet):
    clients = fleet.spark.table("clients")
    rows = overview.select_clients(clients, fleet.points).collect()
    found = sorted(
        (str(row["client_id"]), row["pushes"], row["points"], row["latency_ms"] or 0)
        for row in rows
    )
    newest = list_latency(fleet)
    expected = sorted(
        (
            str(row["client_id"]),
            len(fleet.model.pushes_of[one]),
            len(fleet.model.points_of[one]),
            next(
                (
                    newest[one][push["push_id"]]
                    for push in reversed(fleet.model.pushes_of[one])
                    if push["push_id"] in newest[one]
                ),
                0,
            ),
        )
        for one, row in fleet.model.instances.items()
    )
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    for row, other in zip(found, expected, strict=True):
        assert row[3] == pytest.approx(other[3]), other


def test_latency_over_time_equals_model(fleet):
    rows = latency.select_latency_over_time(fleet.points).collect()
    values = [ms for one in list_latency(fleet).values() for ms in one.values()]
    assert sorted(row["latency_ms"] for row in rows) == pytest.approx(sorted(values))


def test_latency_bands_equal_model(fleet):
    rows = latency.select_latency_bands(fleet.points, window_s=WINDOW_S).collect()
    by_window = list_latency_windows(fleet)
    shares = latency.QUANTILES
    for row in rows:
        values = sorted(by_window[row["cluster_id"], window_of(row)])
        place = max(ceil(shares[row["clients_within"]] * len(values)), 1)
        assert row["latency_ms"] == pytest.approx(values[place - 1]), row
    found = {(row["cluster_id"], window_of(row)) for row in rows}
    assert found == {*by_window} - list_begun_windows(fleet)


def test_latency_by_broker_equals_model(fleet):
    means = defaultdict(list)
    for one, row in fleet.model.instances.items():
        own = defaultdict(list)
        for point in fleet.model.points_of[one]:
            number = point["value_double"]
            if point["metric"].endswith(NODE_LATENCY) and number and number > 0:
                own[row["cluster_id"], int(point["node_id"])].append(number)
        for key, numbers in own.items():
            means[key].append(fmean(numbers))
    rows = latency.select_latency_by_broker(fleet.points).collect()
    found = {(row["cluster_id"], row["broker"]): row for row in rows}
    assert found.keys() == means.keys()
    for key, values in means.items():
        assert found[key]["clients"] == len(values), key
        assert found[key]["latency_ms"] == pytest.approx(fmean(values)), key


def test_waits_equal_model(fleet):
    rows = latency.select_waits(fleet.points).collect()
    found = {
        (row["cluster_id"], row["client_id"], row["wait"]): row["wait_ms"]
        for row in rows
    }
    by_client = defaultdict(list)
    for one, row in fleet.model.instances.items():
        for wait, metric in latency.WAITS.items():
            name = metric.removeprefix(PREFIX)
            values = [*fleet.model.values_of(one, name).values()]
            if values:
                key = row["cluster_id"], row["client_id"], wait
                by_client[key].append(fmean(values))
    expected = {key: fmean(values) for key, values in by_client.items()}
    assert found == pytest.approx(expected)


def test_points_per_second_equal_model(fleet):
    found = Counter()
    for row in overview.select_point_rate_over_time(
        fleet.points, window_s=WINDOW_S
    ).collect():
        found[row["cluster_id"], window_of(row)] += round(row["points_s"] * WINDOW_S)
    assert found == Counter(
        (
            fleet.model.instances[point["client_instance_id"]]["cluster_id"],
            (fleet.model.at_of(point) - EPOCH) // WINDOW,
        )
        for point in fleet.model.points
    )


@pytest.mark.parametrize(
    "metric",
    [
        "producer.outgoing.byte.rate",
        "producer.record.send.total",
        "consumer.fetch.manager.records.lag.max",
    ],
)
def test_metric_of_clusters_over_time_equals_model(fleet, metric):
    rows = (
        fleet.points.transform(choose_metrics, [PREFIX + metric])
        .transform(roll_up, by=["cluster_id"], window_s=WINDOW_S)
        .collect()
    )
    column = "amount" if metric.endswith(".total") else "value"
    found = {(row["cluster_id"], window_of(row)): row[column] for row in rows}
    by_cluster = defaultdict(list)
    for one, row in fleet.model.instances.items():
        by_cluster[row["cluster_id"]].append(one)
    expected = {
        (cluster_id, window): value
        for cluster_id, instances in by_cluster.items()
        for window, value in list_windows(fleet, instances, metric).items()
    }
    assert found == pytest.approx(expected)


def test_newest_values_equal_model(fleet):
    metric = "producer.outgoing.byte.rate"
    of_metric = fleet.points.where(f"metric = '{PREFIX}{metric}'")
    rows = select_newest_values(of_metric).collect()
    found = {row["client_instance_id"]: row["value"] for row in rows}
    newest = {
        one: fleet.model.newest_value(one, metric) for one in fleet.model.instances
    }
    expected = {one: value for one, value in newest.items() if value is not None}
    assert found == pytest.approx(expected)


def test_groups_equal_model(fleet):
    rows = {
        (row["cluster_id"], row["group_id"]): row
        for row in groups.select_groups(fleet.points).collect()
    }
    for (group, name), value in fleet.model.describe_groups().items():
        assert rows[group][name] == pytest.approx(value), (group, name)


def test_groups_over_time_equal_model(fleet):
    lags = {
        (row["cluster_id"], row["group_id"], window_of(row)): row["lag"]
        for row in groups.select_lag_over_time(
            fleet.points, window_s=WINDOW_S
        ).collect()
    }
    assigned = Counter(
        row["partitions"] for row in groups.select_assignments(fleet.points).collect()
    )
    expected, parts = {}, Counter()
    for group, members in fleet.model.list_groups().items():
        metric = "consumer.fetch.manager.records.lag.max"
        for window, lag in list_windows(fleet, members, metric).items():
            expected[*group, window] = lag
        for one in members:
            metric = "consumer.coordinator.assigned.partitions"
            parts.update(map(int, fleet.model.values_of(one, metric).values()))
    assert lags == pytest.approx(expected)
    assert assigned == parts


def test_rebalances_over_time_equal_model(fleet):
    found = {
        (row["cluster_id"], row["group_id"], window_of(row)): row["rebalances"]
        for row in groups.select_rebalances(fleet.points, window_s=WINDOW_S).collect()
    }
    expected = defaultdict(float)
    for group, members in fleet.model.list_groups().items():
        for one in members:
            metric = "consumer.coordinator.rebalance.total"
            own = list_windows(fleet, [one], metric)
            if not own:
                spent = "consumer.coordinator.rebalance.latency.total"
                waits = list_windows(fleet, [one], spent)
                own = {window: float(ms > 0) for window, ms in waits.items()}
            for window, number in own.items():
                key = *group, window
                expected[key] = max(expected[key], number)
    assert found == pytest.approx(expected)


def test_panels_and_marks_of_a_client_equal_model(fleet):
    points = fleet.points.where("client_id = 'orders' OR client_id = 'restless'")
    rows = one_client.select_panels(points).collect()
    found = Counter((row["panel"], round(row["value"], 6)) for row in rows)
    own = {
        one
        for one, row in fleet.model.instances.items()
        if row["client_id"] in {"orders", "restless"}
    }
    times = list_latency(fleet)
    expected = Counter(
        (one_client.LATENCY, round(ms, 6)) for one in own for ms in times[one].values()
    )
    for panel, metric in one_client.PANELS.items():
        name = metric.removeprefix(PREFIX)
        values = [v for one in own for v in fleet.model.values_of(one, name).values()]
        if any(values):
            expected.update((panel, round(value, 6)) for value in values)
    assert found == expected
    marks = one_client.select_marks(points, None, window_s=WINDOW_S).collect()
    rebalanced = {
        (at - EPOCH) // WINDOW: at
        for one in own
        for at, amount, _ in fleet.model.growths_of(
            one, "consumer.coordinator.rebalance.total"
        )
        if amount > 0
    }
    assert len(marks) == len(rebalanced)
    found = {(row["at"].astimezone(UTC) - EPOCH) // WINDOW for row in marks}
    assert found == {*rebalanced}


def test_samples_before_and_after_equal_model(fleet):
    middle = comparisons.find_middle(fleet.points)
    metric = "producer.outgoing.byte.rate"
    points = fleet.points.where(f"metric = '{PREFIX}{metric}'")
    rows = comparisons.select_samples(points, comparisons.split_at(middle)).collect()
    assert (
        abs(middle - (fleet.model.since + (fleet.model.until - fleet.model.since) / 2))
        < WINDOW
    )
    ranges = {"before": (EPOCH, middle), "after": (middle, middle + timedelta(days=1))}
    for side, received_at in ranges.items():
        found = sorted(row["value"] for row in rows if row["side"] == side)
        means = [
            fleet.model.value_in(one, metric, received_at)
            for one in fleet.model.instances
        ]
        expected = sorted(one for one in means if one is not None)
        assert found == pytest.approx(expected), side
