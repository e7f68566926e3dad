"""Metrics as Prometheus' remote write 1.0 has them, written byte by byte.

Strategy: a point is one TimeSeries with one Sample; bodies of several pushes, one
behind the other, are one WriteRequest. Labels of a resource are written once a push and
put in order with those of a point: objects for a dozen labels a point would take half
of a core. Points that have no form there (histograms, summaries) are left out and
counted.
Names: every character but letters, digits and `_` becomes `_`, monotonic sums end in
`_total`; no unit is added. Unit and description go as metadata.
Source: Prometheus Remote-Write 1.0 specification; OpenTelemetry, "Prometheus and
OpenMetrics Compatibility".
"""

import functools
import re
import struct
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from .bodies import is_broker_label
from .metadata import write_metadata
from .points import list_points, plain_label, value_of
from .varints import write_size

NAME = "__name__"
_NANOS_PER_MS = 1_000_000
_SAMPLE = struct.Struct("<Bd")
_VALUE_TAG, _TIME_TAG = 0x09, b"\x10"
_FIRST, _SECOND = b"\x0a", b"\x12"
"""Tags of fields 1 and 2 with a length."""
_NO_VALUE = 1
"""Flag of a point that says that its series has no value any more."""
_STALE = struct.pack("<BQ", _VALUE_TAG, 0x7FF0000000000002)
"""Prometheus' own sign for that."""

_Label = tuple[str, bytes]
_Labels = tuple[frozenset[str], list[_Label]]
"""Names, and labels in their order."""


def compress(body: bytes) -> bytes:
    """Compress a request as remote write wants it: snappy's block format."""
    packed: bytes = pa.compress(body, codec="snappy", asbytes=True)
    return packed


@dataclass(frozen=True, slots=True)
class Series:
    """A push as remote write has it."""

    body: bytes
    """Bytes of a WriteRequest."""
    left_out: int
    """Points that have no form there, and all but the last point of a series."""
    metadata: set[bytes]
    """Fields of a WriteRequest that describe the metrics in the body."""


def write_series(data: MetricsData, labels: bytes) -> Series:
    """Write all points of a push.

    Args:
        labels: Of make_labels; no resource has them yet.
    """
    metadata: set[bytes] = set()
    written: dict[bytes, bytes] = {}
    points = left_out = 0
    added = {one.key: one for one in Resource.FromString(labels).attributes}
    known: dict[bytes, _Labels] = {}
    for resource_metrics in data.resource_metrics:
        resource = resource_metrics.resource
        own = resource.SerializeToString()
        if own not in known:
            found = {
                plain_label(one.key): one
                for one in resource.attributes
                if not is_broker_label(one.key)
            } | added
            known[own] = (frozenset(found), sorted(_write_labels(found)))
        for scope in resource_metrics.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                if kind not in {"gauge", "sum"}:
                    left_out += len(list_points(metric))
                    continue
                points += _write_points(metric, kind, known[own], written, metadata)
    series = b"".join(
        _FIRST + write_size(len(one) + len(sample)) + one + sample
        for one, sample in written.items()
    )
    return Series(series, left_out + points - len(written), metadata)


def _write_points(
    metric: Metric,
    kind: str,
    labels: _Labels,
    written: dict[bytes, bytes],
    metadata: set[bytes],
) -> int:
    names, of_resource = labels
    is_total = kind == "sum" and metric.sum.is_monotonic
    name = metric_name(metric.name, is_total=is_total)
    metadata.add(write_metadata(metric, kind, name, is_total=is_total))
    named = of_resource.copy()
    insort(named, (NAME, _write_label(NAME, name)))
    points = getattr(metric, kind).data_points
    for point in points:
        all_labels = named
        if point.attributes:
            found = {plain_label(one.key): one for one in point.attributes}
            if not names.isdisjoint(found):
                # A point's own label takes precedence over the resource's.
                all_labels = [one for one in named if one[0] not in found]
            else:
                all_labels = named.copy()
            for label in _write_labels(found):
                insort(all_labels, label)
        if point.flags & _NO_VALUE:
            value = _STALE
        else:
            value = _SAMPLE.pack(_VALUE_TAG, value_of(point))
        sample = value + _TIME_TAG + write_size(point.time_unix_nano // _NANOS_PER_MS)
        written[b"".join([one[1] for one in all_labels])] = (
            _SECOND + write_size(len(sample)) + sample
        )
    return len(points)


@functools.lru_cache(maxsize=4096)
def metric_name(name: str, *, is_total: bool) -> str:
    """Return the name that a metric has at Prometheus."""
    plain = re.sub(r"[^A-Za-z0-9:]+", "_", name).strip("_")
    plain = f"_{plain}" if not plain or plain[0].isdigit() else plain
    return f"{plain}_total" if is_total and not plain.endswith("_total") else plain


def _write_labels(found: dict[str, KeyValue]) -> list[_Label]:
    written = []
    for name, attribute in found.items():
        text = _text_of(attribute)
        if text:
            written.append((name, _write_label(name, text)))
    return written


def _text_of(attribute: KeyValue) -> str:
    """Return a value as text; empty, which is no label there, for lists and maps."""
    kind = attribute.value.WhichOneof("value")
    if kind == "string_value":
        return attribute.value.string_value
    if kind == "bool_value":
        return "true" if attribute.value.bool_value else "false"
    if kind in {"int_value", "double_value"}:
        return str(getattr(attribute.value, kind))
    return ""


@functools.lru_cache(maxsize=16_384)
def _write_label(name: str, value: str) -> bytes:
    """Write one label as it stands in a TimeSeries."""
    parts: Sequence[bytes] = (name.encode(), value.encode())
    body = b"".join(
        tag + write_size(len(part)) + part
        for tag, part in zip((_FIRST, _SECOND), parts, strict=True)
    )
    return _FIRST + write_size(len(body)) + body
