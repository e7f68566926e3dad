"""Dashboards show what bridges and drivers export, and nothing else."""

import json
import re
from pathlib import Path

import pytest

from pipelines.forwarder.bodies import LABEL_HEADERS
from pipelines.forwarder.nodes import NODE_ID, NODE_ROLE
from pipelines.forwarder.remote_write import metric_name
from pipelines.settings import CONF_PATH
from pipelines.settings.client_releases import (
    METRICS_KIND,
    load_client_faults,
    load_client_releases,
)
from pipelines.settings.metric_semantics import load_metric_semantics
from tests.support.exported_metrics import read_bridge_families, read_job_families

DASHBOARDS = {
    path.stem: json.loads(path.read_text())
    for path in sorted((CONF_PATH / "grafana").glob("*.json"))
}
FORWARDED = re.compile(r"\borg_apache_kafka_[a-z0-9_]+")
SERIES = re.compile(r"(org_apache_kafka_\w+)({[^}]*})")
RANKED = re.compile(r"^(?:topk|bottomk)\(10, (?:60 \* )?(.*)\)$")
BY = re.compile(r"by \((.*?)\)")
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
    """Return what a dashboard may show: each metric's name to its row."""
    rows = {one.metric: one for one in load_metric_semantics()}
    found = [one for one in rows.values() if one.java != "never"]
    if name == "clients":
        found = [one for one in rows.values() if one.requirement]
        # Weights of means; clients that do not push them get plain means.
        found += [rows[one.weight] for one in found if one.weight]
    return {metric_name(one.metric, is_total=one.kind == "sum"): one for one in found}


def list_labels(row):
    """Return the labels of a metric's points at Prometheus."""
    labels = {
        # The forwarder adds the role of the connection to a node ID.
        "node": {NODE_ID, NODE_ROLE},
        "topic": {"topic"},
        "partition": {"topic", "partition"},
    }
    return set().union(*(labels.get(level, set()) for level in row.levels))


def combine_series(row, series, by):
    """Return the PromQL that combines the series of client instances, by the row."""
    name, selector = series
    if row.kind == "sum":
        return f"sum by ({by}) (rate({name}{selector}[$window]))"
    # Java's clients push NaN if nothing happened, which is not >= 0.
    value = f"{name}{selector} >= 0"
    plain = {"mean": "avg", "weighted mean": "avg"}.get(
        row.over_instances, row.over_instances
    )
    combined = f"{plain} by ({by}) ({value})"
    if row.over_instances != "weighted mean":
        return combined
    weight = f"{metric_name(row.weight, is_total=False)}{selector} > 0"
    return (
        f"sum by ({by}) (({value}) * ({weight}))"
        f" / sum by ({by}) (({weight}) and ({value})) or {combined}"
    )


@pytest.mark.parametrize("name", sorted(OF_FORWARDED))
def test_a_dashboard_of_forwarded_metrics_shows_those_and_their_labels(name):
    known = read_forwarded(name)
    for panel, expression in list_expressions(name):
        metrics = FORWARDED.findall(expression)
        assert metrics
        assert {*metrics} <= known.keys(), panel["title"]
        labels = set().union(*(list_labels(known[one]) for one in metrics))
        labels |= RESOURCE_LABELS
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


@pytest.mark.parametrize("name", sorted(OF_FORWARDED))
def test_an_aggregation_of_a_client_metric_agrees_with_its_semantics(name):
    known = read_forwarded(name)
    checked = 0
    for panel in DASHBOARDS[name]["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"]
            if expression.startswith("count by"):
                continue
            (core,) = RANKED.findall(expression)
            series = SERIES.search(core).groups()
            by = BY.search(core).group(1)
            row = known[series[0]]
            assert core == combine_series(row, series, by), panel["title"]
            labels = by.split(", ")
            # A client has a name, a principal and a cluster; the legend shows them.
            assert labels[:3] == ["cluster_id", "principal", "client_id"]
            assert sorted(re.findall(r"{{(\w+)}}", target["legendFormat"])) == (
                sorted(labels)
            )
            assert_one_level(row, series[1], labels)
            checked += 1
    assert checked > 15


def assert_one_level(row, selector, labels):
    """Check that points of several levels are not combined with one another."""
    own = {"node_id"} if "node" in row.levels else set()
    assert own <= set(labels) or row.over_nodes == row.over_instances
    if len(row.levels) > 1 and row.over_instances not in {"max", "min"}:
        assert ('topic!=""' if "topic" in labels else 'topic=""') in selector
    if "node_id" in labels:
        # A coordinator's requests include waits for rebalances.
        assert 'node_role="broker"' in selector


@pytest.mark.parametrize("name", sorted(OF_FORWARDED))
def test_each_query_of_clients_is_limited_by_the_chosen_cluster(name):
    for panel, expression in list_expressions(name):
        selectors = [found[1] for found in SERIES.findall(expression)]
        assert selectors
        for selector in selectors:
            for label in ("cluster_id", "client_id", "principal"):
                assert f'{label}=~"${label}"' in selector, panel["title"]
