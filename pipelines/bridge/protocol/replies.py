"""Replies to bytes, and their order on a connection.

Strategy: kio's types and writers, which are given only what this program made.
Every reply carries its size and the header that its API has: version 0 for
ApiVersions in all versions, since a client cannot know more yet (KIP-511).
Source: Kafka protocol guide, "Response Header".
"""

import functools
import io
import struct
from datetime import timedelta
from typing import Any

from kio.index import load_response_schema
from kio.schema.errors import ErrorCode
from kio.schema.push_telemetry.v0.response import PushTelemetryResponse
from kio.serial import entity_writer
from kio.static.primitive import i32Timedelta
from kio.static.protocol import Entity

from .api_keys import API_VERSIONS
from .requests import Request

_SIZE_AND_CORRELATION_ID = struct.Struct(">ii")
_ERROR_CODE = struct.Struct(">h")
_CORRELATION_ID_BYTES = 4
_NO_TAGGED_FIELDS = b"\x00"

NO_THROTTLE = i32Timedelta.parse(timedelta(0))


class ReplySlot:
    """The place of one reply among those of its connection."""

    __slots__ = ("reply",)

    def __init__(self) -> None:
        self.reply: bytes | None = None


class ReplyOrder:
    """Holds replies back until those before them are there.

    Clients match replies by their order: a push that waits for its record must not be
    overtaken by the request behind it.
    """

    __slots__ = ("_slots",)

    def __init__(self) -> None:
        # Few are ever open, and an empty deque takes ten times as much.
        self._slots: list[ReplySlot] = []

    def __len__(self) -> int:
        return len(self._slots)

    def open(self) -> ReplySlot:
        """Reserve the place behind all that are open."""
        slot = ReplySlot()
        self._slots.append(slot)
        return slot

    def take_ready(self) -> bytes:
        """Return the replies that may be written now, and forget them."""
        ready = []
        for slot in self._slots:
            if slot.reply is None:
                break
            ready.append(slot.reply)
        del self._slots[: len(ready)]
        return ready[0] if len(ready) == 1 else b"".join(ready)


def encode_reply(request: Request, body: bytes) -> bytes:
    """Put size and response header before the encoded body that answers a request."""
    tags = _NO_TAGGED_FIELDS if _has_tags(request) else b""
    size = _CORRELATION_ID_BYTES + len(tags) + len(body)
    return _SIZE_AND_CORRELATION_ID.pack(size, request.correlation_id) + tags + body


def read_error_code(request: Request, reply: bytes, offset: int | None) -> int | None:
    """Return the error code in a reply that encode_reply has made.

    Args:
        request: What is answered.
        reply: Size, header and body.
        offset: Where in the body the code stands; None where there is none.
    Nulls: None without an offset, and for a body that ends before it.
    """
    if offset is None:
        return None
    start = _SIZE_AND_CORRELATION_ID.size + _has_tags(request) + offset
    if len(reply) < start + _ERROR_CODE.size:
        return None
    code: int = _ERROR_CODE.unpack_from(reply, start)[0]
    return code


def _has_tags(request: Request) -> bool:
    return request.is_flexible and request.api_key != API_VERSIONS


def encode_body(message: Entity) -> bytes:
    """Write one of kio's messages."""
    buffer = io.BytesIO()
    entity_writer(type(message))(buffer, message)
    return buffer.getvalue()


@functools.cache
def encode_push_body(error_code: ErrorCode) -> bytes:
    """Write a PushTelemetryResponse; there are few of them, and many are sent."""
    return encode_body(
        PushTelemetryResponse(throttle_time=NO_THROTTLE, error_code=error_code)
    )


def fill_response(api_key: int, api_version: int, **values: object) -> Entity:
    """Make the response of a version from the fields that this version has."""
    return fill(load_response_schema(api_key, api_version), **values)


def fill(schema: Any, **values: object) -> Entity:  # noqa: ANN401 - one of kio's types
    """Make a message from those of the values that its version has."""
    known = {name: values[name] for name in schema.__slots__ if name in values}
    message: Entity = schema(**known)
    return message
