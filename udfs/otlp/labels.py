"""Values of the point attributes that have columns of their own.

A node ID names a connection of the client. Java sends `node-1`, `node-2147483646`
(broker 1 as group coordinator), and `node--1` (bootstrap server); librdkafka and
franz-go send an integer, negative for a bootstrap server. The decoder and the forwarder
both read node IDs here.
"""

from typing import NamedTuple

BROKER = "broker"
COORDINATOR = "coordinator"
BOOTSTRAP = "bootstrap"

_MIN_INT32, _MAX_INT32 = -(2**31), 2**31 - 1
# -?[0-9]+ of at most ten digits; leading zeros are Java's to write, too.
_MAX_INT32_TEXT = 11
_JAVA_PREFIX = "node-"


class Node(NamedTuple):
    """Broker connection that a point describes."""

    node_id: int
    """Broker ID; of a bootstrap connection, the client's own negative number."""
    role: str
    """BROKER, COORDINATOR or BOOTSTRAP."""


def parse_int32(text: str | None) -> int | None:
    """Return the number that a text is, if int32 holds it."""
    if text is None or len(text) > _MAX_INT32_TEXT or not text.isascii():
        return None
    if not text.removeprefix("-").isdigit():
        return None
    number = int(text)
    return number if _MIN_INT32 <= number <= _MAX_INT32 else None


def parse_node(text: str | None) -> Node | None:
    """Return the broker connection that a node ID names.

    Args:
        text: Attribute node_id (or node.id) as text; None: not sent.

    Returns:
        None if no client family is known to write a node ID like this.
    """
    if text is None:
        return None
    number = parse_int32(text.removeprefix(_JAVA_PREFIX))
    if number is None:
        return None
    if number < 0:
        return Node(number, BOOTSTRAP)
    # Java numbers coordinator connections down from the maximum; brokers count up.
    if number > _MAX_INT32 // 2:
        return Node(_MAX_INT32 - number, COORDINATOR)
    return Node(number, BROKER)
