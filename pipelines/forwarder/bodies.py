"""Bodies of pushes as they go on: a broker's labels, and only what is asked for.

Strategy: protobuf's C classes read a push and keep what they do not know. What a bridge
knows is put into the written bytes, once for each different resource; attributes of
points are looked at one by one only where some bytes of the push say that a client
claims a broker's label, or where labels are chosen.
Bodies of several pushes, one behind the other, are one ExportMetricsServiceRequest:
both messages have resource_metrics as field 1.
Source: KIP-714, "Client metrics and metric labels"; opentelemetry-proto.
"""

from collections.abc import (
    Callable,
    Iterable,
    Mapping,
    MutableSequence,
)
from dataclasses import dataclass

import re2
from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    Metric,
    MetricsData,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from udfs.compression.codecs import COMPRESSION_NAMES, TOO_LARGE, decompress
from udfs.otlp.limits import TOO_MANY_POINTS, holds_too_many_points, read_varint

from .merging import leave_out_parts, merge_points
from .metadata import describe
from .nodes import NODE_ID, normalize_nodes
from .points import list_points, plain_label, walk
from .varints import write_size

LABEL_HEADERS = {
    "client_instance_id": "client_instance_id",
    "client_id": "client_id",
    "client_software_name": "client_software_name",
    "client_software_version": "client_software_version",
    "client_source_address": "client_source_address",
    "client_source_port": "client_source_port",
    "principal": "principal",
    "broker_id": "broker_id",
    "cluster_id": "cluster_id",
}
"""Labels that a broker adds to the header that has their value."""
_CODEC_IDS = {name: number for number, name in COMPRESSION_NAMES.items()}


def _find(names: Iterable[str]) -> re2._Regexp:
    """Compile what finds labels in bytes, however their words are joined."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    spellings = (name.encode().replace(b"_", b"[^A-Za-z0-9]+") for name in names)
    return re2.compile(b"|".join(spellings), options)


_CLAIMS = _find(LABEL_HEADERS)
_FIRST_TAG, _FIRST = 0x0A, b"\x0a"
"""The tag of field 1 with a length."""

_Attributes = MutableSequence[KeyValue]
Change = Callable[[bytes, Metric], None]


class UnreadablePush(Exception):
    """Raised for a push that no receiver could read; its text has none of the push."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What goes on, by names; nothing chosen is all of it."""

    allow_metrics: tuple[str, ...] = ()
    drop_metrics: tuple[str, ...] = ()
    allow_labels: frozenset[str] = frozenset()
    drop_labels: frozenset[str] = frozenset()

    @property
    def chooses_metrics(self) -> bool:
        """Whether some metrics may stay behind."""
        return bool(self.allow_metrics or self.drop_metrics)

    @property
    def chooses_labels(self) -> bool:
        """Whether some labels may stay behind."""
        return bool(self.allow_labels or self.drop_labels)

    def takes(self, metric: str) -> bool:
        """Say whether a metric goes on."""
        if self.allow_metrics and not metric.startswith(self.allow_metrics):
            return False
        return not metric.startswith(self.drop_metrics)

    def takes_label(self, label: str) -> bool:
        """Say whether a label goes on."""
        if self.allow_labels and label not in self.allow_labels:
            return False
        return label not in self.drop_labels


@dataclass(frozen=True, slots=True)
class Push:
    """One push as it was read."""

    data: MetricsData
    claims: bool
    """Whether a client may have named a broker's label itself."""


def make_labels(headers: Mapping[str, bytes], selection: Selection) -> bytes:
    """Return the labels that a broker adds, as the bytes of a resource."""
    labels = Resource()
    for name, header in LABEL_HEADERS.items():
        value = headers.get(header)
        if value is None or not selection.takes_label(name):
            continue
        try:
            text = value.decode()
        except UnicodeDecodeError:
            raise UnreadablePush(f"header {header} is not UTF-8") from None
        labels.attributes.add(key=name).value.string_value = text
    return labels.SerializeToString()


def read_push(body: bytes | None, headers: Mapping[str, bytes], max_bytes: int) -> Push:
    """Read a record of the topic.

    Raises: UnreadablePush.
    """
    if body is None or "client_instance_id" not in headers:
        raise UnreadablePush("it has no value, or does not name its client instance")
    codec = headers.get("compression_type", b"").decode("ascii", "replace")
    read = decompress(body, _CODEC_IDS.get(codec), max_bytes)
    if read.reason is not None:
        raise UnreadablePush(f"{read.reason}: {read.detail}")
    text = bytes(read.data)
    if holds_too_many_points(text):
        raise UnreadablePush(f"{TOO_LARGE}: {TOO_MANY_POINTS}")
    try:
        data = MetricsData.FromString(text)
    except DecodeError:
        raise UnreadablePush("it is no MetricsData") from None
    normalize_nodes(data, text)
    return Push(data, _CLAIMS.search(text) is not None)


