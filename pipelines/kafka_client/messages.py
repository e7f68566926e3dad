"""The few Kafka messages that a configuration push needs, as a client writes them.

Strategy: bodies to bytes by hand, and answers back through a reader that checks every
length against what is there, so that an answer can never claim memory.
What comes back when bytes are short or bad: MalformedAnswer, and nothing else.
Source: Kafka 4.3, clients/src/main/resources/common/message/*.json; KIP-1324.
"""

import struct
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

METADATA, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 3, 17, 18, 36
API_VERSIONS_VERSION = 3
"""The first version that says which software the client is."""
NAMING_API_VERSIONS_VERSION = 6
"""ApiVersions with the client instance id, where a bridge serves PushConfig."""
METADATA_VERSION, SASL_HANDSHAKE_VERSION, SASL_AUTHENTICATE_VERSION = 1, 1, 0
PUSH_CONFIG_VERSION = 0

_VARINT_MORE, _VARINT_SHIFT, _MAX_VARINT_SHIFT = 0x80, 7, 28
_NO_TAGGED_FIELDS = b"\x00"
_NULL_CLUSTER_AND_NODE = b"\x00" + struct.pack(">i", -1)


class MalformedAnswer(ValueError):
    """Raised when the peer's bytes are not what its answer should be."""


class ConfigEntry(NamedTuple):
    """One entry of a pushed configuration."""

    config_key: str
    config_value: str
    """Never printed."""
    config_type: int
    """Ordinal of ConfigDef.Type, or one more where the bridge counts so."""
    is_default: bool

    def __repr__(self) -> str:
        return f"ConfigEntry({self.config_key!r}, type {self.config_type})"


@dataclass(frozen=True, slots=True)
class PushAnswer:
    """What PushConfig was answered."""

    throttle_time_ms: int
    error_code: int
    error_message: str | None


@dataclass(frozen=True, slots=True)
class Node:
    """A node as Metadata names it."""

    host: str
    port: int


def write_request(
    api_key: int,
    api_version: int,
    correlation_id: int,
    client_id: str,
    body: bytes,
    *,
    is_flexible: bool,
) -> bytes:
    """Return a whole frame, with the length in front."""
    name = client_id.encode()
    header = struct.pack(">hhih", api_key, api_version, correlation_id, len(name))
    tags = _NO_TAGGED_FIELDS if is_flexible else b""
    content = header + name + tags + body
    return struct.pack(">i", len(content)) + content


def write_api_versions(name: str, version: str) -> bytes:
    """Return the body of ApiVersions v3."""
    return _compact_string(name) + _compact_string(version) + _NO_TAGGED_FIELDS


def write_naming_api_versions(
    name: str, version: str, client_instance_id: uuid.UUID
) -> bytes:
    """Return the body of ApiVersions v6: v5 with the client instance id behind it."""
    software = _compact_string(name) + _compact_string(version)
    named = _NULL_CLUSTER_AND_NODE + client_instance_id.bytes
    return software + named + _NO_TAGGED_FIELDS


def write_metadata() -> bytes:
    """Return the body of Metadata v1 that asks for no topics."""
    return struct.pack(">i", 0)


def write_sasl_handshake(mechanism: str) -> bytes:
    """Return the body of SaslHandshake v1."""
    return _string(mechanism)


def write_sasl_authenticate(frame: bytes) -> bytes:
    """Return the body of SaslAuthenticate v0."""
    return struct.pack(">i", len(frame)) + frame


def write_push_config(entries: Iterable[ConfigEntry]) -> bytes:
    """Return the body of PushConfig v0."""
    every = list(entries)
    parts = [_uvarint(len(every) + 1)]
    for one in every:
        parts += (
            _compact_string(one.config_key),
            _compact_string(one.config_value),
            struct.pack(">b?", one.config_type, one.is_default),
            _NO_TAGGED_FIELDS,
        )
    return b"".join([*parts, _NO_TAGGED_FIELDS])


def read_api_versions(body: bytes) -> tuple[int, dict[int, tuple[int, int]]]:
    """Return the error code and what is served: key to lowest and highest version.

    An error is in the layout of version 0 where the peer does not know the version;
    then nothing is served.
    """
    reader = _Reader(body)
    (error_code,) = reader.unpack(">h")
    if error_code:
        return error_code, {}
    served = {}
    for _ in range(reader.read_uvarint() - 1):
        key, lowest, highest = reader.unpack(">hhh")
        reader.skip_tagged_fields()
        served[key] = (lowest, highest)
    return error_code, served


def read_metadata(body: bytes) -> list[Node]:
    """Return the nodes of a Metadata v1 answer."""
    reader = _Reader(body)
    nodes = []
    (count,) = reader.unpack(">i")
    for _ in range(count):
        reader.unpack(">i")
        host = reader.read_string()
        (port,) = reader.unpack(">i")
        reader.read_string()
        nodes.append(Node(host, port))
    return nodes


def read_sasl_handshake(body: bytes) -> tuple[int, list[str]]:
    """Return the error code and the mechanisms that the peer has."""
    reader = _Reader(body)
    error_code, count = reader.unpack(">hi")
    return error_code, [reader.read_string() for _ in range(count)]


def read_sasl_authenticate(body: bytes) -> tuple[int, str, bytes]:
    """Return error code, error message (empty for none) and the peer's frame."""
    reader = _Reader(body)
    (error_code,) = reader.unpack(">h")
    message = reader.read_string()
    (size,) = reader.unpack(">i")
    return error_code, message, reader.take(max(size, 0))


def read_push_config(body: bytes) -> PushAnswer:
    """Return what a PushConfig v0 answer says."""
    reader = _Reader(body)
    throttle_time_ms, error_code = reader.unpack(">ih")
    size = reader.read_uvarint() - 1
    message = None if size < 0 else _decode(reader.take(size))
    return PushAnswer(throttle_time_ms, error_code, message)


def strip_flexible_header(content: bytes) -> bytes:
    """Return the body behind the tagged fields of a flexible answer's header."""
    reader = _Reader(content)
    reader.skip_tagged_fields()
    return reader.rest()


class _Reader:
    """Reads in order; every length is checked against what is there."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise MalformedAnswer(f"answer ends at byte {len(self._data)}")
        taken, self._at = self._data[self._at : end], end
        return taken

    def rest(self) -> bytes:
        return self._data[self._at :]

    def unpack(self, form: str) -> tuple[int, ...]:
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def read_uvarint(self) -> int:
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
        return _decode(self.take(max(size, 0)))

    def skip_tagged_fields(self) -> None:
        for _ in range(self.read_uvarint()):
            self.read_uvarint()
            self.take(self.read_uvarint())


def _decode(text: bytes) -> str:
    return text.decode(errors="replace")


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">h", len(encoded)) + encoded


def _compact_string(text: str) -> bytes:
    encoded = text.encode()
    return _uvarint(len(encoded) + 1) + encoded


def _uvarint(value: int) -> bytes:
    written = bytearray()
    while value >= _VARINT_MORE:
        written.append(value & (_VARINT_MORE - 1) | _VARINT_MORE)
        value >>= _VARINT_SHIFT
    return bytes([*written, value])
