"""Alert rules: each fires when it should, and none of them at a site that is well."""

import re
import shutil
import subprocess

import pytest
import yaml

from pipelines.settings import CONF_PATH
from tests.support.exported_metrics import (
    read_bridge_families,
    read_forwarder_families,
    read_job_families,
)
from tests.unit.test_dashboards import DASHBOARDS, LABELS, METRIC, list_expressions

FOLDER = CONF_PATH / "prometheus"
GROUPS = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
RULES = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}
PROMTOOL = shutil.which("promtool")
NEEDS_PROMTOOL = pytest.mark.skipif(
    PROMTOOL is None, reason="Prometheus' promtool is not here (Debian: prometheus)"
)
OF_PROMETHEUS = {"job", "instance", "le", "alertname", "alertstate"}

B, Q, T, F = (
    f"kafka_clientele_{one}" for one in ("bridge", "query", "table", "forwarder")
)
BRIDGE = 'instance="b"'
FORWARDER = '{instance="f"}'
JOB = 'instance="d",query="client_telemetry_to_delta"'
WAITING = 'instance="d",query="client_traffic_to_delta"'
REFUSED = f"{B}_refused_pushes_total{{{BRIDGE},reason="
PUSHES = '{table="client_pushes"}'
# Minutes of one site: each series with its values, as promtool writes them.
WELL = {
    'up{job="kafka-clientele-bridge",instance="b"}': "1x600",
    'up{job="kafka-clientele-jobs",instance="d"}': "1x600",
    'process_start_time_seconds{job="kafka-clientele-jobs",instance="d"}': "9x600",
    f"{B}_ready{{{BRIDGE}}}": "1x600",
    f"{B}_accepted_pushes_total{{{BRIDGE}}}": "0+600x600",
    f'{REFUSED}"publish_timeout"}}': "0+1x600",
    f'{REFUSED}"throttled"}}': "0+10x600",
    f'{B}_publish_latency_seconds_bucket{{{BRIDGE},le="0.1"}}': "0+600x600",
    f'{B}_publish_latency_seconds_bucket{{{BRIDGE},le="8.0"}}': "0+600x600",
    f'{B}_publish_latency_seconds_bucket{{{BRIDGE},le="+Inf"}}': "0+600x600",
    f"{B}_unacknowledged_bytes{{{BRIDGE}}}": "5x600",
    f"{B}_unacknowledged_bytes_limit{{{BRIDGE}}}": "100x600",
    f"{B}_event_loop_lag_seconds{{{BRIDGE}}}": "0.01x600",
    f'process_open_fds{{job="kafka-clientele-bridge",{BRIDGE}}}': "50x600",
    f'process_max_fds{{job="kafka-clientele-bridge",{BRIDGE}}}': "1024x600",
    f'{B}_events_total{{{BRIDGE},event="unexpected_errors"}}': "3x600",
    f"{B}_feeding{{{BRIDGE}}}": "1x600",
    f"{B}_feed_looks_total{{{BRIDGE}}}": "0+30x600",
    f"{Q}_up{{{JOB}}}": "1x600",
    f"{Q}_starts_total{{{JOB}}}": "1x600",
    f"{Q}_waits_for_topic{{{JOB}}}": "0x600",
    # A feature that no bridge has on: its topic was never there.
    f"{Q}_up{{{WAITING}}}": "0x600",
    f"{Q}_starts_total{{{WAITING}}}": "0x600",
    f"{Q}_waits_for_topic{{{WAITING}}}": "1x600",
    f"{Q}_failures_total{{{JOB}}}": "1x600",
    f"{Q}_last_sign_timestamp_seconds{{{JOB}}}": "0+60x600",
    f"{Q}_lag_records{{{JOB}}}": "100x600",
    f"{Q}_records_total{{{JOB}}}": "0+600x600",
    f"{Q}_batch_seconds_sum{{{JOB}}}": "0+30x600",
    f"{Q}_batch_seconds_count{{{JOB}}}": "0+20x600",
    f"{Q}_quarantined_records_total{{{JOB}}}": "0+1x600",
    'up{job="kafka-clientele-forwarder",instance="f"}': "1x600",
    f"{F}_ready{FORWARDER}": "1x600",
    f"{F}_lag_records{FORWARDER}": "100x600",
    f"{F}_records_total{FORWARDER}": "0+600x600",
    f"{F}_rejected_points_total{FORWARDER}": "7x600",
    f"{T}_readable{PUSHES}": "1x600",
    f"{T}_files{PUSHES}": "20000x600",
    f"{T}_bytes{PUSHES}": "200000000000x600",
    f"{T}_last_commit_timestamp_seconds{PUSHES}": "0+60x600",
}
FAULTS = {
    "BridgeDown": {'up{job="kafka-clientele-bridge",instance="b"}': "0x600"},
    "NoBridgeIsWatched": {f"{B}_ready{{{BRIDGE}}}": "_x600"},
    "BridgeNotReady": {f"{B}_ready{{{BRIDGE}}}": "0x600"},
    "BridgeCannotStore": {f'{REFUSED}"publish_timeout"}}': "0+60x600"},
    "BridgeRefusesPushes": {f'{REFUSED}"throttled"}}': "0+300x600"},
    "BridgeIsSlow": {
        f'{B}_publish_latency_seconds_bucket{{{BRIDGE},le="0.1"}}': "0x600"
    },
    "BridgeMemoryIsFull": {f"{B}_unacknowledged_bytes{{{BRIDGE}}}": "90x600"},
    "BridgeLoopIsLate": {f"{B}_event_loop_lag_seconds{{{BRIDGE}}}": "2x600"},
    "BridgeRunsOutOfFiles": {
        f'process_open_fds{{job="kafka-clientele-bridge",{BRIDGE}}}': "1000x600"
    },
    "BridgeHasErrors": {
        f'{B}_events_total{{{BRIDGE},event="unexpected_errors"}}': "0+1x600"
    },
    "ClusterIsNotFed": {f"{B}_feeding{{{BRIDGE}}}": "0x600"},
    "JobDriverDown": {'up{job="kafka-clientele-jobs",instance="d"}': "0x600"},
    "JobDriverStartsAgainAndAgain": {
        'process_start_time_seconds{job="kafka-clientele-jobs",instance="d"}': "0+6x600"
    },
    "JobStopped": {f"{Q}_up{{{JOB}}}": "0x600"},
    "JobIsNoLongerWatched": {f"{Q}_up{{{JOB}}}": "1x80 _x520"},
    "NoJobIsWatched": {f"{Q}_up{{{one}}}": "_x600" for one in (JOB, WAITING)},
    "JobFailsAgainAndAgain": {f"{Q}_failures_total{{{JOB}}}": "0+0.2x600"},
    "JobIsSilent": {f"{Q}_last_sign_timestamp_seconds{{{JOB}}}": "60x600"},
    "JobIsBehind": {f"{Q}_lag_records{{{JOB}}}": "6000x600"},
    "JobBatchesAreSlow": {f"{Q}_batch_seconds_sum{{{JOB}}}": "0+2000x600"},
    "QuarantineFills": {f"{Q}_quarantined_records_total{{{JOB}}}": "0+3x600"},
    "ForwarderDown": {'up{job="kafka-clientele-forwarder",instance="f"}': "0x600"},
    "ReceiverTakesNothing": {f"{F}_ready{FORWARDER}": "0x600"},
    "ForwarderIsBehind": {f"{F}_lag_records{FORWARDER}": "6000x600"},
    "ReceiverRejectsPoints": {f"{F}_rejected_points_total{FORWARDER}": "0+60x600"},
    "TableIsMissing": {f"{T}_readable{PUSHES}": "0x600"},
    "PushesAreNotStored": {f"{T}_last_commit_timestamp_seconds{PUSHES}": "60x600"},
    "TableHasSmallFiles": {f"{T}_bytes{PUSHES}": "2000000x600"},
}
"""What alone is otherwise where an alert fires."""
LOOKED_AT, LATE = "2h", "8h"
ONLY_LATE = {"TableHasSmallFiles"}
"""What must last for hours."""


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    """Return each exported metric with its labels."""
    known = {"up": set()}
    of_jobs = read_job_families(tmp_path_factory.mktemp("tables"))
    of_forwarder = read_forwarder_families()
    for family in [*read_bridge_families(), *of_jobs, *of_forwarder]:
        for sample in family.samples:
            known.setdefault(sample.name, set()).update(sample.labels)
    return known


