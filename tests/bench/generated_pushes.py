"""Pushes made for timings and for comparisons, of the shapes that clients send."""

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData

START_MS = 1_795_000_000_000
NANOS_PER_MS = 1_000_000


def attribute(key, value):
    if isinstance(value, int):
        return KeyValue(key=key, value=AnyValue(int_value=value))
    return KeyValue(key=key, value=AnyValue(string_value=value))


def add_point(metric: Metric, push: int, index: int, attributes, start_ms: int) -> None:
    """Add the kind of point that Java's and librdkafka's metrics have."""
    is_sum = index % 3 == 0
    data = metric.sum if is_sum else metric.gauge
    if is_sum:
        data.is_monotonic = True
        data.aggregation_temporality = 1
    time_unix_nano = (start_ms + push) * NANOS_PER_MS
    point = data.data_points.add(time_unix_nano=time_unix_nano, attributes=attributes)
    if is_sum:
        point.start_time_unix_nano = time_unix_nano - 60_000 * NANOS_PER_MS
    if index % 7 == 1:
        point.as_int = push * 31 + index
    else:
        point.as_double = push / (index + 1)


def java_push(push: int, points: int, start_ms: int = START_MS) -> bytes:
    """One ResourceMetrics a metric, identity in the resource, no scope, no texts."""
    metrics_data = MetricsData()
    for index in range(points):
        resource_metrics = metrics_data.resource_metrics.add()
        resource_metrics.resource.attributes.extend(
            [
                attribute("group_id", f"group-{push % 50}"),
                attribute("group_member_id", f"consumer-{push}-6f1c2d3e4b5a"),
            ]
        )
        metric = resource_metrics.scope_metrics.add().metrics.add()
        metric.name = (
            f"org.apache.kafka.consumer.fetch.manager.metric.{index % 110}.avg"
        )
        attributes = []
        if index % 4 == 0:
            attributes = [
                attribute("topic", f"orders-{index % 9}"),
                attribute("partition", str(index)),
            ]
        if index % 4 == 1:
            attributes = [attribute("node_id", f"node-{index % 3}")]
        add_point(metric, push, index, attributes, start_ms)
    return metrics_data.SerializeToString()


def librdkafka_push(push: int, points: int, start_ms: int = START_MS) -> bytes:
    """One ResourceMetrics in all, scope and descriptions, node.id as an integer."""
    metrics_data = MetricsData()
    resource_metrics = metrics_data.resource_metrics.add()
    resource_metrics.resource.attributes.append(attribute("client_rack", "rack-a"))
    scope_metrics = resource_metrics.scope_metrics.add()
    scope_metrics.scope.name = f"rdk-producer#producer-{push % 50}"
    scope_metrics.scope.version = "2.16.0"
    for index in range(points):
        metric = scope_metrics.metrics.add()
        metric.name = f"org.apache.kafka.producer.node.request.latency.{index % 13}"
        metric.description = "Average request latency in milliseconds of a broker"
        attributes = [attribute("node.id", index % 5)] if index % 2 else []
        add_point(metric, push, index, attributes, start_ms)
    return metrics_data.SerializeToString()
