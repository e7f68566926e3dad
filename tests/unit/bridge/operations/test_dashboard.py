"""The dashboard shows what the bridge exports, and nothing else."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import CollectorRegistry

from pipelines.bridge.server import BridgeServer
from pipelines.settings import CONF_PATH, load_settings
from pipelines.settings.secret_references import SecretReader

DASHBOARD = json.loads((CONF_PATH / "grafana" / "bridge.json").read_text())
METRIC = re.compile(r"\b((?:kafka|process)_[a-z0-9_]+)")
LABELS = re.compile(r"(?:by \(|[{,])\s*([a-z_]+(?:, [a-z_]+)*)\s*(?:\)|=)")
PROMETHEUS_LABELS = {"job", "instance", "le"}
ON_NO_PANEL: dict[str, str] = {}
"""Family to the reason why the dashboard has no panel of it."""


def list_expressions():
    panels = [one for one in DASHBOARD["panels"] if one["type"] != "row"]
    return [(panel, target["expr"]) for panel in panels for target in panel["targets"]]


def list_queries():
    return [one["query"] for one in DASHBOARD["templating"]["list"]]


@pytest.fixture(scope="module")
def families():
    """What /metrics says of a bridge with one client instance, which pushed configs."""
    settings = load_settings("local", ["client_config.enabled=true"])
    server = BridgeServer(settings, SecretReader(environ={}))
    server.push_config.counters.note_policy("an-id", 1.0, has_failed=True)
    connection = SimpleNamespace(connection_id=1, seat=None, trouble=0)
    server.watch.top.seat(connection, UUID(int=5))
    registry = CollectorRegistry()
    registry.register(ProcessCollector(registry=None))
    server.watch.state.client_instances = 1
    feed = server.watch.state.feed
    feed.published["Config"] = feed.passed_over["NoOp"] = 1
    feed.faults["quotas", "refused"] = 1
    server.watch._collector._refresh = lambda: server.watch.state
    text = generate_latest(server.watch._collector) + generate_latest(registry)
    return list(text_string_to_metric_families(text.decode()))


def test_every_metric_of_the_dashboard_is_exported(families):
    exported = {sample.name for family in families for sample in family.samples}
    if not Path("/proc/self").exists():
        exported |= {
            name
            for _, expr in list_expressions()
            for name in METRIC.findall(expr)
            if name.startswith("process_")
        }
    for expression in [*(expr for _, expr in list_expressions()), *list_queries()]:
        names = METRIC.findall(expression)
        assert names or expression == "prometheus"
        assert set(names) <= exported, expression


def test_every_exported_family_is_on_the_dashboard_or_has_a_reason(families):
    shown = {name for _, expr in list_expressions() for name in METRIC.findall(expr)}
    missing = [
        family.name
        for family in families
        if not shown & {sample.name for sample in family.samples}
        and family.name not in ON_NO_PANEL
    ]
    assert missing == []


def test_labels_of_the_dashboard_are_those_of_its_metrics(families):
    labels = {}
    for family in families:
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    for panel, expression in list_expressions():
        known = set().union(
            *(labels[name] for name in METRIC.findall(expression) if name in labels)
        )
        used = {
            one for group in LABELS.findall(expression) for one in group.split(", ")
        }
        assert used <= known | PROMETHEUS_LABELS, panel["title"]


def test_panels_have_titles_and_do_not_overlap():
    seen = set()
    for panel in DASHBOARD["panels"]:
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
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
