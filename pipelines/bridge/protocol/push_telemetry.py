"""The body of PushTelemetry, version 0: the one request that comes often.

Strategy: its fixed fields in one step, into a tuple of ours; making kio's message and a
UUID of each would take longer than all the rest of the reading. `PlainPushReader` reads
the frame that clients really send, header included, in one step, and leaves every other
one to the cursor. What comes back when bytes are short or bad: MalformedBytes from
the cursor, None from PlainPushReader.
Source: KIP-714; Kafka, PushTelemetryRequest.json.
"""

import functools
import struct
from typing import NamedTuple

from pipelines.kafka_client.primitives import Cursor

from .api_keys import PUSH_TELEMETRY, ServedApi

COMPRESSION_TYPES: dict[int, str] = {
    0: "none",
    1: "gzip",
    2: "snappy",
    3: "lz4",
    4: "zstd",
}
"""CompressionType on the wire to Kafka's name. All are accepted, offered or not."""
RESERVED_INSTANCE_IDS = frozenset({bytes(16), bytes(15) + b"\x01"})
"""Zero and one, which no client can have."""
_FIXED = struct.Struct(">16siBb")
_API_KEY_AND_VERSION = PUSH_TELEMETRY << 16
_STRING_LENGTH = struct.Struct(">h")
_NULL = b"\xff\xff"
_MAX_STRING_BYTES = 2**15 - 1
_MAX_SHARED_CHARACTERS = 256
"""Of a client id whose reader is kept: thousands are, and one may have 32 kB."""
_NO_TAGGED_FIELDS = b"\0"
_VARINT_MORE = 0x80
_VARINT_BITS = 0x7F


class PushRequest(NamedTuple):
    """One push as received."""

    client_instance_id: bytes
    """The 16 bytes of its Uuid; all zero for none."""
    subscription_id: int
    terminating: bool
    compression_type: int
    """CompressionType, whatever number the client sent."""
    metrics: bytes
    """As sent, still compressed; empty for null."""


def read_push(cursor: Cursor, _api_version: int) -> PushRequest:
    """Read the body of a push."""
    instance_id, subscription_id, terminating, compression_type = cursor.unpack(_FIXED)
    # librdkafka before 2.10.1 sends null where it has nothing to say.
    metrics = cursor.read_compact_bytes() or b""
    cursor.skip_tagged_fields()
    return PushRequest(
        instance_id, subscription_id, terminating != 0, compression_type, metrics
    )


class PlainPushReader:
    """Reads pushes that carry one and the same client id."""

    __slots__ = ("_head", "_layout")

    def __init__(self, client_id: str | None) -> None:
        """Take the client id.

        Nulls: None is a null client id.
        Raises: ValueError for one that is longer than a request can carry.
        """
        encoded = b"" if client_id is None else client_id.encode()
        if len(encoded) > _MAX_STRING_BYTES:
            raise ValueError(f"a client id of {len(encoded)} bytes")
        length = _NULL if client_id is None else _STRING_LENGTH.pack(len(encoded))
        self._head = length + encoded + _NO_TAGGED_FIELDS
        self._layout = _layout(len(self._head))

    def read(self, data: bytes, start: int) -> tuple[int, PushRequest] | None:
        """Read a whole frame that begins at start and ends with the data.

        Returns: Its correlation id and its body.
        Nulls: None for another request or client id, for tagged fields, null metrics,
            more than 2 MiB of them, and bytes that are short or left over.
        """
        at = start + self._layout.size
        size = len(data)
        if size <= at:
            return None
        # In one step: each further one would cost as much as all these fields.
        (
            api,
            correlation_id,
            head,
            instance_id,
            subscription_id,
            terminating,
            codec,
            (length),
        ) = self._layout.unpack_from(data, start)
        if api != _API_KEY_AND_VERSION or head != self._head:
            return None
        if length & _VARINT_MORE:
            more = data[at]
            length = length & _VARINT_BITS | (more & _VARINT_BITS) << 7
            at += 1
            if size == at:
                return None
            if more & _VARINT_MORE:
                length |= data[at] << 14
                if data[at] & _VARINT_MORE:
                    return None
                at += 1
        end = at + length - 1
        if length == 0 or size != end + 1 or data[end]:
            return None
        return correlation_id, tuple.__new__(
            # What a NamedTuple's own constructor does, in half of its time.
            PushRequest,
            (instance_id, subscription_id, terminating != 0, codec, data[at:end]),
        )


@functools.lru_cache(maxsize=256)
def _layout(head_bytes: int) -> struct.Struct:
    """Return the layout up to the first byte of the metrics' length; many share it."""
    return struct.Struct(f">ii{head_bytes}s16siBbB")


def plain_push_reader(client_id: str | None) -> PlainPushReader | None:
    """Return the reader of a client id; clients of one name share it.

    Nulls: None for a name that has grown beyond what a request can carry, when bytes
        of it were no UTF-8.
    """
    if client_id is not None and len(client_id) > _MAX_SHARED_CHARACTERS:
        return _make_reader(client_id)
    return _share_reader(client_id)


def _make_reader(client_id: str | None) -> PlainPushReader | None:
    try:
        return PlainPushReader(client_id)
    except ValueError:
        return None


_share_reader = functools.lru_cache(maxsize=16_384)(_make_reader)


PUSH_TELEMETRY_API = ServedApi(
    api_key=PUSH_TELEMETRY,
    versions=range(1),
    first_flexible_version=0,
    read_body=read_push,
)
