"""How much one push may hold, for every reader of pushes.

References:
    The Protocol Buffers encoding; opentelemetry-proto, metrics/v1/metrics.proto.
"""

import functools
from collections import Counter
from collections.abc import Mapping

from google.protobuf.descriptor import Descriptor
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    ExponentialHistogramDataPoint,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    SummaryDataPoint,
)

TOO_MANY_POINTS = "its data points would take too much memory"
MAX_ROWS = (1 << 18) + 72
"""Points of a push; also its metrics, scopes and resources."""
PAIRS_PER_ROW = 4
"""Attributes of a push for each of MAX_ROWS."""
_LEAST_BYTES = 2
"""Size of an empty message with its key."""
_ROWS = frozenset(
    kind.DESCRIPTOR.full_name
    for kind in (
        ExponentialHistogramDataPoint,
        HistogramDataPoint,
        Metric,
        NumberDataPoint,
        ResourceMetrics,
        ScopeMetrics,
        SummaryDataPoint,
    )
)
_FIXED64, _LEN, _FIXED32 = 1, 2, 5
_FIXED_BYTES = {_FIXED64: 8, _FIXED32: 4}
_ONE_BYTE = 0x80


def holds_too_many_points(body: bytes) -> bool:
    """Return whether a push holds more messages than a reader may create objects for.

    Counting stops at the limit, and a short push is not counted at all. Bytes that are
    no MetricsData are left to the decoder.

    Args:
        body: MetricsData, uncompressed.
    """
    if len(body) < MAX_ROWS * _LEAST_BYTES:
        return False
    counts: Counter[str] = Counter()
    at, end, kind = 0, len(body), MetricsData.DESCRIPTOR
    outer: list[tuple[int, Descriptor]] = []
    try:
        while at < end or outer:
            if at >= end:
                end, kind = outer.pop()
                continue
            key, at = read_varint(body, at)
            wire = key & 7
            if wire in _FIXED_BYTES:
                at += _FIXED_BYTES[wire]
                continue
            if wire > _LEN:
                continue  # the start or the end of a group
            size, at = read_varint(body, at)
            if wire != _LEN:
                continue
            inner = _messages_of(kind).get(key >> 3)
            if inner is None:
                at += size
                continue
            name = inner.full_name
            counts[name] += 1
            if counts[name] > MAX_ROWS * (1 if name in _ROWS else PAIRS_PER_ROW):
                return True
            outer.append((end, kind))
            end, kind = min(at + size, end), inner
    except (IndexError, ValueError):
        # No decoder takes it.
        return False
    return False


@functools.cache
def _messages_of(kind: Descriptor) -> Mapping[int, Descriptor]:
    """Return the fields of a message that hold messages, by number."""
    return {
        one.number: one.message_type
        for one in kind.fields
        if one.message_type is not None
    }


def read_varint(body: bytes, at: int) -> tuple[int, int]:
    """Read a number; return it with the position after it.

    Raises: IndexError where the bytes end inside the number; ValueError where it is
        longer than a number can be.
    """
    number = body[at]
    at += 1
    if number < _ONE_BYTE:
        return number, at
    number &= 0x7F
    for shift in range(7, 64, 7):
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < _ONE_BYTE:
            return number, at
    raise ValueError