@pytest.mark.parametrize("name", RULES)
def test_an_alert_asks_for_what_is_exported(labels, name):
    rule = RULES[name]
    names = {*METRIC.findall(rule["expr"]), *re.findall(r"\bup\b", rule["expr"])}
    assert names
    assert names <= labels.keys()
    known = set().union(*(labels[one] for one in names)) | OF_PROMETHEUS
    used = {one for g in LABELS.findall(rule["expr"]) for one in g.split(", ")}
    texts = " ".join(rule["annotations"].values())
    assert used | set(re.findall(r"\$labels\.(\w+)", texts)) <= known


@pytest.mark.parametrize("name", RULES)
def test_an_alert_says_how_bad_it_is_and_what_to_do(name):
    rule = RULES[name]
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert {*rule["annotations"]} == {"summary", "description"}
    assert len(rule["annotations"]["description"]) > len("look at the log")


def test_documents_that_alerts_name_are_there():
    texts = [one for rule in RULES.values() for one in rule["annotations"].values()]
    pages = re.findall(r"docs/[\w/-]+\.md", (FOLDER / "alerts.yml").read_text())
    assert texts
    assert all((CONF_PATH.parent / page).exists() for page in pages)


def test_the_page_of_operators_names_each_alert_once():
    page = (CONF_PATH.parent / "docs/operations/watching.md").read_text()
    told = re.findall(r"`([A-Z]\w+)`", page.partition("| alerts | tell of |")[2])
    assert sorted(told) == sorted(RULES)


