"""A client that speaks PushConfig, for tests; its bytes are written here, by hand.

It shares no writer and no reader with the product.
"""

import asyncio
import struct
import uuid
from dataclasses import dataclass

API_VERSIONS, GET_SUBSCRIPTIONS, PUSH_TELEMETRY, PUSH_CONFIG = 18, 71, 72, 10_071
TYPES = ("BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD")  # fmt: skip
JAVA = ("apache-kafka-java", "4.4.0")


@dataclass(frozen=True)
class PushReply:
    throttle_time_ms: int
    error_code: int
    error_message: str | None


@dataclass(frozen=True)
class Subscription:
    error_code: int
    instance_id: uuid.UUID
    subscription_id: int
    answer: bytes


def uvarint(value):
    written = b""
    while value > 127:
        written += bytes([value % 128 + 128])
        value //= 128
    return written + bytes([value])


def compact(text):
    if text is None:
        return b"\0"
    encoded = text if isinstance(text, bytes) else text.encode()
    return uvarint(len(encoded) + 1) + encoded


def entry(key, value, type_name="STRING", *, is_default=False, first_type_id=0):
    type_id = TYPES.index(type_name) + first_type_id
    tail = struct.pack(">b?", type_id, is_default)
    return compact(key) + compact(value) + tail + b"\0"


def push_body(*entries):
    return uvarint(len(entries) + 1) + b"".join(entries) + b"\0"


def versions_body(version, name, software_version, instance_id=None, cluster_id=None):
    if version < 3:
        return b""
    body = compact(name) + compact(software_version)
    if version >= 5:
        body += compact(cluster_id) + struct.pack(">i", 7 if cluster_id else -1)
    if version >= 6:
        body += (instance_id or uuid.UUID(int=0)).bytes
    return body + b"\0"


def read_compact(body, offset):
    length, offset = body[offset], offset + 1
    if length > 127:  # texts of up to 16,382 bytes
        length, offset = length - 128 + 128 * body[offset], offset + 1
    if length == 0:
        return None, offset
    return body[offset : offset + length - 1].decode(), offset + length - 1


def read_record(value):
    """Read a record's value: (key, value, type, is default) of each entry."""
    entries, offset = [], 1
    assert value[0] < 128
    for _ in range(value[0] - 1):
        key, offset = read_compact(value, offset)
        text, offset = read_compact(value, offset)
        type_id, is_default, tags = struct.unpack_from(">b?b", value, offset)
        assert tags == 0
        entries.append((key, text, type_id, is_default))
        offset += 3
    assert value[offset:] == b"\0"
    return entries


class RawClient:
    """One connection."""

    def __init__(self, reader, writer, client_id="app-1"):
        self.reader, self.writer = reader, writer
        self.client_id = client_id

    def send(self, api_key, version, body):
        client_id = self.client_id.encode()
        is_old = api_key == API_VERSIONS and version < 3
        header = struct.pack(">hhih", api_key, version, 1, len(client_id)) + client_id
        frame = header + (b"" if is_old else b"\0") + body
        self.writer.write(struct.pack(">i", len(frame)) + frame)

    async def receive(self):
        size = struct.unpack(">i", await self.reader.readexactly(4))[0]
        return (await self.reader.readexactly(size))[4:]

    async def ask(self, api_key, version, body):
        self.send(api_key, version, body)
        return await self.receive()

    async def say_versions(self, version=6, software=JAVA, **extra):
        """Return the error code and what is served: key to (lowest, highest)."""
        body = versions_body(version, *software, **extra)
        reply = await self.ask(API_VERSIONS, version, body)
        error_code = struct.unpack_from(">h", reply)[0]
        if version < 3 or error_code == 35:
            count = struct.unpack_from(">i", reply, 2)[0]
            start, size = 6, 6
        else:
            count, start, size = reply[2] - 1, 3, 7
        places = range(start, start + count * size, size)
        ranges = [struct.unpack_from(">hhh", reply, place) for place in places]
        return error_code, {key: (low, high) for key, low, high in ranges}

    async def subscribe(self, instance_id=None):
        body = (instance_id or uuid.UUID(int=0)).bytes + b"\0"
        reply = await self.ask(GET_SUBSCRIPTIONS, 0, body)
        error_code, given, subscription_id = struct.unpack_from(">h16si", reply, 5)
        return Subscription(error_code, uuid.UUID(bytes=given), subscription_id, reply)

    async def push_telemetry(self, subscription):
        ids = struct.pack(
            ">16sibb",
            subscription.instance_id.bytes,
            subscription.subscription_id,
            0,
            0,
        )
        reply = await self.ask(PUSH_TELEMETRY, 0, ids + compact(b"abc") + b"\0")
        return struct.unpack_from(">h", reply, 5)[0]

    async def push(self, *entries):
        return read_reply(await self.ask(PUSH_CONFIG, 0, push_body(*entries)))

    async def is_closed(self):
        return await self.reader.read() == b""

    def close(self):
        self.writer.close()


def read_reply(reply):
    assert reply[0] == 0  # no tags in the header
    throttle_time_ms, error_code = struct.unpack_from(">ih", reply, 1)
    message, end = read_compact(reply, 7)
    assert reply[end:] == b"\0"
    return PushReply(throttle_time_ms, error_code, message)


async def connect(host, port, client_id="app-1"):
    return RawClient(*await asyncio.open_connection(host, port), client_id)
