"""The few Kafka messages that every connection needs, as a client writes them.

Strategy: bodies to bytes by hand, and answers back through the bounded Cursor, so that
an answer can never claim memory.
What comes back when bytes are short or bad: MalformedBytes, and nothing else.
Source: Kafka 4.3, clients/src/main/resources/common/message/*.json.
"""

import struct
from collections.abc import Mapping
from typing import NamedTuple

from .primitives import NO_TAGGED_FIELDS, Cursor, write_compact_string

METADATA, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 3, 17, 18, 36
API_VERSIONS_VERSION = 3
"""The first version that says which software the client is."""

_RANGE = struct.Struct(">hhh")
"""API key, lowest and highest version."""
_NODE_BYTES = 12
_TEXT_BYTES = 2

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
    body = write_compact_string(name) + write_compact_string(version) + NO_TAGGED_FIELDS
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
    cursor = Cursor(body)
    error_code = cursor.read_int16()
    served = {}
    for _ in range(0 if error_code else cursor.read_uvarint() - 1):
        api_key, lowest, highest = cursor.unpack(_RANGE)
        cursor.skip_tagged_fields()
        served[api_key] = range(lowest, highest + 1)
    return error_code, served


def read_oldest_api_versions(body: bytes) -> tuple[int, Served]:
    """Return the same of an answer in version 0."""
    cursor = Cursor(body)
    error_code = cursor.read_int16()
    ranges = (cursor.unpack(_RANGE) for _ in range(_read_count(cursor, _RANGE.size)))
    return error_code, {key: range(low, high + 1) for key, low, high in ranges}


def read_metadata(body: bytes) -> list[Node]:
    """Return the nodes of a Metadata v1 answer."""
    cursor = Cursor(body)
    nodes = []
    for _ in range(_read_count(cursor, _NODE_BYTES)):
        node_id, host = cursor.read_int32(), cursor.read_legacy_string() or ""
        nodes.append(Node(node_id, host, cursor.read_int32()))
        cursor.read_legacy_string()  # rack
    return nodes


def read_sasl_handshake(body: bytes) -> tuple[int, list[str]]:
    """Return the error code and the mechanisms that the peer has."""
    cursor = Cursor(body)
    error_code = cursor.read_int16()
    count = _read_count(cursor, _TEXT_BYTES)
    return error_code, [cursor.read_legacy_string() or "" for _ in range(count)]


def _read_count(cursor: Cursor, item_bytes: int) -> int:
    return cursor.read_array_length(is_compact=False, item_bytes=item_bytes) or 0


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
    cursor = Cursor(body)
    error_code, message = cursor.read_int16(), cursor.read_legacy_string() or ""
    frame = cursor.read_legacy_bytes() or b""
    lifetime_ms = cursor.read_int64() if api_version else 0
    return Authenticated(error_code, message, frame, lifetime_ms)
