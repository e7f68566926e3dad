"""Small pushes that together have every field and every kind."""

from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from tests.fuzz.otlp_trees import LEN, read_tree, write_tree
from tests.unit.udfs.otlp.random_pushes import (
    KINDS,
    attributes,
    captured_payloads,
    fill_metric,
    fill_point,
)

GENERATED = 400
OF_CAPTURES = 200


def full_push(rng, kind):
    """Return a push of one metric of a kind, with one or two points."""
    metrics_data = MetricsData()
    resource_metrics = metrics_data.resource_metrics.add()
    if rng.random() < 0.9:
        resource_metrics.resource.attributes.extend(attributes(rng))
    resource_metrics.resource.dropped_attributes_count = rng.randrange(2)
    if rng.random() < 0.1:
        resource_metrics.resource.entity_refs.add(
            schema_url="u", type="a", id_keys=["k", "é"], description_keys=["d"]
        )
    if rng.random() < 0.1:
        resource_metrics.schema_url = "https://example.org/schema"
    scope_metrics = resource_metrics.scope_metrics.add()
    if rng.random() < 0.4:
        scope_metrics.scope.name = rng.choice(["", "scope"])
        scope_metrics.scope.version = rng.choice(["", "1.2"])
        scope_metrics.scope.attributes.extend(attributes(rng))
        scope_metrics.scope.dropped_attributes_count = rng.randrange(2)
    if rng.random() < 0.1:
        scope_metrics.schema_url = "https://example.org/schema"
    metric = scope_metrics.metrics.add()
    fill_metric(rng, metric)
    metric.ClearField(metric.WhichOneof("data") or "gauge")
    data = getattr(metric, kind)
    data.SetInParent()
    if kind not in {"gauge", "summary"}:
        data.aggregation_temporality = rng.randrange(3)
    if kind == "sum":
        data.is_monotonic = rng.random() < 0.5
    for _ in range(rng.choice((1, 1, 1, 2))):
        fill_point(rng, kind, data.data_points.add())
    return metrics_data.SerializeToString()


def usual_push(rng):
    """Return a push as Java's clients make them, with one point a resource."""
    metrics_data = MetricsData()
    for index in range(rng.randrange(1, 3)):
        resource_metrics = metrics_data.resource_metrics.add()
        for key in ("group_id", "client_rack", "x")[: rng.randrange(4)]:
            attribute = resource_metrics.resource.attributes.add(key=key)
            attribute.value.string_value = rng.choice(["", "g", "group-1", "é"])
        scope_metrics = resource_metrics.scope_metrics.add()
        metric = scope_metrics.metrics.add(name=f"org.apache.kafka.producer.m{index}")
        data = metric.sum if rng.random() < 0.5 else metric.gauge
        point = data.data_points.add(time_unix_nano=1_795_171_040_692_123_999)
        point.as_double = rng.random()
        for key in rng.sample(["topic", "partition", "node_id", "node.id"], 2):
            attribute = point.attributes.add(key=key)
            if rng.random() < 0.3:
                attribute.value.int_value = rng.choice([0, 7, -1, 2**31, 2**63 - 1])
            else:
                attribute.value.string_value = rng.choice(["", "3", "orders"])
    return metrics_data.SerializeToString()


def captured_parts(rng):
    """Return pushes of one metric out of the captures."""
    parts = []
    for payload in captured_payloads():
        for number, wire, content in read_tree(payload):
            resource = tuple(node for node in content if node[0] == 1)
            for scope_metrics in (node for node in content if node[0] == 2):
                scope = tuple(n for n in scope_metrics[2] if n[0] != 2)
                metrics = [n for n in scope_metrics[2] if n[0] == 2]
                one = (2, LEN, (*scope, rng.choice(metrics)))
                parts.append(write_tree([(number, wire, (*resource, one))]))
    return rng.sample(parts, OF_CAPTURES)


def seed_payloads(rng):
    """Return the pushes to mutate."""
    full = [full_push(rng, KINDS[i % len(KINDS)]) for i in range(GENERATED)]
    usual = [usual_push(rng) for _ in range(OF_CAPTURES)]
    return full + usual + captured_parts(rng)
