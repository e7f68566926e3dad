"""Broker connections of points: one spelling for all client families.

A receiver would otherwise store `node-1` of Java and `1` of librdkafka as two brokers.
"""

import functools
import re
from collections.abc import Iterable, MutableSequence

from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData

from udfs.otlp.labels import parse_node
from udfs.otlp.limits import read_varint

NODE_ID, NODE_ROLE = "node_id", "node_role"
SPELLINGS = (NODE_ID, "node.id")
"""Keys under which clients send the connection that a point describes."""
_KEYS = re.compile(b"|".join(re.escape(key.encode()) for key in SPELLINGS))
_RESOURCE_METRICS_TAG = 0x0A


def normalize_nodes(data: MetricsData, body: bytes) -> None:
    """Replace the node ID of each point by the broker ID and add node_role.

    A node ID that no client family is known to write stays as it was sent. Java clients
    send each metric as a resource, so those without a node are skipped by their bytes.

    Args:
        data: Push to change.
        body: Bytes that it was read from.
    """
    for index in _find_resources(body, len(data.resource_metrics)):
        for scope in data.resource_metrics[index].scope_metrics:
            for metric in scope.metrics:
                _normalize_metric(metric)


def _find_resources(body: bytes, count: int) -> Iterable[int]:
    """Return the indexes of resource metrics whose bytes name a node.

    Args:
        body: A MetricsData.
        count: Number of its resource metrics.
    """
    indexes: list[int] = []
    place, index = 0, -1
    for key in _KEYS.finditer(body):
        while place <= key.start():
            if body[place] != _RESOURCE_METRICS_TAG:
                # No client is known to send other fields: look everywhere.
                return range(count)
            size, start = read_varint(body, place + 1)
            place = start + size
            index += 1
        if not indexes or indexes[-1] != index:
            indexes.append(index)
    return indexes


def _normalize_metric(metric: Metric) -> None:
    kind = metric.WhichOneof("data")
    if kind is None:
        return
    for point in getattr(metric, kind).data_points:
        attributes = point.attributes
        found, is_plain = None, True
        for one in attributes:
            key = one.key
            if key in SPELLINGS:
                # As in the decoder, the last of several wins.
                is_plain &= found is None
                found = one
            elif key == NODE_ROLE:
                is_plain = False
        if found is not None:
            _normalize_point(attributes, found, is_plain=is_plain)


def _normalize_point(
    attributes: MutableSequence[KeyValue], found: KeyValue, *, is_plain: bool
) -> None:
    """Replace the node ID of a point.

    Args:
        attributes: All of the point.
        found: The attribute with the node ID.
        is_plain: Whether `found` is the only attribute to replace.
    """
    value = found.value
    is_number = value.HasField("int_value")
    labels = _make_labels(value.int_value if is_number else value.string_value)
    if labels is None:
        return
    if is_plain:
        found.CopyFrom(labels[0])
        attributes.append(labels[1])
        return
    for place in range(len(attributes) - 1, -1, -1):
        if attributes[place].key in {*SPELLINGS, NODE_ROLE}:
            del attributes[place]
    attributes.extend(labels)


@functools.lru_cache(maxsize=4096)
def _make_labels(sent: str | int) -> tuple[KeyValue, KeyValue] | None:
    node = parse_node(str(sent))
    if node is None:
        return None
    number, role = KeyValue(key=NODE_ID), KeyValue(key=NODE_ROLE)
    number.value.int_value, role.value.string_value = node.node_id, node.role
    return number, role
