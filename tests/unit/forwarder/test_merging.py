"""Points that differ only in dropped labels, by the semantics of their metric."""

import math

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from pipelines.forwarder.bodies import Push, Selection, choose_points
from pipelines.forwarder.points import value_of, walk

FETCH = "org.apache.kafka.consumer.fetch.manager."
PRODUCER = "org.apache.kafka.producer."
NAN = float("nan")
A, B = {"topic": "a"}, {"topic": "b"}
A0, A1 = A | {"partition": "0"}, A | {"partition": "1"}
NODE_1, NODE_2 = {"node_id": "1"}, {"node_id": "2"}


def merge(metric, kind, points, *dropped):
    """Return the values and labels that go on; a metric for each point, as Java does."""
    data = MetricsData()
    for place, (value, labels) in enumerate(points):
        made = data.resource_metrics.add().scope_metrics.add().metrics.add(name=metric)
        point = getattr(made, kind).data_points.add(
            as_double=value, time_unix_nano=place
        )
        for key, text in labels.items():
            point.attributes.add(key=key).value.string_value = text
    chosen = Selection(drop_labels=frozenset(dropped))
    choose_points(Push(data, claims=False), chosen)
    return [
        (value_of(point), {one.key: one.value.string_value for one in point.attributes})
        for _, _, made in walk(data)
        for point in getattr(made, kind).data_points
    ]


@pytest.mark.parametrize(
    ("metric", "kind", "points", "expected"),
    [
        # The client's own point holds all of its topics.
        (f"{FETCH}records.consumed.total", "sum", [(7, {}), (3, A), (4, B)], 7),
        (f"{FETCH}bytes.consumed.rate", "gauge", [(3, A), (7, {}), (4, B)], 7),
        (f"{FETCH}records.lag.max", "gauge", [(9, {}), (9, A0), (2, A1)], 9),
        # Without an own point the parts combine.
        (f"{PRODUCER}topic.record.send.total", "sum", [(3, A), (4, B)], 7),
        (f"{PRODUCER}topic.byte.rate", "gauge", [(3, A), (NAN, B), (4, B)], 7),
        (f"{FETCH}records.lag", "gauge", [(3, A0), (1_000_000, A1)], 1_000_000),
        (f"{FETCH}records.lead", "gauge", [(3, A0), (1, A1)], 1),
        (f"{PRODUCER}node.request.rate", "gauge", [(3, NODE_1), (4, NODE_2)], 7),
        (f"{PRODUCER}node.request.latency.max", "gauge", [(3, NODE_1), (4, NODE_2)], 4),
        (
            f"{PRODUCER}node.request.latency.avg",
            "gauge",
            [(NAN, NODE_1), (3, NODE_1), (4, NODE_2), (8, NODE_2)],
            5,
        ),
        (f"{FETCH}preferred.read.replica", "gauge", [(1, A0), (2, A1)], 2),
        ("app.depth", "gauge", [(NAN, A), (NAN, B)], NAN),
    ],
)
def test_points_without_their_labels_combine_by_the_semantics(
    metric, kind, points, expected
):
    ((value, labels),) = merge(metric, kind, points, "topic", "partition", "node_id")
    assert value == expected or math.isnan(value) == math.isnan(expected) is True
    assert labels == {}


def test_points_whose_topic_stays_are_kept_beside_the_clients_own():
    points = [(9, {}), (9, A0), (2, A1)]
    told = merge(f"{FETCH}records.lag.max", "gauge", points, "partition")
    assert told == [(9, {}), (9, A)]


def test_points_keep_all_values_without_dropped_labels():
    points = [(7, {}), (3, A), (4, B)]
    assert merge(f"{FETCH}records.consumed.total", "sum", points, "other") == points
