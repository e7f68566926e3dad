"""Points that differ only in labels which the forwarder drops become one point.

Their values combine as conf/metric_semantics.csv says. If a client pushes a metric for
the whole client as well as for its nodes, topics or partitions, its own point stays:
adding both would count everything twice.
"""

import math
from collections.abc import Callable

from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData, NumberDataPoint

from pipelines.settings.metric_semantics import (
    ADD,
    GAUGE,
    LAST,
    MEAN,
    MIN,
    NODE,
    WEIGHTED_MEAN,
    semantics_of,
)

from .nodes import NODE_ID
from .points import (
    MAX_INT64,
    Point,
    list_points,
    name_attributes,
    plain_label,
    value_of,
    walk,
)

_PLACES = frozenset({NODE_ID, "topic", "partition"})
"""Labels that tell the parts of a client apart."""
_KINDS = ("gauge", "sum")

Goes = Callable[[str], bool]
"""Whether a label is dropped."""


def leave_out_parts(data: MetricsData, goes: Goes) -> None:
    """Remove points of parts that would merge with the client's own point.

    Args:
        data: Push with all labels.
        goes: Whether a label is dropped.
    """
    whole = {
        metric.name
        for _, _, metric in walk(data)
        for point in list_points(metric)
        if not _find_places(point)
    }
    for _, _, metric in walk(data):
        if metric.name not in whole:
            continue
        points = list_points(metric)
        for index in range(len(points) - 1, -1, -1):
            places = _find_places(points[index])
            if places and all(map(goes, places)):
                del points[index]


def _find_places(point: Point) -> frozenset[str]:
    return _PLACES.intersection(plain_label(one.key) for one in point.attributes)


def merge_points(data: MetricsData, goes: Goes) -> None:
    """Make one point of those that differed in dropped labels.

    Java clients send each point as a metric, so that the points of one series are
    anywhere in a push.

    Args:
        data: Push without the dropped labels.
        goes: Whether a label is dropped.
    """
    merged: dict[tuple[bytes, str, str, bytes], _Merged] = {}
    for resource_metrics, _, metric in walk(data):
        kind = metric.WhichOneof("data")
        if kind not in _KINDS:
            continue
        resource = resource_metrics.resource.SerializeToString()
        points = getattr(metric, kind).data_points
        for index in range(len(points) - 1, -1, -1):
            point = points[index]
            key = (resource, metric.name, kind, name_attributes(point.attributes))
            first = merged.get(key)
            if first is None:
                merged[key] = _Merged(point, find_word(metric.name, kind, goes))
                continue
            first.add(point)
            del points[index]


def find_word(metric: str, kind: str, goes: Goes) -> str:
    """Return how the values of points without the dropped labels combine."""
    if kind != GAUGE:
        return ADD
    known = semantics_of(metric, kind)
    is_of_nodes = NODE in known.levels and goes(NODE_ID)
    return known.over_nodes if is_of_nodes else known.over_parts


class _Merged:
    """A point that takes in others."""

    def __init__(self, point: NumberDataPoint, word: str) -> None:
        self._point, self._word = point, word
        self._count = int(not math.isnan(value_of(point)))

    def add(self, other: NumberDataPoint) -> None:
        point = self._point
        is_newer = other.time_unix_nano > point.time_unix_nano
        is_whole = point.WhichOneof("value") == other.WhichOneof("value") == "as_int"
        if is_whole and self._word == ADD:
            # Doubles would lose digits of large integers.
            value: float = point.as_int + other.as_int
        else:
            value = self._combine(value_of(point), value_of(other), is_newer=is_newer)
        if is_whole and float(value).is_integer() and -MAX_INT64 <= value <= MAX_INT64:
            point.as_int = int(value)
        else:
            point.as_double = float(value)
        if self._word == ADD:
            starts = (point.start_time_unix_nano, other.start_time_unix_nano)
            point.start_time_unix_nano = min(starts)
        point.time_unix_nano = max(point.time_unix_nano, other.time_unix_nano)

    def _combine(self, own: float, other: float, *, is_newer: bool) -> float:
        """Combine two values; NaN means that nothing happened."""
        if math.isnan(other):
            return own
        self._count += 1
        if math.isnan(own):
            return other
        if self._word == ADD:
            return own + other
        if self._word in {MEAN, WEIGHTED_MEAN}:
            return own + (other - own) / self._count
        if self._word == LAST:
            return other if is_newer else own
        return min(own, other) if self._word == MIN else max(own, other)
