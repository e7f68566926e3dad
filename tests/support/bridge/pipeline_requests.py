"""Requests that a broker can be asked, byte by byte, in some of their versions."""

import struct

import crc32c

PRODUCE, FETCH, LIST_OFFSETS, METADATA, FIND_COORDINATOR = 0, 1, 2, 3, 10
API_VERSIONS, DESCRIBE_CLUSTER, GET = 18, 60, 71
FIRST_FLEXIBLE = {
    PRODUCE: 9, FETCH: 12, LIST_OFFSETS: 6, METADATA: 9, FIND_COORDINATOR: 3,
    API_VERSIONS: 3, DESCRIBE_CLUSTER: 0, GET: 0,
}  # fmt: skip


def string(text, *, is_compact):
    data = text.encode()
    head = bytes([len(data) + 1]) if is_compact else struct.pack(">h", len(data))
    return head + data


def request(api_key, version, body, correlation_id, client_id="pipelines"):
    head = struct.pack(">hhi", api_key, version, correlation_id)
    head += string(client_id, is_compact=False)
    is_flexible = version >= FIRST_FLEXIBLE.get(api_key, 99)
    return head + (b"\0" if is_flexible else b"") + body


def make_batch(value):
    """Return a record batch of one record, not compressed."""
    content = struct.pack(">bbbb", 0, 0, 0, 1) + bytes([2 * len(value)]) + value + b"\0"
    record = bytes([2 * len(content)]) + content
    sealed = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1) + record
    checked = struct.pack(">ibI", 0, 2, crc32c.crc32c(sealed)) + sealed
    return struct.pack(">qi", 0, len(checked)) + checked


def produce(rng, topic, *, acks=None):
    version = rng.choice((3, 7, 8, 9, 11, 12))
    is_compact = version >= 9
    acks = rng.choice((0, 1, -1, 1, -1)) if acks is None else acks
    batch = make_batch(b"%08x" % rng.getrandbits(32))
    one = struct.pack(">h", acks) + struct.pack(">i", 5_000)
    name = string(topic, is_compact=is_compact)
    if not is_compact:
        body = (
            b"\xff\xff" + one + struct.pack(">i", 1) + name + struct.pack(">ii", 1, 0)
        )
        return PRODUCE, version, body + struct.pack(">i", len(batch)) + batch
    # A length takes two bytes here.
    length = len(batch) + 1
    records = bytes([length & 0x7F | 0x80, length >> 7]) + batch
    return (
        PRODUCE,
        version,
        b"\0" + one + b"\2" + name + b"\2" + bytes(4) + records + bytes(3),
    )


def fetch(rng, topic):
    version = rng.choice((4, 7, 11, 12))
    is_compact = version >= 12
    body = struct.pack(">iiiib", -1, 0, 0, 1_000, 0)
    body += struct.pack(">ii", 0, -1) if version >= 7 else b""
    name = string(topic, is_compact=is_compact)
    place = struct.pack(">q", rng.randrange(3))
    one = bytes(4) + (struct.pack(">i", -1) if version >= 9 else b"") + place
    one += struct.pack(">i", -1) if version >= 12 else b""
    one += struct.pack(">q", -1) if version >= 5 else b""
    one += struct.pack(">i", 500)
    if is_compact:
        return FETCH, version, body + b"\2" + name + b"\2" + one + bytes(2) + b"\1\1\0"
    body += struct.pack(">i", 1) + name + struct.pack(">i", 1) + one
    body += bytes(4) if version >= 7 else b""
    return FETCH, version, body + (b"\0\0" if version >= 11 else b"")


def metadata(rng, topic):
    version = rng.choice((1, 4, 8, 9, 12))
    flags = 0 if version < 4 else 3 if 8 <= version <= 10 else 2 if version > 10 else 1
    if version < 9:
        name = string(topic, is_compact=False)
        return METADATA, version, struct.pack(">i", 1) + name + bytes(flags)
    one = (bytes(16) if version >= 10 else b"") + string(topic, is_compact=True) + b"\0"
    return METADATA, version, b"\2" + one + bytes(flags) + b"\0"


def find_coordinator(rng, _topic):
    version = rng.choice((2, 3, 4))
    key = string("a-group", is_compact=version >= 3)
    if version == 4:
        return FIND_COORDINATOR, 4, b"\0\2" + key + b"\0"
    return FIND_COORDINATOR, version, key + b"\0" + (b"\0" if version == 3 else b"")


def describe_cluster(rng, _topic):
    version = rng.randrange(2)
    return DESCRIBE_CLUSTER, version, b"\0" + (b"\1" if version else b"") + b"\0"


def list_offsets(_rng, topic):
    body = struct.pack(">ibi", -1, 0, 1) + string(topic, is_compact=False)
    return LIST_OFFSETS, 2, body + struct.pack(">iiq", 1, 0, -2)


def api_versions(rng, _topic):
    version = rng.choice((0, 2, 3, 99))
    named = string("me", is_compact=True) + string("1.0", is_compact=True) + b"\0"
    return API_VERSIONS, version, named if version == 3 else b""


def get_telemetry(_rng, _topic):
    return GET, 0, bytes(17)


def framed(content):
    return struct.pack(">i", len(content)) + content


def split(data):
    """Return the answers of a connection, by their correlation ids, in order."""
    answers, at = [], 0
    while at < len(data):
        size, correlation_id = struct.unpack_from(">ii", data, at)
        content = data[at + 8 : at + 4 + size]
        assert len(content) == size - 4, "an answer was cut off"
        answers.append((correlation_id, content))
        at += 4 + size
    return answers


def split_requests(data):
    """Return API key, version and correlation id of each whole request."""
    heads, at = [], 0
    while at + 12 <= len(data):
        size, *head = struct.unpack_from(">ihhi", data, at)
        heads.append(tuple(head))
        at += 4 + max(size, 0)
    return heads