def choose_points(
    push: Push,
    selection: Selection,
    change: Change | None = None,
    *,
    is_described: bool = False,
) -> int:
    """Leave out of a push what does not go on.

    Labels of a resource are left to write_body, but where points become one.

    Args:
        change: Called for each metric that goes on but gauges, with the bytes of its
            resource.
        is_described: Whether metrics get a unit and a description if they have none.
    Returns: How many points go on.
    """
    _choose(push, selection)
    points = 0
    for resource_metrics in push.data.resource_metrics:
        # Java clients send a resource a metric, most of them of gauges.
        own: bytes | None = None
        for scope in resource_metrics.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                if is_described and kind is not None:
                    describe(metric, kind)
                if kind == "gauge":
                    points += len(metric.gauge.data_points)
                    continue
                if change is not None:
                    if own is None:
                        own = resource_metrics.resource.SerializeToString()
                    change(own, metric)
                points += len(list_points(metric))
    return points


def write_body(data: MetricsData, labels: bytes) -> bytes:
    """Write a push with the labels that a broker adds, in place of a client's claims.

    What protobuf has written is taken apart at its outermost fields and put together
    again with other resources: most pushes have one resource many times.

    Args:
        labels: Of make_labels.
    """
    body = data.SerializeToString()
    known: dict[bytes, bytes] = {}
    parts: list[bytes] = []
    place = 0
    while place < len(body):
        if body[place] != _FIRST_TAG:
            # Fields that are not known stand last.
            parts.append(body[place:])
            break
        size, start = read_varint(body, place + 1)
        place = start + size
        own, after = b"", start
        if size and body[start] == _FIRST_TAG:
            own_size, own_start = read_varint(body, start + 1)
            after = own_start + own_size
            own = body[own_start:after]
        resource = known.get(own)
        if resource is None:
            merged = _without_claims(own) + labels
            resource = _FIRST + write_size(len(merged)) + merged
            known[own] = resource
        parts += (
            _FIRST,
            write_size(len(resource) + place - after),
            resource,
            body[after:place],
        )
    return b"".join(parts)


def is_broker_label(name: str) -> bool:
    """Say whether a receiver may take a name for that of a broker's label."""
    # A resource's node_id is the broker that took the push; receivers that join both
    # kinds of labels would reject or overwrite that of a point.
    plain = plain_label(name)
    return plain in LABEL_HEADERS or plain == NODE_ID


def _without_claims(own: bytes) -> bytes:
    if not own:
        return own
    resource = Resource.FromString(own)
    _remove(resource.attributes, is_broker_label)
    return resource.SerializeToString()


def _choose(push: Push, selection: Selection) -> None:
    """Take off what a client must not say, and what is not wanted."""
    data = push.data

    def goes(name: str) -> bool:
        return not selection.takes_label(name)

    if selection.chooses_labels:
        leave_out_parts(data, goes)
    if push.claims or selection.chooses_labels:
        _strip_labels(data, selection)
    if selection.chooses_metrics:
        _leave_out(data, lambda metric: selection.takes(metric.name))
    if selection.chooses_labels:
        merge_points(data, goes)
        leave_out_empty(data)


def leave_out_empty(data: MetricsData) -> None:
    """Take off metrics without points, which some receivers refuse."""
    _leave_out(data, lambda metric: len(list_points(metric)) > 0)


def _strip_labels(data: MetricsData, selection: Selection) -> None:
    def goes(name: str) -> bool:
        return is_broker_label(name) or not selection.takes_label(name)

    def goes_from_point(name: str) -> bool:
        if plain_label(name) == NODE_ID:
            return not selection.takes_label(name)
        return goes(name)

    for resource_metrics in data.resource_metrics:
        _remove(resource_metrics.resource.attributes, goes)
    for _, _, metric in walk(data):
        for point in list_points(metric):
            _remove(point.attributes, goes_from_point)


def _leave_out(data: MetricsData, is_kept: Callable[[Metric], bool]) -> None:
    for index in range(len(data.resource_metrics) - 1, -1, -1):
        scopes = data.resource_metrics[index].scope_metrics
        for scope in scopes:
            kept = [one for one in scope.metrics if is_kept(one)]
            if len(kept) < len(scope.metrics):
                copies = [Metric.FromString(one.SerializeToString()) for one in kept]
                del scope.metrics[:]
                scope.metrics.extend(copies)
        if not any(scope.metrics for scope in scopes):
            del data.resource_metrics[index]


def _remove(attributes: _Attributes, goes: Callable[[str], bool]) -> None:
    for index in range(len(attributes) - 1, -1, -1):
        if goes(attributes[index].key):
            del attributes[index]
