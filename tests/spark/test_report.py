"""A report says what the tables say, and what they do not."""

import dataclasses
import os
import signal
import subprocess
import sys
import urllib.request
from datetime import timedelta
from pathlib import Path

import pytest

from pipelines.commands.failures import EXIT_TERMINATED
from pipelines.errors import InvalidSetting, MissingTable, UnknownClient
from pipelines.report.collecting import Request, collect
from pipelines.report.page import make_page
from pipelines.settings import CONF_PATH, load_settings
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_PUSHES,
    TELEMETRY_CONTRACTS,
)
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.support.documents import find_block
from tests.support.jobs.given_calls import run_line
from tests.support.report.report_tables import (
    HOSTILE,
    INTERVAL_MS,
    NOW,
    SINCE,
    ago,
    fill_findings,
    fill_tables,
)
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows

REQUEST = Request(environment="test", made_at=NOW, since=SINCE)


PAGE = "docs/guide/report.md"


@pytest.fixture
def settings(tmp_path):
    return load_settings("base", [f"tables.root_path={tmp_path}"])


@pytest.fixture
def session(spark):
    """Return a session whose views end with the test."""
    return spark.newSession()


def read(table, *names):
    columns = [table.column(name).to_pylist() for name in names]
    return list(zip(*columns, strict=True))


def step_of(fleet, minutes):
    return (ago(minutes) - fleet.axis.start) // timedelta(
        milliseconds=fleet.axis.step_ms
    )


def rows_of(part, *names):
    places = [part.names.index(name) for name in names]
    return [tuple(row[place] for place in places) for row in part.rows]


@pytest.mark.long
def test_a_report_says_what_the_tables_say(session, settings):
    fill_tables(session, settings)
    fill_findings(session, settings)
    fleet = collect(session, settings, REQUEST)
    who = ("client_id", "state", "instances", "active", "errors", "warnings")
    clients = read(fleet.clients, *who)
    # Those with errors come first, then those with warnings, then by use.
    assert clients[:2] == [
        (HOSTILE, "active", 1, 1, 1, 0),
        ("orders-1", "active", 2, 1, 0, 2),
    ]
    assert {*clients[2:]} == {
        ("billing-1", "idle", 1, 0, 0, 0),
        (None, "active", 0, 0, 0, 0),
        *((f"peer-{one}", "active", 1, 1, 0, 0) for one in range(6)),
    }
    assert read(fleet.clients, "version", "versions", "use")[1] == ("3.9.2", 2, 0.95)
    assert fleet.newest_push == NOW - timedelta(minutes=1)
    assert fleet.push_interval_ms == INTERVAL_MS
    assert fleet.evaluated_at == NOW - timedelta(minutes=2)
    check_findings(fleet)
    check_details(fleet)
    check_sections(fleet)
    check_pictures(fleet)


def check_findings(fleet):
    assert [(one.rule, one.clients, one.opened) for one in fleet.rules] == [
        *(("acks-one", 1, 1), ("linger-zero", 1, 1), ("old", 1, 1))
    ]
    assert [one.row for one in fleet.rules[0].examples] == [0]
    assert fleet.rules[1].suggested_value == "20"
    assert rows_of(fleet.details[1].findings, "rule") == [("linger-zero",), ("old",)]
    told = (fleet.details[1].rules_evaluated, fleet.details[1].rules_not_evaluated.rows)
    assert told == (1, [("of-java", "not for this software")])
    assert [(one.client_type, one.evaluated) for one in fleet.rule_coverage] == [
        *(("consumer", 1), ("producer", 1))
    ]
    told = [one.what for one in fleet.changes]
    assert "5 findings opened, 1 closed" in told


