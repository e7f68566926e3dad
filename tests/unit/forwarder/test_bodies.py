import gzip
import random
from pathlib import Path

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from pipelines.forwarder.bodies import (
    LABEL_HEADERS,
    Selection,
    UnreadablePush,
    choose_points,
    make_labels,
    read_push,
    write_body,
)
from pipelines.forwarder.nodes import normalize_nodes
from pipelines.forwarder.points import plain_label
from tests.bench.generated_pushes import java_push, librdkafka_push

HEADERS = {
    "client_instance_id": b"A" * 22, "client_id": b"app", "broker_id": b"3",
    "client_software_name": b"java", "compression_type": b"gzip",
}  # fmt: skip
ADDED = [
    ("client_instance_id", "A" * 22), ("client_id", "app"),
    ("client_software_name", "java"), ("broker_id", "3"),
]  # fmt: skip
ALL = Selection()
TELEMETRY = Path(__file__).resolve().parents[2] / "golden" / "telemetry"
POINT_LABELS = {
    attribute.partition(":")[0]
    for path in TELEMETRY.glob("*_metrics.csv")
    for line in path.read_text().splitlines()[1:]
    for attribute in line.split(",")[4].split()
}
"""Names that released clients give to attributes of points."""


def labelled(body, selection=ALL):
    push = read_push(gzip.compress(body), HEADERS, 1 << 20)
    points = choose_points(push, selection)
    written = write_body(push.data, make_labels(HEADERS, selection))
    return MetricsData.FromString(written), points


def texts(one):
    return [(a.key, a.value.string_value) for a in one.attributes]


def claim(one, *names):
    for name in names:
        one.attributes.add(key=name).value.string_value = "mine"


@pytest.mark.parametrize("shape", [java_push, librdkafka_push])
def test_everything_but_the_labels_is_as_it_was(shape):
    sent = MetricsData.FromString(shape(1, 20))
    # How points name nodes has tests of its own.
    normalize_nodes(sent, shape(1, 20))
    data, points = labelled(shape(1, 20))
    assert points == 20
    for one, before in zip(data.resource_metrics, sent.resource_metrics, strict=True):
        assert texts(one.resource) == texts(before.resource) + ADDED
        one.resource.CopyFrom(before.resource)
    assert data == sent


def test_bodies_of_every_shape_keep_what_is_not_known():
    dice = random.Random(19)  # noqa: S311 - repeatable
    for _ in range(300):
        data = MetricsData()
        for _ in range(dice.randrange(4)):
            one = data.resource_metrics.add(schema_url="s" * dice.randrange(3))
            if dice.random() < 0.7:
                one.resource.dropped_attributes_count = dice.randrange(3)
                value = one.resource.attributes.add(key="k").value
                value.string_value = "v" * dice.choice((0, 100, 130, 20_000))
            for _ in range(dice.randrange(3)):
                metric = one.scope_metrics.add().metrics.add(name="m" * 200)
                metric.gauge.data_points.add(as_int=1)
        text = data.SerializeToString()
        if dice.random() < 0.5 and data.resource_metrics:
            # Field 77 of the push, and of its last resource_metrics.
            text += b"\xea\x04\x03abc\x0a\x06\xea\x04\x03abc"
        expected = MetricsData.FromString(text)
        for one in expected.resource_metrics:
            for name, value in ADDED:
                one.resource.attributes.add(key=name).value.string_value = value
        written, _ = labelled(text)
        assert written == expected
        assert written.SerializeToString() == expected.SerializeToString()


