"""OTLP messages as trees of fields, so that a mutation can know what it breaks.

A node is (field number, wire type, content): the content is a tuple of nodes for a
message, bytes for another field with a length, a number otherwise. A node whose wire
type is RAW holds bytes that are written as they are, faults included.
"""

from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from tests.unit.udfs.otlp.message_pieces import read_varint, write_varint

VARINT, FIXED64, LEN, GROUP, GROUP_END, FIXED32 = range(6)
RAW = -1
FIXED_BYTES = {FIXED64: 8, FIXED32: 4}
METRICS_DATA = MetricsData.DESCRIPTOR


def child_type(message, number):
    """Return the descriptor of the message that a field holds, if it holds one."""
    field = message and message.fields_by_number.get(number)
    return field.message_type if field else None


def read_tree(payload, message=METRICS_DATA):
    """Return the fields of a well-formed message without groups."""
    nodes, at = [], 0
    while at < len(payload):
        key, at = read_varint(payload, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            content, at = read_varint(payload, at)
        elif wire == LEN:
            size, at = read_varint(payload, at)
            content = payload[at : at + size]
            at += size
            inner = child_type(message, number)
            if inner is not None:
                content = read_tree(content, inner)
        else:
            content = int.from_bytes(payload[at : at + FIXED_BYTES[wire]], "little")
            at += FIXED_BYTES[wire]
        nodes.append((number, wire, content))
    return tuple(nodes)


def write_key(number, wire):
    """Return a field's key."""
    return write_varint(number << 3 | wire)


def write_node(node, written=None):
    """Return the bytes of a field."""
    number, wire, content = node
    if wire == RAW:
        return content
    if wire == VARINT:
        return write_key(number, wire) + write_varint(content)
    if wire == LEN:
        body = write_tree(content, written) if isinstance(content, tuple) else content
        return write_key(number, wire) + write_varint(len(body)) + body
    return write_key(number, wire) + content.to_bytes(FIXED_BYTES[wire], "little")


def write_tree(nodes, written=None):
    """Return the bytes of a message.

    `written` has the bytes of nodes that live as long as it does, by identity: of a
    mutant, only what the mutation has touched is written anew.
    """
    if written is None:
        return b"".join([write_node(node) for node in nodes])
    return b"".join([written.get(id(n)) or write_node(n, written) for n in nodes])


def remember(nodes, written):
    """Note the bytes of all nodes of a tree."""
    for node in nodes:
        if isinstance(node[2], tuple):
            remember(node[2], written)
        written[id(node)] = write_node(node, written)