def check_details(fleet):
    orders = fleet.details[1]
    assert rows_of(orders.instances, "client instance id", "state") == [
        *(("a", "active"), ("a0", "terminated"))
    ]
    configs = rows_of(orders.configs, "key", "value", "source", "status")
    assert configs[:2] == [
        ("linger.ms", "5", "pushed", "overridden"),
        ("sasl.jaas.config", None, "pushed", "redacted"),
    ]
    # A change, not each value that the client ever had.
    assert ("config", "linger.ms", "0", "5") in rows_of(
        orders.history, "what", "name", "before", "now"
    )
    assert rows_of(orders.quotas, "quota key", "used (%)") == [
        ("producer_byte_rate", 95.0)
    ]
    lines = {line.name: line for line in orders.lines}
    # The first push came 200 minutes ago, and the interval is ten minutes.
    assert fleet.axis.step_ms == INTERVAL_MS
    assert fleet.axis.steps in {21, 22}
    before, last = step_of(fleet, 45), step_of(fleet, 1)
    assert lines["producer.request.latency.avg"].points == [
        *((before, 12.5), (last, 40.0))
    ]
    # A counter's increase; what it had before is of no step.
    assert lines["producer.record.retry.total"].points == [(last, 4.0)]
    assert orders.marks == {
        "throttled": [last],
        "rebalance": [],
        "configuration": [step_of(fleet, 60)],
    }
    (billing,) = (
        fleet.details[row]
        for row, (name,) in enumerate(read(fleet.clients, "client_id"))
        if name == "billing-1"
    )
    assert (billing.marks["throttled"], billing.marks["rebalance"]) == ([], [last])
    (by_proxy,) = (
        fleet.details[row]
        for row, (name,) in enumerate(read(fleet.clients, "principal"))
        if name == "User:legacy"
    )
    assert rows_of(by_proxy.configs, "key", "source")[:1] == [
        ("group.protocol", "wire")
    ]


def check_sections(fleet):
    changes = {one.what: one.detail for one in fleet.changes}
    assert rows_of(changes["1 configured value changed"], "before", "now") == [
        ("0", "5")
    ]
    assert "no clients changed the version" in changes
    assert rows_of(fleet.limits, "quota-id", "used (%)", "measured by") == [
        *(("shared:", 120.0, "reported"), ("orders:", 95.0, "proxy"))
    ]
    # orders-1 was mended, and its ended instance counts no more.
    odd = rows_of(fleet.outliers, "one of them", "key", "most have", "a few have")
    assert odd == [("peer-5", "linger.ms", "5", "0")]
    assert rows_of(fleet.brokers, "broker", "state") == [(1, "live"), (2, "live")]
    assert rows_of(fleet.drift, "config", "static value") == [
        *(("num.io.threads", "8"), ("num.io.threads", "16"))
    ]
    without = dict(fleet.not_told)
    assert sum(n for *_, n in next(iter(without.values())).rows) == 7
    checks = fleet.health[0][1]
    assert rows_of(checks, "table") == [("client_pushes",)]
    assert "maintain_tables" in fleet.health[1][1].missing


def check_pictures(fleet):
    live = {(step, who): number for step, who, number in fleet.live.rows}
    last = step_of(fleet, 0.1)
    assert live[0, "User:orders"] == 1
    assert live[last, "User:orders"] == 2
    assert (last, "User:billing") not in live
    assert [row[:2] for row in fleet.time_spent.rows][:2] == [
        *(("orders-1", "waits in the client"), ("orders-1", "request"))
    ]
    assert fleet.consumers.rows == [("billing-1", 0.55, 5000.0, None)]
    assert [row[:3] for row in fleet.latency.rows] == [
        *((HOSTILE, "1", 5.0), (HOSTILE, "2", 5.0))
    ]


def test_a_report_says_what_is_not_there(session, settings):
    with pytest.raises(MissingTable, match="client_telemetry_to_delta"):
        collect(session, settings, REQUEST)
    make_tables(session, settings.tables, TELEMETRY_CONTRACTS)
    said = []
    later = dataclasses.replace(
        REQUEST, made_at=NOW + timedelta(minutes=1), report_part=said.append
    )
    fleet = collect(session, settings, later)
    assert said[0] == "Reading tables of clients"
    assert said[-1].endswith(" (11 of 11 parts)")
    assert fleet.clients.num_rows == 0
    assert "client_findings" in fleet.findings_missing
    assert "refresh_quotas" in fleet.limits.missing
    assert "cluster_metadata_to_delta" in fleet.brokers.missing
    html = make_page(fleet, "", {}).html
    assert "./spark-submit.sh refresh_quotas makes it" in html


