"""Panels about clients equal the model of the sample fleet.

The forwarder writes the newest push of each client as it does for Prometheus, and
promtool evaluates the expressions of the dashboards.
"""

import json
import re
from collections import Counter, defaultdict
from datetime import timedelta
from statistics import fmean

import yaml
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from pipelines.forwarder.bodies import LABEL_HEADERS, Selection, make_labels
from pipelines.forwarder.nodes import normalize_nodes
from pipelines.forwarder.remote_write import metric_name, write_series
from tests.support.fleet_model import PREFIX, number_of
from tests.support.write_request import WriteRequest
from tests.unit.test_alerts import NEEDS_PROMTOOL, run_promtool
from tests.unit.test_dashboards import BY, RANKED, SERIES, list_expressions

_OPERATORS = {"sum": sum, "max": max, "min": min, "avg": fmean}
_POINT_LABELS = {"topic_name": "topic", "topic_partition": "partition"}
_LOOKBACK = timedelta(minutes=5)


def write_push(points):
    """Return the push that has these gauges, as a client sends it."""
    data = MetricsData()
    metrics = data.resource_metrics.add().scope_metrics.add().metrics
    for point in points:
        sent = metrics.add(name=point["metric"]).gauge.data_points.add()
        for name in ("value_double", "value_long"):
            if point[name] is not None:
                sent.as_double = point[name]
        if point["node_id"] is not None:
            sent.attributes.add(key="node_id").value.int_value = int(point["node_id"])
        for column, label in _POINT_LABELS.items():
            if point[column] is not None:
                sent.attributes.add(key=label).value.string_value = str(point[column])
    return data


def list_newest(fleet):
    """Return the instances that Prometheus still shows, with their newest points."""
    found = {}
    for one, row in fleet.model.instances.items():
        last = fleet.model.last_push_of(one)
        if last["received_at"] > fleet.model.until - _LOOKBACK:
            points = [
                point
                for point in fleet.model.points_of[one]
                if point["push_id"] == last["push_id"] and point["kind"] == "gauge"
            ]
            found[one] = row, points
    return found


def list_series(fleet):
    """Return the series that the forwarder sends, as promtool reads them."""
    found = []
    for row, points in list_newest(fleet).values():
        data = write_push(points)
        normalize_nodes(data, data.SerializeToString())
        known = {name: row[name] for name in LABEL_HEADERS if name in row}
        headers = {
            name: str(value).encode()
            for name, value in known.items()
            if value is not None
        }
        body = write_series(data, make_labels(headers, Selection())).body
        for one in WriteRequest.FromString(body).timeseries:
            labels = {label.name: label.value for label in one.labels}
            name = labels.pop("__name__")
            found.append(_series(name, labels, one.samples[0].value))
    return found


def _series(name, labels, value):
    told = ",".join(f"{key}={json.dumps(text)}" for key, text in labels.items())
    return {"series": f"{name}{{{told}}}", "values": f"_ {value}"}


def list_panels():
    """Return panels of one gauge of clients: title, expression and labels."""
    for dashboard in ("clients", "java_clients"):
        for panel, expression in list_expressions(dashboard):
            ranked = RANKED.match(expression)
            if ranked and "rate(" not in expression and "topic=" not in expression:
                inner = re.sub(r'=~"\$\w+"', '=~".*"', ranked[1])
                yield panel["title"], inner, BY.search(inner)[1].split(", ")


def expect(fleet, expression, labels):
    """Return labels to the value that a panel must show."""
    name = SERIES.search(expression)[1]
    word = re.findall(r"(sum|max|min|avg) by", expression)[-1]
    values = defaultdict(list)
    for row, points in list_newest(fleet).values():
        own = [
            point
            for point in points
            if metric_name(point["metric"], is_total=False) == name
            and (point["node_role"] in {None, "broker"})
        ]
        for point in own:
            number = number_of(point)
            if number is not None and number >= 0:
                known = {**row, "node_id": point["node_id"]}
                values[tuple(known[label] for label in labels)].append(number)
    return {key: _OPERATORS[word](numbers) for key, numbers in values.items()}


@NEEDS_PROMTOOL
def test_panels_of_clients_equal_model(fleet, tmp_path):
    series, tests, compared = list_series(fleet), [], Counter()
    for place, (title, expression, labels) in enumerate(list_panels()):
        expected = expect(fleet, expression, labels)
        compared[title] += len(expected)
        name, by = f"expected_{place}", ", ".join(labels)
        for key, value in expected.items():
            told = dict(zip(labels, key, strict=True))
            told = {label: text for label, text in told.items() if text is not None}
            series.append(_series(name, told, value))
        differing = (
            f"(abs(({expression}) - on ({by}) {name}) > 1e-6)"
            f" or (({expression}) unless on ({by}) {name})"
            f" or ({name} unless on ({by}) ({expression}))"
        )
        tests.append({"expr": differing, "eval_time": "2m", "exp_samples": []})
    shown = {title for title, number in compared.items() if number}
    assert {
        "Lag, greatest of a partition",
        "Request latency by broker, longest",
        "Throttled by a quota, longest",
    } <= shown
    path = tmp_path / "tests.yml"
    group = {"interval": "1m", "input_series": series, "promql_expr_test": tests}
    path.write_text(yaml.safe_dump({"rule_files": [], "tests": [group]}))
    assert "SUCCESS" in run_promtool("test", "rules", str(path))


@NEEDS_PROMTOOL
def test_panel_of_instances_equals_model(fleet, tmp_path):
    expression = next(
        expression
        for panel, expression in list_expressions("clients")
        if panel["title"] == "Client instances"
    )
    names = ("client_software_name", "client_software_version")
    counts = Counter()
    for row, points in list_newest(fleet).values():
        metric = f"{PREFIX}{row['client_type']}.connection.creation.rate"
        if any(point["metric"] == metric for point in points):
            counts[tuple(row[name] for name in names)] += 1
    samples = [
        {
            "labels": "{"
            + ",".join(
                f"{name}={json.dumps(text)}"
                for name, text in zip(names, key, strict=True)
            )
            + "}",
            "value": number,
        }
        for key, number in counts.items()
    ]
    test = {
        "expr": re.sub(r'=~"\$\w+"', '=~".*"', expression),
        "eval_time": "2m",
        "exp_samples": samples,
    }
    path = tmp_path / "tests.yml"
    group = {
        "interval": "1m",
        "input_series": list_series(fleet),
        "promql_expr_test": [test],
    }
    path.write_text(yaml.safe_dump({"rule_files": [], "tests": [group]}))
    assert "SUCCESS" in run_promtool("test", "rules", str(path))