def test_what_a_client_claims_is_replaced_however_it_is_spelt():
    claimed = MetricsData.FromString(java_push(1, 20))
    for one in claimed.resource_metrics:
        claim(one.resource, "principal", "client.id", "client_id", "node_id", "node-id")
        claim(one.resource, "broker_id")
        for point in one.scope_metrics[0].metrics[0].gauge.data_points:
            claim(point, "Client_id", "client__id", "cluster id", "rack", "broker.id")
    data, _ = labelled(claimed.SerializeToString())
    assert texts(data.resource_metrics[1].resource) == [
        ("group_id", "group-1"), ("group_member_id", "consumer-1-6f1c2d3e4b5a"), *ADDED,
    ]  # fmt: skip
    # node_id of a point is the broker that the metric is about.
    point = data.resource_metrics[1].scope_metrics[0].metrics[0].gauge.data_points[0]
    assert texts(point) == [
        ("node_id", ""), ("Client_id", "mine"), ("rack", "mine"), ("node_role", "broker"),
    ]  # fmt: skip
    assert point.attributes[0].value.int_value == 1


def test_resource_labels_differ_from_labels_of_points():
    labels = {plain_label(name) for name in POINT_LABELS}
    assert "node_id" in labels
    assert not labels & LABEL_HEADERS.keys()


def test_metrics_are_left_out_by_name():
    prefix = "org.apache.kafka.consumer.fetch.manager.metric."
    chosen = Selection(allow_metrics=(prefix + "1",), drop_metrics=(prefix + "11",))
    data, points = labelled(java_push(1, 20), chosen)
    names = [one.scope_metrics[0].metrics[0].name for one in data.resource_metrics]
    assert names == [f"{prefix}{number}.avg" for number in (1, 10, *range(12, 20))]
    assert points == len(names)


def make_points(*values):
    """Make a metric a point, as Java does: two sums and two gauges by partition."""
    data = MetricsData()
    for kind, partition, value in values:
        metric = data.resource_metrics.add().scope_metrics.add().metrics.add(name=kind)
        points = getattr(metric, kind).data_points
        point = points.add(time_unix_nano=9, start_time_unix_nano=partition)
        setattr(point, "as_int" if isinstance(value, int) else "as_double", value)
        point.attributes.add(key="partition").value.int_value = partition
        point.attributes.add(key="topic").value.string_value = "t"
    return data.SerializeToString()


@pytest.mark.parametrize(
    "chosen",
    [
        Selection(drop_labels=frozenset({"partition", "client_id"})),
        Selection(allow_labels=frozenset({"topic", "principal"})),
    ],
)
def test_points_that_differ_in_dropped_labels_alone_become_one(chosen):
    nan = float("nan")
    body = make_points(
        ("sum", 1, 3), ("gauge", 1, nan), ("sum", 2, 4), ("gauge", 2, 2.5),
        ("gauge", 3, 1.5),
    )  # fmt: skip
    data, points = labelled(body, chosen)
    assert points == 2
    told = {}
    for one in data.resource_metrics:
        metric = one.scope_metrics[0].metrics[0]
        point = getattr(metric, metric.name).data_points[0]
        told[metric.name] = (point.as_int or point.as_double, texts(point))
        assert "client_id" not in dict(texts(one.resource))
    assert told == {"sum": (7, [("topic", "t")]), "gauge": (2.5, [("topic", "t")])}


def test_whole_numbers_that_are_too_great_together_are_added_as_others():
    body = make_points(("sum", 1, 2**63 - 1), ("sum", 2, 2**63 - 1))
    data, _ = labelled(body, Selection(drop_labels=frozenset({"partition"})))
    metric = data.resource_metrics[0].scope_metrics[0].metrics[0]
    assert metric.sum.data_points[0].as_double == 2.0**64


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (None, HEADERS),
        (b"x", {}),
        (b"x", HEADERS),
        (gzip.compress(b"\xff\xff"), HEADERS),
        (gzip.compress(bytes(2 << 20)), HEADERS),
    ],
    ids=["nothing", "no headers", "text", "no request", "too large"],
)
def test_what_cannot_be_read_is_refused(body, headers):
    with pytest.raises(UnreadablePush):
        read_push(body, headers, 1 << 20)
    with pytest.raises(UnreadablePush):
        make_labels({"client_id": b"\xff"}, ALL)
