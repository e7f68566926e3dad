"""Points of a push, whatever their kind."""

import functools
import re
from collections.abc import Iterator, MutableSequence

from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
)

MAX_INT64 = 2**63 - 1
Point = NumberDataPoint | HistogramDataPoint


@functools.lru_cache(maxsize=4096)
def plain_label(name: str) -> str:
    """Return the name that a label has at Prometheus.

    Source: OpenTelemetry, "Prometheus and OpenMetrics Compatibility".
    """
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name) or "_"
    return f"key_{plain}" if plain[:1].isdigit() else plain


def list_points(metric: Metric) -> MutableSequence[Point]:
    """Return the points of a metric, whatever its kind; none where it has no kind."""
    kind = metric.WhichOneof("data")
    points: MutableSequence[Point]
    points = [] if kind is None else getattr(metric, kind).data_points
    return points


def value_of(point: NumberDataPoint) -> float:
    """Return the value of a point as a double; 0 where it has none."""
    is_int = point.WhichOneof("value") == "as_int"
    return float(point.as_int) if is_int else point.as_double


def name_attributes(attributes: MutableSequence[KeyValue]) -> bytes:
    """Return bytes that are the same for the same attributes in any order."""
    if not attributes:
        return b""
    if len(attributes) == 1:
        return attributes[0].SerializeToString()
    texts = sorted([one.SerializeToString() for one in attributes])
    return b"".join([b"%d:%b" % (len(one), one) for one in texts])


def walk(data: MetricsData) -> Iterator[tuple[ResourceMetrics, ScopeMetrics, Metric]]:
    """Return each metric of a push with its resource and scope."""
    for resource_metrics in data.resource_metrics:
        for scope in resource_metrics.scope_metrics:
            for metric in scope.metrics:
                yield resource_metrics, scope, metric
