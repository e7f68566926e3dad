"""Mutations of one field of an OTLP message, that know how protobuf writes it."""

from tests.fuzz.otlp_trees import (
    FIXED32,
    FIXED64,
    FIXED_BYTES,
    GROUP,
    GROUP_END,
    LEN,
    RAW,
    VARINT,
    write_key,
    write_node,
    write_tree,
)
from tests.unit.udfs.otlp.message_pieces import read_varint, write_varint
from tests.unit.udfs.otlp.random_pushes import KEYS

NUMBERS = (*range(16), 15, 16, 17, 31, 100, 2**29 - 1)
WIRES = (VARINT, FIXED64, LEN, FIXED32)
SCALARS = (
    *(0, 1, 2, 3, 127, 128, 999, 1000, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1),
    *(2**63 - 1, 2**63, 2**64 - 1, 0x7FF8_0000_DEAD_BEEF, 0x7FF0_0000_0000_0001),
    *(
        0xFFF8_0000_0000_0000,
        0x7FF0_0000_0000_0000,
        0x8000_0000_0000_0000,
        0x3FF8 << 48,
    ),
)
TEXTS = (
    *(key.encode() for key in KEYS),
    *(b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"),
    *(b"12", b"-7", b"2147483648", b"0012", b"\xef\xbf\xbf", b"\x00", b"a" * 7),
    *("€" * 3 + "𝄞").encode().split(b"|"),
    b"org.apache.kafka.consumer.fetch.manager.records.lag.max",
)
LENGTH_CHANGES = (-9, -2, -1, 1, 2, 9, 120, 2**31, 2**32, 2**63)
DEPTHS = (
    1,
    2,
    3,
    40,
    44,
    45,
    46,
    47,
    48,
    49,
    60,
    89,
    90,
    91,
    95,
    98,
    99,
    100,
    101,
    130,
)


def overlong(value, size):
    """Write a varint in so many bytes, more than it needs."""
    out = [value >> 7 * index & 0x7F | 0x80 for index in range(size - 1)]
    return bytes([*out, value >> 7 * (size - 1) & 0x7F])


def parts_of(node):
    """Return key, whether there is a length, and body of a field as bytes."""
    number, wire, content = node
    if wire == RAW:
        return b"", False, content
    if wire == LEN:
        body = write_tree(content) if isinstance(content, tuple) else content
        return write_key(number, wire), True, body
    if wire == VARINT:
        return write_key(number, wire), False, write_varint(content)
    body = content.to_bytes(FIXED_BYTES[wire], "little")
    return write_key(number, wire), False, body


def raw(content):
    return (0, RAW, content)


def as_wire(rng, node, wire):
    """Return a field of the same number with another wire type."""
    number, _, content = node
    if wire == LEN:
        return (number, LEN, content if isinstance(content, bytes) else b"")
    number_of_it = content if isinstance(content, int) else rng.choice(SCALARS)
    bits = 8 * FIXED_BYTES.get(wire, 8)
    return (number, wire, number_of_it % 2**bits)


def renumber(rng, node):
    _, wire, content = node
    number = rng.choice(NUMBERS)
    if number == 0:
        return [raw(write_key(0, max(wire, 0)) + b"\x00")]
    return [(number, wire, content)]


def rewire(rng, node):
    return [as_wire(rng, node, rng.choice(WIRES))]


def change_length(rng, node):
    key, has_length, body = parts_of(node)
    if not has_length:
        return [raw(key + body[: rng.randrange(len(body) + 1)])]
    length = max(0, len(body) + rng.choice(LENGTH_CHANGES))
    return [raw(key + write_varint(length) + body)]


def lengthen_varint(rng, node):
    number, wire, content = node
    if wire == RAW:
        return [node]
    key, has_length, body = parts_of(node)
    size = rng.choice((2, 3, 4, 5, 5, 6, 9, 10, 10, 11))
    if rng.random() < 0.4:
        key = overlong(number << 3 | wire, size)
        if rng.random() < 0.1:
            key = overlong((number << 3 | wire) + (rng.randrange(1, 9) << 32), 5)
    if has_length:
        return [raw(key + overlong(len(body), size) + body)]
    if wire == VARINT:
        return [raw(key + overlong(content, size))]
    return [raw(key + body)]


def wrap_in_group(rng, node):
    number = rng.choice((1, 2, 3, 7, 15, 16, 99))
    end = number if rng.random() < 0.8 else rng.choice(NUMBERS)
    depth = rng.choice(DEPTHS) if rng.random() < 0.3 else 1
    inner = write_node(node) if rng.random() < 0.7 else b""
    group = write_key(number, GROUP) * depth + inner + write_key(end, GROUP_END) * depth
    choice = rng.random()
    if choice < 0.1:
        group = write_key(number, GROUP)
    elif choice < 0.2:
        group = write_key(number, GROUP_END)
    return [node, raw(group)] if rng.random() < 0.5 else [raw(group)]


def nest_value(rng, node):
    """Put arrays and key-value lists into one another, as an attribute value."""
    value = rng.choice((b"", b"\x0a\x01x", b"\x0a\x01\xff", b"\x18\x07"))
    for _ in range(rng.choice(DEPTHS)):
        array = b"\x0a" + write_varint(len(value)) + value
        member = b"\x2a"
        if rng.random() < 0.3:
            pair = b"\x0a\x01k\x12" + write_varint(len(value)) + value
            array = b"\x0a" + write_varint(len(pair)) + pair
            member = b"\x32"
        value = member + write_varint(len(array)) + array
    attribute = b"\x0a\x01k\x12" + write_varint(len(value)) + value
    number = rng.choice((1, 3, 7, 9, 12))
    return [node, (number, LEN, attribute)]


def replace_scalar(rng, node):
    number, wire, content = node
    if wire == LEN and isinstance(content, bytes):
        return [(number, LEN, rng.choice(TEXTS))]
    if wire in {VARINT, FIXED64}:
        return [(number, wire, rng.choice(SCALARS))]
    return [node] * 2


def insert_unknown(rng, node):
    number, wire = rng.choice(NUMBERS[1:]), rng.choice(WIRES)
    content = rng.choice(SCALARS) % 2**32 if wire != LEN else rng.choice(TEXTS)
    return [node, (number, wire, content)]


def repack(rng, node):
    """Make single numbers of a packed list, or a packed list of single ones."""
    number, wire, content = node
    if wire == FIXED64:
        return [(number, LEN, content.to_bytes(8, "little") * rng.randrange(3))]
    if wire == VARINT:
        return [(number, LEN, write_varint(content) * rng.randrange(3))]
    if wire != LEN or not isinstance(content, bytes):
        return [node]
    if content and len(content) % 8 == 0:
        starts = range(0, len(content), 8)
        numbers = [int.from_bytes(content[s : s + 8], "little") for s in starts]
        return [(number, FIXED64, one) for one in numbers]
    out, place = [], 0
    try:
        while place < len(content):
            one, place = read_varint(content, place)
            out.append((number, VARINT, one % 2**64))
    except IndexError:
        return [node]
    return out


def split_message(rng, node):
    number, wire, content = node
    if wire != LEN:
        return [node]
    cut = rng.randrange(len(content) + 1)
    return [(number, LEN, content[:cut]), (number, LEN, content[cut:])]


OPERATIONS = (
    renumber,
    rewire,
    change_length,
    lengthen_varint,
    wrap_in_group,
    nest_value,
    replace_scalar,
    replace_scalar,
    insert_unknown,
    repack,
    split_message,
)
