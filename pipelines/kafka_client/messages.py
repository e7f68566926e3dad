"""The few Kafka messages that every connection needs, as a client writes them.

Strategy: bodies to bytes by hand, and answers back through a reader that checks every
length against what is there, so that an answer can never claim memory.
What comes back when bytes are short or bad: MalformedAnswer, and nothing else.
Source: Kafka 4.3, clients/src/main/resources/common/message/*.json.
"""

import struct
from collections.abc import Mapping
from typing import NamedTuple

from .faults import MalformedAnswer

METADATA, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 3, 17, 18, 36
API_VERSIONS_VERSION = 3
"""The first version that says which software the client is."""

_VARINT_MORE, _VARINT_SHIFT, _MAX_VARINT_SHIFT = 0x80, 7, 28
NO_TAGGED_FIELDS = b"\x00"

Served = Mapping[int, range]
"""Versions of each API that a node serves."""


class Request(NamedTuple):
    """A request; the answer to it is a body, without its header."""

    api_key: int
    api_version: int
    body: bytes
    is_flexible: bool = False
    """Whether headers have tagged fields; that of an ApiVersions answer never has."""


class Node(NamedTuple):
    """A node as Metadata names it."""

    node_id: int
    host: str
    port: int


def write_frame(request: Request, correlation_id: int, client_id: str) -> bytes:
    """Return a whole request, with the length in front."""
    name = client_id.encode()
    header = struct.pack(
        ">hhih", request.api_key, request.api_version, correlation_id, len(name)
    )
    tags = NO_TAGGED_FIELDS if request.is_flexible else b""
    content = header + name + tags + request.body
    return struct.pack(">i", len(content)) + content


def api_versions(name: str, version: str) -> Request:
    """Return ApiVersions v3."""
    body = compact_string(name) + compact_string(version) + NO_TAGGED_FIELDS
    return Request(API_VERSIONS, API_VERSIONS_VERSION, body, is_flexible=True)


def oldest_api_versions() -> Request:
    """Return ApiVersions v0, which every node knows."""
    return Request(API_VERSIONS, 0, b"")


def metadata() -> Request:
    """Return Metadata v1 that asks for no topics."""
    return Request(METADATA, 1, struct.pack(">i", 0))


def sasl_handshake(mechanism: str) -> Request:
    """Return SaslHandshake v1."""
    encoded = mechanism.encode()
    return Request(SASL_HANDSHAKE, 1, struct.pack(">h", len(encoded)) + encoded)


def sasl_authenticate(frame: bytes, api_version: int) -> Request:
    """Return SaslAuthenticate v0, or v1, whose answer tells how long a session is."""
    body = struct.pack(">i", len(frame)) + frame
    return Request(SASL_AUTHENTICATE, api_version, body)


def read_api_versions(body: bytes) -> tuple[int, Served]:
    """Return the error code and what is served.

    An error is in the layout of version 0 where the peer does not know the version;
    then nothing is served.
    """
    reader = Reader(body)
    (error_code,) = reader.unpack(">h")
    served = {}
    for _ in range(0 if error_code else reader.read_uvarint() - 1):
        api_key, lowest, highest = reader.unpack(">hhh")
        reader.skip_tagged_fields()
        served[api_key] = range(lowest, highest + 1)
    return error_code, served


def read_oldest_api_versions(body: bytes) -> tuple[int, Served]:
    """Return the same of an answer in version 0."""
    reader = Reader(body)
    error_code, count = reader.unpack(">hi")
    found = (reader.unpack(">hhh") for _ in range(count))
    return error_code, {key: range(low, high + 1) for key, low, high in found}


def read_metadata(body: bytes) -> list[Node]:
    """Return the nodes of a Metadata v1 answer."""
    reader = Reader(body)
    nodes = []
    (count,) = reader.unpack(">i")
    for _ in range(count):
        (node_id,) = reader.unpack(">i")
        host = reader.read_string()
        (port,) = reader.unpack(">i")
        reader.read_string()
        nodes.append(Node(node_id, host, port))
    return nodes


def read_sasl_handshake(body: bytes) -> tuple[int, list[str]]:
    """Return the error code and the mechanisms that the peer has."""
    reader = Reader(body)
    error_code, count = reader.unpack(">hi")
    return error_code, [reader.read_string() for _ in range(count)]


class Authenticated(NamedTuple):
    """An answer to SaslAuthenticate."""

    error_code: int
    error_message: str
    """Empty for none."""
    frame: bytes
    session_lifetime_ms: int
    """After which the peer wants another login; 0 for never, or not told."""


def read_sasl_authenticate(body: bytes, api_version: int) -> Authenticated:
    """Return an answer to SaslAuthenticate v0 or v1."""
    reader = Reader(body)
    (error_code,) = reader.unpack(">h")
    message = reader.read_string()
    (size,) = reader.unpack(">i")
    frame = reader.take(max(size, 0))
    (lifetime_ms,) = reader.unpack(">q") if api_version else (0,)
    return Authenticated(error_code, message, frame, lifetime_ms)


class Reader:
    """Reads in order; every length is checked against what is there."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def remaining_bytes(self) -> int:
        """How many bytes have not been read."""
        return len(self._data) - self._at

    def take(self, size: int) -> bytes:
        """Return so many bytes. Raises: MalformedAnswer, as all of these do."""
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise MalformedAnswer(f"answer ends at byte {len(self._data)}")
        taken, self._at = self._data[self._at : end], end
        return taken

    def rest(self) -> bytes:
        """Return what has not been read."""
        return self._data[self._at :]

    def unpack(self, form: str) -> tuple[int, ...]:
        """Return what a format of struct says."""
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def read_uvarint(self) -> int:
        """Return an unsigned number of variable length."""
        value = 0
        for shift in range(0, _MAX_VARINT_SHIFT + 1, _VARINT_SHIFT):
            byte = self.take(1)[0]
            value |= (byte & ~_VARINT_MORE) << shift
            if byte < _VARINT_MORE:
                return value
        raise MalformedAnswer("answer has a length without an end")

    def read_string(self) -> str:
        """Return a classic string; null as an empty one."""
        (size,) = self.unpack(">h")
        return self.take(max(size, 0)).decode(errors="replace")

    def read_compact_string(self) -> str | None:
        """Return a compact string."""
        size = self.read_uvarint() - 1
        return None if size < 0 else self.take(size).decode(errors="replace")

    def skip_tagged_fields(self) -> None:
        """Pass over them."""
        for _ in range(self.read_uvarint()):
            self.read_uvarint()
            self.take(self.read_uvarint())


def compact_string(text: str) -> bytes:
    """Write a compact string."""
    encoded = text.encode()
    return uvarint(len(encoded) + 1) + encoded


def uvarint(value: int) -> bytes:
    """Write an unsigned number of variable length."""
    written = bytearray()
    while value >= _VARINT_MORE:
        written.append(value & (_VARINT_MORE - 1) | _VARINT_MORE)
        value >>= _VARINT_SHIFT
    return bytes([*written, value])
