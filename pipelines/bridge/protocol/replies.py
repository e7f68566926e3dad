"""Replies to bytes, and their order on a connection.

Strategy: kio's types and writers, which are given only what this program made.
Every reply carries its size and the header that its API has: version 0 for
ApiVersions in all versions, since a client cannot know more yet (KIP-511).
A version that is not served, or cannot be read, is answered in the form of version 0,
error 35 and the one range that the client needs to ask again. The others list what is
served; from version 4 on the answers look alike.
Source: Kafka protocol guide, "Response Header"; KIP-511; Kafka, ApiVersionsRequest.java
and RequestContext.java.
"""

import functools
import re
import struct

from kio.index import load_payload_module
from kio.schema.errors import ErrorCode
from kio.static.constants import EntityType

from pipelines.kafka_wire.messages import (
    NO_THROTTLE,
    encode_body,
    fill,
    fill_response,
)

from .api_keys import API_VERSIONS, ServedApis
from .requests import UNREADABLE, Request
from .software import ClientSoftware

UNKNOWN_SOFTWARE = "unknown"
"""Kafka's word for the software of a client that has not said."""
_LAST_LAYOUT = 4
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def is_valid_software(software: ClientSoftware) -> bool:
    """Say whether Kafka accepts a client's name and version.

    Source: Kafka, ApiVersionsRequest.java, SOFTWARE_NAME_VERSION_PATTERN.
    """
    return bool(
        _SOFTWARE.fullmatch(software.client_software_name)
        and _SOFTWARE.fullmatch(software.client_software_version)
    )


def answer_api_versions(request: Request, apis: ServedApis) -> bytes:
    """Return the body of the answer: the APIs, or why there are none.

    Errors: UNSUPPORTED_VERSION(35) with ApiVersions' own range, which ends before a
        version that could not be read: clients ask again in the newest version of the
        range. INVALID_REQUEST(42) without any, for a software name or version that
        Kafka does not accept.
    """
    own = apis[API_VERSIONS].versions
    if request.body is UNREADABLE:
        own = range(max(min(own.stop, request.api_version), 1))
    if request.api_version not in own:
        return _encode(0, ErrorCode.unsupported_version, ((API_VERSIONS, own),))
    body = request.body
    if isinstance(body, ClientSoftware) and not is_valid_software(body):
        return _encode(request.api_version, ErrorCode.invalid_request, ())
    served = tuple((api.api_key, api.versions) for api in apis.values())
    return _encode(request.api_version, ErrorCode.none, served)


@functools.cache
def _encode(
    api_version: int, error_code: ErrorCode, served: tuple[tuple[int, range], ...]
) -> bytes:
    api_version = min(api_version, _LAST_LAYOUT)
    module = load_payload_module(API_VERSIONS, api_version, EntityType.response)
    ranges = tuple(
        fill(
            module.ApiVersion,
            api_key=api_key,
            min_version=versions.start,
            max_version=versions.stop - 1,
        )
        for api_key, versions in served
    )
    return encode_body(
        fill_response(
            API_VERSIONS,
            api_version,
            error_code=error_code,
            api_keys=ranges,
            throttle_time=NO_THROTTLE,
        )
    )


_SIZE_AND_CORRELATION_ID = struct.Struct(">ii")
_ERROR_CODE = struct.Struct(">h")
_CORRELATION_ID_BYTES = 4
_NO_TAGGED_FIELDS = b"\x00"
# Size, correlation id, no tagged fields, throttle time, error code, no tagged fields.
_PUSH_REPLY = struct.Struct(">iiBihB")
_PUSH_REPLY_SIZE = _PUSH_REPLY.size - 4

# Behind size, correlation id and no tagged fields.
_THROTTLE_AT, _THROTTLE_END = 9, 13


class ReplyOrder:
    """Holds replies back until those before them are there.

    Clients match replies by their order: a push that waits for its record must not be
    overtaken by the request behind it. Places are numbers, and most replies come in
    order, so that nothing is made for them.
    """

    __slots__ = ("_held", "_next", "first")

    def __init__(self) -> None:
        self.first = 0
        """The place whose reply is the next to be written."""
        self._next = 0
        # An empty dict takes more than all the rest, and few connections need one.
        self._held: dict[int, bytes] | None = None

    def __len__(self) -> int:
        return self._next - self.first

    def open(self) -> int:
        """Reserve the place behind all that are open."""
        place = self._next
        self._next = place + 1
        return place

    def fill(self, place: int, reply: bytes) -> bytes:
        """Take a reply; return what may be written now, and forget it.

        Raises: ValueError for a place that has its reply.
        """
        if place == self.first:
            self.first = place + 1
            return reply if self._held is None else self._join(reply, self._held)
        if self._held is None:
            self._held = {}
        if place < self.first or place in self._held:
            raise ValueError(f"a second reply in place {place}")
        self._held[place] = reply
        return b""

    def _join(self, reply: bytes, held: dict[int, bytes]) -> bytes:
        ready = [reply]
        while self.first in held:
            ready.append(held.pop(self.first))
            self.first += 1
        if not held:
            self._held = None
        return b"".join(ready)


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


def encode_push_reply(correlation_id: int, error_code: ErrorCode) -> bytes:
    """Write the whole reply to a push: in one step, for many are sent."""
    return _PUSH_REPLY.pack(_PUSH_REPLY_SIZE, correlation_id, 0, 0, error_code, 0)


def tell_throttle_time(reply: bytes, throttle_time_ms: int) -> bytes:
    """Return the reply of an API whose answers begin with it, the longer time in it.

    Args:
        reply: Whole, of a flexible version.
        throttle_time_ms: How long the client is to wait.
    """
    told_ms = int.from_bytes(reply[_THROTTLE_AT:_THROTTLE_END])
    if told_ms >= throttle_time_ms:
        return reply
    told = throttle_time_ms.to_bytes(_THROTTLE_END - _THROTTLE_AT)
    return reply[:_THROTTLE_AT] + told + reply[_THROTTLE_END:]