def test_each_alert_has_a_fault_that_it_fires_at():
    assert FAULTS.keys() == RULES.keys()
    for fault in FAULTS.values():
        assert fault.keys() <= WELL.keys()


def run_promtool(*words):
    done = subprocess.run(
        [PROMTOOL, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def firing(names, moment):
    """Return what promtool is to find: the names of the alerts that fire."""
    return {
        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
        "eval_time": moment,
        "exp_samples": [
            {"labels": f'{{alertname="{name}"}}', "value": 1} for name in names
        ],
    }


@NEEDS_PROMTOOL
def test_each_alert_fires_at_its_fault_and_none_where_all_is_well(tmp_path):
    cases = [({}, [], LATE)] + [
        (fault, [name], LATE if name in ONLY_LATE else LOOKED_AT)
        for name, fault in FAULTS.items()
    ]
    tests = [
        {
            "name": " ".join(names) or "well",
            "interval": "1m",
            "input_series": [
                {"series": series, "values": values}
                for series, values in (WELL | fault).items()
            ],
            "promql_expr_test": [firing(names, moment)],
        }
        for fault, names, moment in cases
    ]
    asked = {
        "rule_files": [str(FOLDER / "alerts.yml")],
        "evaluation_interval": "1m",
        "tests": tests,
    }
    path = tmp_path / "tests.yml"
    path.write_text(yaml.safe_dump(asked))
    assert "SUCCESS" in run_promtool("test", "rules", str(path))


@NEEDS_PROMTOOL
def test_prometheus_takes_rules_and_configuration():
    said = run_promtool("check", "config", str(FOLDER / "prometheus.yml"))
    assert f"{len(RULES)} rules found" in said


@NEEDS_PROMTOOL
@pytest.mark.parametrize("name", [*DASHBOARDS])
def test_prometheus_parses_every_expression_of_a_dashboard(tmp_path, name):
    rules = [
        {
            "record": f"shown:{number}",
            "expr": re.sub(r"\$(__rate_interval|window)\b", "5m", expr).replace(
                "$", ""
            ),
        }
        for number, (_, expr) in enumerate(list_expressions(name))
    ]
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": name, "rules": rules}]}))
    assert f"{len(rules)} rules found" in run_promtool("check", "rules", str(path))
