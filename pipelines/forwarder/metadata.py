"""Unit and description of metrics whose clients send none.

Java's clients and franz-go send neither, librdkafka sends a description. Receivers show
both beside a metric. OTLP receivers put a known unit into the name at Prometheus
(`_milliseconds`), and dashboards and alerts use the names without it; so OTLP gets the
unit as an annotation of UCUM, such as `{ms}`, which never becomes part of a name.
Source: UCUM, 12 (annotations); Prometheus Remote-Write 1.0, MetricMetadata.
"""

import functools

from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from pipelines.settings.metric_semantics import NUMBER, semantics_of

from .varints import write_size

RESEND_S = 60
"""How often remote write repeats the metadata of a metric, as Prometheus does."""
_COUNTER, _GAUGE = 1, 2
_TYPE_TAG, _NAME_TAG, _HELP_TAG, _UNIT_TAG = b"\x08", b"\x12", b"\x22", b"\x2a"
_METADATA_TAG = b"\x1a"
_MAX_TEXT = 256
"""Longest text of a client that remote write gets."""


@functools.lru_cache(maxsize=4096)
def read_meaning(metric: str, kind: str) -> tuple[str, str]:
    """Return unit and description of a metric; empty if nothing is known.

    Args:
        metric: Its name.
        kind: gauge, sum or another kind of OTLP.
    """
    known = semantics_of(metric, kind)
    return "" if known.unit == NUMBER else known.unit, known.description


def describe(metric: Metric, kind: str) -> None:
    """Add unit and description to a metric of OTLP that has none."""
    unit, description = read_meaning(metric.name, kind)
    if description and not metric.description:
        metric.description = description
    if unit and not metric.unit:
        metric.unit = f"{{{unit}}}"


class SentMetadata:
    """Metadata of remote write: each metric once in RESEND_S."""

    def __init__(self) -> None:
        """Start with nothing sent."""
        self._sent: set[bytes] = set()
        self._ends_at = 0.0

    def take(self, written: set[bytes], now_s: float) -> bytes:
        """Return the bytes to append to a request, and remember them as sent.

        Args:
            written: Of write_metadata, for the metrics in the request.
            now_s: Monotonic time.
        """
        if now_s >= self._ends_at:
            self._sent.clear()
            self._ends_at = now_s + RESEND_S
        due = written - self._sent
        self._sent |= due
        return b"".join(sorted(due))


def write_metadata(metric: Metric, kind: str, name: str, *, is_total: bool) -> bytes:
    """Return the field `metadata` of a WriteRequest for one metric; empty if unknown.

    Args:
        metric: Whose own unit and description take precedence.
        kind: gauge or sum.
        name: The metric's name at Prometheus.
        is_total: Whether it is a counter there.
    """
    help_text, unit = metric.description, metric.unit
    known_unit, known_text = read_meaning(metric.name, kind)
    help_text = help_text if 0 < len(help_text) <= _MAX_TEXT else known_text
    unit = unit if 0 < len(unit) <= _MAX_TEXT else known_unit
    if not help_text and not unit:
        return b""
    return _write(_COUNTER if is_total else _GAUGE, name, help_text, unit)


@functools.lru_cache(maxsize=4096)
def _write(number: int, name: str, help_text: str, unit: str) -> bytes:
    body = _TYPE_TAG + bytes((number,))
    for tag, text in ((_NAME_TAG, name), (_HELP_TAG, help_text), (_UNIT_TAG, unit)):
        if text:
            part = text.encode()
            body += tag + write_size(len(part)) + part
    return _METADATA_TAG + write_size(len(body)) + body
