"""Every number of the report equals the model of the sample fleet."""

from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from statistics import median

import pytest

from pipelines.report.collecting import Request, collect
from pipelines.report.numbers import list_numbers
from pipelines.report.page import count_clients, count_severities, list_software
from tests.support.fleet_model import PREFIX
from tests.support.fleet_screens import CLIENT, STATES
from tests.support.sample_fleet import EPOCH, HOURS

_SCALES = {"B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9}
_COLUMNS = (
    *("state", "known_by", "instances", "active", "first_seen", "last_seen"),
    *("version", "versions"),
)
LINES = (
    "producer.outgoing.byte.rate",
    "producer.request.latency.avg",
    "producer.produce.throttle.time.max",
    "producer.record.error.total",
    "consumer.fetch.manager.bytes.consumed.rate",
    "consumer.fetch.manager.records.lag.max",
    "consumer.coordinator.rebalance.total",
)


@pytest.fixture(scope="module")
def shown(fleet):
    """The report of the whole time, and the model at its time."""
    # A session of its own: a report replaces views by their rows.
    session = fleet.spark.newSession()
    since = fleet.now - timedelta(hours=HOURS + 1)
    request = Request(environment="sample", made_at=fleet.now, since=since)
    return collect(session, fleet.settings, request)


def list_keys(shown):
    columns = (shown.clients.column(name).to_pylist() for name in CLIENT)
    return list(zip(*columns, strict=True))


def rows_of(part, *names):
    places = [part.names.index(name) for name in names]
    return [tuple(row[place] for place in places) for row in part.rows]


def read_number(text):
    """Return the number of a text such as 12.3 kB/s or 5 clients."""
    number, _, unit = text.removesuffix("/s").partition(" ")
    return float(number.replace(",", "")) * _SCALES.get(f"{unit}/s", 1)


def test_first_screen_equals_model(fleet, shown):
    model = fleet.model
    sent = model.list_values("producer.outgoing.byte.rate")
    read = model.list_values("consumer.fetch.manager.bytes.consumed.rate")
    lags = model.list_values("consumer.fetch.manager.records.lag.max")
    errors = model.list_values("producer.record.error.total")
    waits = [
        client
        for kind in ("producer.produce", "consumer.fetch.manager.fetch")
        for client, ms in model.list_values(f"{kind}.throttle.time.max").items()
        if ms > 0
    ]
    worst = max(lags, key=lags.get)
    totals = shown.totals
    assert lags[worst] == 1_000_000
    assert list_keys(shown)[totals.lag_row] == worst
    expected = {
        "Sent by producers": sum(sent.values()),
        "Read by consumers": sum(read.values()),
        "Largest lag": lags[worst],
        "Failed to send": sum(errors.values()),
        "Throttled": len({*waits}),
    }
    found = {one.title: read_number(one.value) for one in list_numbers(shown)}
    assert found == pytest.approx(expected, rel=0.01)
    assert totals.sent_bytes == pytest.approx(expected["Sent by producers"])
    assert totals.consumed_bytes == pytest.approx(expected["Read by consumers"])
    assert totals.errors == pytest.approx(expected["Failed to send"])


def test_counts_of_clients_equal_model(fleet, shown):
    described = fleet.model.describe_clients()
    clients = fleet.model.list_known_clients()
    states = Counter(described[one, "state"] for one in clients)
    known_by = Counter(described[one, "known_by"] for one in clients)
    assert count_clients(shown) == {
        **{state: states[state] for state in STATES},
        "all": len(clients),
        "with_telemetry": known_by["telemetry"],
        "without_telemetry": known_by["configs"] + known_by["wire"],
        "instances": sum(described[one, "active"] for one in clients),
    }


def test_rows_of_clients_equal_model(fleet, shown):
    columns = {name: shown.clients.column(name).to_pylist() for name in _COLUMNS}
    found = {
        (client, name): columns[name][row]
        for row, client in enumerate(list_keys(shown))
        for name in _COLUMNS
    }
    expected = fleet.model.describe_clients()
    for (client, name), value in expected.items():
        if isinstance(value, datetime):
            expected[client, name] = (value - EPOCH) // timedelta(milliseconds=1)
    assert found == expected


def test_findings_of_clients_equal_model(fleet, shown):
    counts = fleet.model.count_findings()
    keys = list_keys(shown)
    names = {"error": "errors", "warning": "warnings", "advice": "advice"}
    for severity, name in names.items():
        found = dict(zip(keys, shown.clients.column(name).to_pylist(), strict=True))
        assert found == {one: counts[one, severity] for one in keys}, severity
    assert count_severities(shown) == {
        severity: len({who for who, other in counts if other == severity} & {*keys})
        for severity in names
    }
    by_rule = Counter(
        one["rule"] for one in fleet.model.findings if one["until"] is None
    )
    assert {one.rule: one.clients for one in shown.rules} == by_rule
    assert {one.rule: one.opened for one in shown.rules} == by_rule


def test_use_of_quotas_equals_model(fleet, shown):
    expected = fleet.model.list_quota_use()
    rows = rows_of(shown.limits, "cluster", "whose quota", "measured by", "used (%)")
    found = {
        (cluster_id, path.removeprefix("users/")): (basis, used)
        for cluster_id, path, basis, used in rows
        if used is not None
    }
    assert found.keys() == expected.keys()
    for key, (basis, _, use) in expected.items():
        assert found[key] == (basis, pytest.approx(100 * use)), key
    uses = shown.clients.column("use").to_pylist()
    for (cluster_id, principal, _, client_type), use in zip(
        list_keys(shown), uses, strict=True
    ):
        own = expected.get((cluster_id, str(principal).removeprefix("User:")))
        if own is not None and client_type == "producer":
            assert use == pytest.approx(own[2])


def test_software_equals_model(fleet, shown):
    found = {
        (one.software, one.version): (one.clients, one.live)
        for one in list_software(shown, {})
    }
    described = fleet.model.describe_clients()
    clients, live = Counter(), Counter()
    for client, known in fleet.model.list_known_clients().items():
        state = described[client, "state"]
        software = known[0].row["client_software_name"], described[client, "version"]
        clients[software] += state in {"active", "idle"}
        live[software] += state == "active"
    assert found == {one: (clients[one], live[one]) for one in +clients}


def test_latency_by_broker_equals_model(fleet, shown):
    by_client = {}
    for kind in ("producer", "consumer"):
        for node in ("1", "2", "3"):
            metric = f"{kind}.node.request.latency.avg"
            for client, ms in fleet.model.list_in_last_hour(metric, node).items():
                by_client.setdefault(client, {})[node] = ms
    ratios = {
        client: max(nodes.values()) / median(nodes.values())
        for client, nodes in by_client.items()
        if len(nodes) > 1
    }
    assert shown.latency.covered == len(ratios)
    known = {
        (client[2], node): (ms, ms / median(nodes.values()))
        for client, nodes in by_client.items()
        for node, ms in nodes.items()
        if client[2] in {"clicks", "steady"}
    }
    found = {row[:2]: row[2:] for row in shown.latency.rows}
    assert found["clicks", "1"] == pytest.approx(known["clicks", "1"])
    assert max(row[3] for row in shown.latency.rows) == pytest.approx(
        max(ratios.values())
    )
    for (name, node), row in found.items():
        if (name, node) in known:
            assert row == pytest.approx(known[name, node]), name


def test_time_spent_equals_model(fleet, shown):
    parts = {
        "waits in the client": "producer.record.queue.time.avg",
        "request": "producer.request.latency.avg",
        "throttled": "producer.produce.throttle.time.avg",
    }
    values = {
        part: fleet.model.list_in_last_hour(metric) for part, metric in parts.items()
    }
    spent = {
        client: sum(of_part.get(client, 0.0) for of_part in values.values())
        for client in {*values["request"], *values["waits in the client"]}
    }
    assert shown.time_spent.covered == len(spent)
    found = Counter()
    for name, _, ms in shown.time_spent.rows:
        found[name] += ms
    slowest = sorted(spent.values(), reverse=True)[: len(found)]
    assert sorted(found.values(), reverse=True) == pytest.approx(slowest)


def test_consumers_equal_model(fleet, shown):
    metrics = (
        "poll.idle.ratio.avg",
        "fetch.manager.records.lag.max",
        "fetch.manager.records.consumed.rate",
    )
    idle, lag, rate = (
        fleet.model.list_in_last_hour(f"consumer.{metric}") for metric in metrics
    )
    expected = [(idle[one], lag.get(one), rate.get(one)) for one in idle]
    found = [row[1:] for row in shown.consumers.rows]
    assert len(found) == len(expected)
    by_lag = partial(sorted, key=lambda row: (row[1] or 0, row[2] or 0))
    for row, other in zip(by_lag(found), by_lag(expected), strict=True):
        assert row == pytest.approx(other)


def test_active_instances_over_time_equal_model(fleet, shown):
    axis = shown.axis
    step = timedelta(milliseconds=axis.step_ms)
    found = {(row[0], row[1]): row[2] for row in shown.live.rows}
    assert found == fleet.model.count_live(axis.start, step, axis.steps)


@pytest.mark.parametrize("metric", LINES)
def test_lines_of_clients_equal_model(fleet, shown, metric):
    axis = shown.axis
    step = timedelta(milliseconds=axis.step_ms)
    whole = (shown.newest_push - axis.start) // step
    compared = 0
    clients = fleet.model.list_clients(fleet.model.instances)
    for client, detail in zip(list_keys(shown), shown.details, strict=False):
        lines = {one.name: dict(one.points) for one in detail.lines}
        expected = fleet.model.line_of(
            clients.get(client, ()), metric, axis.start, step
        )
        if metric.endswith(".total"):
            # The step of the newest push has not ended.
            expected = {one: n for one, n in expected.items() if one < whole}
        assert lines.get(metric, {}) == pytest.approx(expected), client
        compared += len(expected)
    assert compared


def test_brokers_and_drift_equal_model(fleet, shown):
    model = fleet.model
    clusters = {row["cluster_id"] for row in model.registrations}
    found = {
        row[:2]: row[2:]
        for row in rows_of(shown.brokers, "cluster", "broker", "state", "configs known")
    }
    assert found == {
        (cluster_id, broker): ("live", count)
        for cluster_id in clusters
        for broker, count in model.count_configs(cluster_id).items()
    }
    drift = {
        (cluster_id, name, value): list(brokers)
        for cluster_id, name, value, brokers in rows_of(
            shown.drift, "cluster", "config", "static value", "brokers"
        )
    }
    assert drift == {
        (cluster_id, *key): brokers
        for cluster_id in clusters
        for key, brokers in model.list_drift(cluster_id).items()
    }


def test_gaps_and_health_equal_model(fleet, shown):
    without = shown.not_told[0][1]
    known = fleet.model.describe_clients()
    silent = [one for (_, name), one in known.items() if name == "known_by"]
    assert sum(row[2] for row in without.rows) == sum(
        one != "telemetry" for one in silent
    )
    rejected = next(part for title, part in shown.health if "quarantine" in title)
    found = {row[:2]: row[2] for row in rows_of(rejected, "reason", "job", "records")}
    assert found == fleet.model.count_rejected(until=shown.made_at)


def test_changes_equal_model(fleet, shown):
    counts = {}
    for one in shown.changes:
        number, _, what = one.what.partition(" ")
        counts[what] = 0 if number == "no" else int(number)
    left = [
        client
        for client, name in fleet.model.describe_clients().items()
        if client[1] == "state" and name != "active"
    ]
    assert counts["clients appeared"] == len(fleet.model.list_new(shown.since))
    assert counts["clients left"] == len(left)
    opened = sum(one["until"] is None for one in fleet.model.findings)
    assert counts["findings opened, 0 closed"] == opened


def test_names_of_lines_are_metrics(shown):
    names = {one.name for detail in shown.details for one in detail.lines}
    assert {*LINES} <= names
    assert not any(name.startswith(PREFIX) for name in names)