def test_report_made_earlier_has_the_states_of_that_time(session, settings):
    make_tables(session, settings.tables, TELEMETRY_CONTRACTS)
    made_at = NOW - timedelta(days=3)
    client = {"client_instance_id": "a", "principal": "User:a", "client_id": "a"}
    client |= {"push_interval_ms": INTERVAL_MS}
    append_rows(settings.tables, CLIENT_INSTANCES,
        client | {"first_seen": made_at - timedelta(hours=1)},
    )  # fmt: skip
    pushed_at = made_at - timedelta(minutes=1)
    append_rows(settings.tables, CLIENT_PUSHES,
        client | {"received_at": pushed_at, "event_date": pushed_at.date()},
    )  # fmt: skip
    since = made_at - timedelta(hours=24)
    request = dataclasses.replace(REQUEST, made_at=made_at, since=since)
    fleet = collect(session, settings, request)
    assert read(fleet.clients, "state", "active") == [("active", 1)]
    assert [row[2] for row in fleet.live.rows][-1:] == [1]
    assert fleet.newest_push == pushed_at
    assert [one.what for one in fleet.changes][:2] == [
        *("1 client appeared", "no clients left")
    ]


def test_report_with_unknown_principal_names_known_ones(session, settings):
    make_tables(session, settings.tables, [CLIENT_WIRE_CONFIGS])
    append_rows(settings.tables, CLIENT_WIRE_CONFIGS,
        {"principal": "User:billing", "client_id": "a", "logical_client": "b"},
    )  # fmt: skip
    request = dataclasses.replace(REQUEST, principals=("billing", "biling"))
    with pytest.raises(UnknownClient) as refused:
        collect(session, settings, request)
    assert refused.value.exit_code == 1
    assert str(refused.value) == (
        "principal biling not found. Known principals: User:billing"
    )


@pytest.mark.long
def test_the_commands_of_its_page_write_it(session, settings, tmp_path, monkeypatch):
    fill_tables(session, settings)
    fill_findings(session, settings)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    given = f"tables.root_path={tmp_path}"
    for line in find_block(PAGE, "report").commands:
        run_line(session, line, given)
    (folder,) = find_block(PAGE, "report-folder").commands
    run_line(session, folder, given)
    run_line(session, folder, given)
    names = {str(one.relative_to(work)) for one in work.rglob("*") if one.is_file()}
    site = {"index.html", "page.js", "page.css", "vega.js"}
    assert names == {"fleet.html", "orders.html", *(f"site/{one}" for one in site)}
    whole, orders = (Path(one).read_text() for one in ("fleet.html", "orders.html"))
    assert "window.ran=1</script>" not in whole
    assert "billing-1" in whole
    assert "Only clients of" in orders
    with pytest.raises(InvalidSetting, match="--folder writes into one"):
        run_line(session, "./spark-submit.sh report --out site", given)


@pytest.mark.long
def test_it_is_served_until_it_is_ended(spark, settings, tmp_path):
    fill_tables(spark, settings)
    (line,) = find_block(PAGE, "report-serve").commands
    words = [*line.split()[1:], "--set", f"tables.root_path={tmp_path}"]
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "pipelines", *words],
        env=os.environ | {"PYTHONPATH": str(CONF_PATH.parent)},
        cwd=tmp_path, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        address = child.stdout.readline().strip()
        with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310 - loopback
            assert b"orders-1" in answer.read()
    finally:
        child.send_signal(signal.SIGTERM)
        assert child.wait(timeout=60) == EXIT_TERMINATED
        child.stdout.close()


@pytest.mark.long
def test_a_report_of_one_principal_tells_of_no_other(session, settings):
    fill_tables(session, settings)
    fill_findings(session, settings)
    of_billing = collect(
        session, settings, dataclasses.replace(REQUEST, principals=("billing",))
    )
    assert read(of_billing.clients, "client_id") == [("billing-1",)]
    assert [one.rule for one in of_billing.rules] == []
