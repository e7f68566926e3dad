"""Dashboards show what bridges and drivers export, and nothing else."""

import csv
import json
import re
from pathlib import Path

import pytest

from pipelines.forwarder.bodies import LABEL_HEADERS, plain_label
from pipelines.forwarder.nodes import NODE_ID, NODE_ROLE
from pipelines.forwarder.remote_write import metric_name
from pipelines.settings import CONF_PATH
from pipelines.settings.client_releases import (
    METRICS_KIND,
    load_client_faults,
    load_client_releases,
)
from pipelines.settings.metric_semantics import load_metric_semantics
from pipelines.settings.places import ROOT_PATH
from tests.support.exported_metrics import read_bridge_families, read_job_families

DASHBOARDS = {
    path.stem: json.loads(path.read_text())
    for path in sorted((CONF_PATH / "grafana").glob("*.json"))
}
FORWARDED = re.compile(r"\borg_apache_kafka_[a-z0-9_]+")
OF_FORWARDED = {"clients", "java_clients"}
"""Dashboards of what the forwarder sends on."""
METRIC = re.compile(r"\b((?:kafka|process)_[a-z0-9_]+)")
LABELS = re.compile(r"(?:by \(|[{,])\s*([a-z_]+(?:, [a-z_]+)*)\s*(?:\)|=)")
RESOURCE_LABELS = {*LABEL_HEADERS, "group_id"}
PROMETHEUS_LABELS = {"job", "instance", "le"}
PREFIXES = {
    "bridge": ("kafka_", "process_"),
    "jobs": ("kafka_clientele_query_",),
    "tables": ("kafka_clientele_table_",),
}
"""Families that a dashboard has all of."""
each_dashboard = pytest.mark.parametrize("name", [*PREFIXES])


def list_expressions(name):
    panels = [one for one in DASHBOARDS[name]["panels"] if one["type"] != "row"]
    return [(panel, target["expr"]) for panel in panels for target in panel["targets"]]


def list_queries(name):
    return [one["query"] for one in DASHBOARDS[name]["templating"]["list"]]


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    """What is exported where each dashboard looks."""
    of_jobs = read_job_families(tmp_path_factory.mktemp("tables"))
    return {"bridge": read_bridge_families(), "jobs": of_jobs, "tables": of_jobs}


def test_every_dashboard_is_looked_at():
    assert DASHBOARDS.keys() == PREFIXES.keys() | OF_FORWARDED
    uids = {one["uid"] for one in DASHBOARDS.values()}
    assert len(uids) == len(DASHBOARDS)


@each_dashboard
def test_every_metric_of_a_dashboard_is_exported(families, name):
    exported = {sample.name for family in families[name] for sample in family.samples}
    if not Path("/proc/self").exists():
        exported |= {
            metric
            for _, expr in list_expressions(name)
            for metric in METRIC.findall(expr)
            if metric.startswith("process_")
        }
    expressions = [expr for _, expr in list_expressions(name)]
    for expression in [*expressions, *list_queries(name)]:
        names = METRIC.findall(expression)
        assert names or expression == "prometheus"
        assert set(names) <= exported, expression


@each_dashboard
def test_every_exported_family_is_on_its_dashboard(families, name):
    shown = {m for _, expr in list_expressions(name) for m in METRIC.findall(expr)}
    missing = [
        family.name
        for family in families[name]
        if family.name.startswith(PREFIXES[name])
        and not shown & {sample.name for sample in family.samples}
    ]
    assert missing == []


@each_dashboard
def test_labels_of_a_dashboard_are_those_of_its_metrics(families, name):
    labels = {}
    for family in families[name]:
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    for panel, expression in list_expressions(name):
        known = set().union(
            *(labels[one] for one in METRIC.findall(expression) if one in labels)
        )
        used = {
            one for group in LABELS.findall(expression) for one in group.split(", ")
        }
        assert used <= known | PROMETHEUS_LABELS, panel["title"]


def test_clients_dashboard_marks_the_releases_with_wrong_metrics():
    (panel,) = (
        one
        for one in DASHBOARDS["clients"]["panels"]
        if one["title"] == "Clients whose metrics are wrong"
    )
    expression = panel["targets"][0]["expr"]
    (pattern,) = set(re.findall(r'client_software_version=~"([^"]+)"', expression))
    (fault,) = (one for one in load_client_faults() if one.kind == METRICS_KIND)
    assert fault.family == "franz-go"
    shown = {
        one.release: re.fullmatch(pattern, f"v{one.release}") is not None
        for one in load_client_releases()
        if one.software == "kgo"
    }
    assert shown == {
        release: number(fault.from_release) <= number(release) < number(fault.fixed_in)
        for release in shown
    }
    assert fault.from_release in shown


def number(release):
    return tuple(map(int, release.split(".")))


@pytest.mark.parametrize("name", [*DASHBOARDS])
def test_panels_have_titles_and_do_not_overlap(name):
    seen = set()
    for panel in DASHBOARDS[name]["panels"]:
        assert panel["title"]
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & seen
        seen |= cells
    ids = [panel["id"] for panel in DASHBOARDS[name]["panels"]]
    assert len(set(ids)) == len(ids)


def read_forwarded(name):
    """Return what a dashboard may show: each metric with the labels of its points."""
    if name == "clients":
        found = [
            (one.metric, one.label or "")
            for one in load_metric_semantics()
            if one.requirement
        ]
    else:
        paths = (ROOT_PATH / "tests/golden/telemetry").glob("java_*_metrics.csv")
        texts = [path.read_text().splitlines() for path in paths]
        rows = [one for text in texts for one in csv.DictReader(text)]
        found = [
            (one["metric"], re.sub(r":\w+", "", one["attributes"])) for one in rows
        ]
    # The forwarder adds the role of the connection to a node ID.
    return {
        metric_name(metric, is_total=metric.endswith(".total")): {
            plain_label(one)
            for one in labels.replace(NODE_ID, f"{NODE_ID} {NODE_ROLE}").split()
        }
        for metric, labels in found
    }


@pytest.mark.parametrize("name", sorted(OF_FORWARDED))
def test_a_dashboard_of_forwarded_metrics_shows_those_and_their_labels(name):
    known = read_forwarded(name)
    for panel, expression in list_expressions(name):
        metrics = FORWARDED.findall(expression)
        assert metrics
        assert {*metrics} <= known.keys(), panel["title"]
        labels = set().union(*(known[one] for one in metrics)) | RESOURCE_LABELS
        used = {
            one for group in LABELS.findall(expression) for one in group.split(", ")
        }
        assert used <= labels, panel["title"]


def test_every_standard_metric_is_on_its_dashboard():
    shown = {
        metric
        for _, expression in list_expressions("clients")
        for metric in FORWARDED.findall(expression)
    }
    assert shown == read_forwarded("clients").keys()
