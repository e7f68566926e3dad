"""The body of PushTelemetry, version 0: the one request that comes often.

Strategy: its fixed fields in one step, into a tuple of ours; making kio's message and a
UUID of each would take longer than all the rest of the reading. `read_plain_push` reads
the frame that clients really send, header included, without a cursor, and leaves every
other one to the cursor. What comes back when bytes are short or bad: MalformedRequest
from the cursor, None from read_plain_push.
Source: KIP-714; Kafka, PushTelemetryRequest.json.
"""

import struct
from typing import NamedTuple

from .api_keys import PUSH_TELEMETRY, ServedApi
from .cursor import Cursor

_FIXED = struct.Struct(">16siBb")
_CLIENT_ID_LENGTH = struct.Struct(">h")
_CLIENT_ID_LENGTH_AT = 8
_CLIENT_ID_AT = 10
_NULL_LENGTH = -1
# No tagged fields behind the header, the fixed fields, a length's first byte.
_PLAIN = struct.Struct(">B16siBbB")
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


def read_plain_push(frame: bytes) -> tuple[str | None, PushRequest] | None:
    """Read client id and body of a whole frame of PushTelemetry 0.

    Nulls: None for a frame with tagged fields, null metrics, more than 2 MiB of them,
        or bytes that are short or left over; the cursor reads or refuses it.
    """
    if len(frame) < _CLIENT_ID_AT:
        return None
    id_length = _CLIENT_ID_LENGTH.unpack_from(frame, _CLIENT_ID_LENGTH_AT)[0]
    id_end = _CLIENT_ID_AT + max(id_length, 0)
    at = id_end + _PLAIN.size
    if id_length < _NULL_LENGTH or len(frame) <= at:
        return None
    tags, instance_id, subscription_id, terminating, codec, length = _PLAIN.unpack_from(
        frame, id_end
    )
    if length & _VARINT_MORE:
        more = frame[at]
        length = length & _VARINT_BITS | (more & _VARINT_BITS) << 7
        at += 1
        if len(frame) == at:
            return None
        if more & _VARINT_MORE:
            length |= frame[at] << 14
            if frame[at] & _VARINT_MORE:
                return None
            at += 1
    end = at + length - 1
    if tags or length == 0 or len(frame) != end + 1 or frame[end]:
        return None
    client_id = None
    if id_length != _NULL_LENGTH:
        client_id = frame[_CLIENT_ID_AT:id_end].decode("utf-8", errors="replace")
    metrics = frame[at:end]
    return client_id, PushRequest(
        instance_id, subscription_id, terminating != 0, codec, metrics
    )


PUSH_TELEMETRY_API = ServedApi(
    api_key=PUSH_TELEMETRY,
    versions=range(1),
    first_flexible_version=0,
    read_body=read_push,
)
