"""One broker is one series, whichever client family names it."""

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from pipelines.forwarder.bodies import (
    Selection,
    choose_points,
    make_labels,
    read_push,
    write_body,
)
from pipelines.forwarder.remote_write import write_series
from tests.support.write_request import WriteRequest
from tests.unit.udfs.otlp.random_pushes import captured_payloads, captures

HEADERS = {"client_instance_id": b"A" * 22, "compression_type": b"none"}
ALL = Selection()


def push_of(*nodes):
    """Make a push with a point for each list of attributes."""
    data = MetricsData()
    metric = data.resource_metrics.add().scope_metrics.add().metrics.add(name="a.b")
    for value, attributes in enumerate(nodes):
        point = metric.gauge.data_points.add(as_int=value)
        for key, sent in attributes:
            kind = "int_value" if isinstance(sent, int) else "string_value"
            setattr(point.attributes.add(key=key).value, kind, sent)
    return data.SerializeToString()


def forwarded(body, selection=ALL):
    push = read_push(body, HEADERS, 1 << 20)
    choose_points(push, selection)
    return push.data


def values_of(point):
    return {
        one.key: getattr(one.value, one.value.WhichOneof("value"))
        for one in point.attributes
    }


def points_of(data):
    return [
        point
        for resource_metrics in data.resource_metrics
        for scope in resource_metrics.scope_metrics
        for metric in scope.metrics
        for point in getattr(metric, metric.WhichOneof("data")).data_points
    ]


def series_of(data):
    """Return the labels of each series by remote write."""
    body = write_series(data, make_labels(HEADERS, ALL)).body
    return [
        {one.name: one.value for one in each.labels}
        for each in WriteRequest.FromString(body).timeseries
    ]


@pytest.mark.parametrize(
    ("key", "sent", "node_id", "role"),
    [
        ("node_id", "node-1", 1, "broker"),
        ("node_id", "node-2147483646", 1, "coordinator"),
        ("node_id", "node--1", -1, "bootstrap"),
        ("node.id", 1, 1, "broker"),
        ("node.id", -1, -1, "bootstrap"),
        ("node_id", 1, 1, "broker"),
    ],
)
def test_node_id_of_each_client_family_is_forwarded_as_number_and_role(
    key, sent, node_id, role
):
    data = forwarded(push_of([("topic", "t"), (key, sent)]))
    expected = {"topic": "t", "node_id": node_id, "node_role": role}
    (point,) = points_of(MetricsData.FromString(write_body(data, b"")))
    assert values_of(point) == expected
    (labels,) = series_of(data)
    texts = {name: str(value) for name, value in expected.items()}
    assert labels.items() >= texts.items()
    assert len(labels) == len(texts) + 2  # __name__ and client_instance_id


def test_node_spelled_twice_becomes_one_label():
    sent = [("node.id", 7), ("node_role", "mine"), ("node_id", "node-2")]
    (point,) = points_of(forwarded(push_of(sent)))
    assert values_of(point) == {"node_id": 2, "node_role": "broker"}
    assert len(point.attributes) == 2


def test_unknown_node_id_is_forwarded_as_sent():
    (point,) = points_of(
        forwarded(push_of([("node.id", "seed_0"), ("node_role", "x")]))
    )
    assert values_of(point) == {"node.id": "seed_0", "node_role": "x"}


def test_dropped_node_labels_merge_the_points_of_all_connections():
    nodes = [[("node_id", "node-1")], [("node_id", "node-2147483646")]]
    chosen = Selection(drop_labels=frozenset({"node_id", "node_role"}))
    (point,) = points_of(forwarded(push_of(*nodes), chosen))
    assert (point.as_int, values_of(point)) == (1, {})


def test_captured_pushes_of_all_families_name_one_broker():
    found = set()
    for (path, _), payload in zip(captures(), captured_payloads(), strict=True):
        family = path.name.split("_")[0]
        for labels in series_of(forwarded(payload)):
            if "node_id" in labels:
                found.add((family, labels["node_id"], labels["node_role"]))
    brokers = {(number, role) for _, number, role in found}
    assert brokers == {("1", "broker"), ("1", "coordinator"), ("-1", "bootstrap")}
    assert {family for family, *_ in found} == {
        "java", "librdkafka", "producer", "consumer", "consumerNew", "held",
    }  # fmt: skip


def test_unknown_fields_between_resources_hide_no_node():
    one = push_of([("node_id", "node-1")])
    # Field 77 of the push, before and after it.
    unknown = b"\xea\x04\x03abc"
    for body in (unknown + one, one + unknown + one, push_of([]) + one + unknown):
        nodes = [
            values_of(point).get("node_id") for point in points_of(forwarded(body))
        ]
        assert set(nodes) <= {1, None}
        assert nodes.count(1) == body.count(b"node_id")
