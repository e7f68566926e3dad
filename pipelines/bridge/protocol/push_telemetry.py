"""The body of PushTelemetry, version 0: the one request that comes often.

Strategy: its fixed fields in one step, into a tuple of ours; making kio's message and a
UUID of each would take longer than all the rest of the reading. What comes back when
bytes are short or bad: MalformedRequest.
Source: KIP-714; Kafka, PushTelemetryRequest.json.
"""

import struct
from typing import NamedTuple

from .api_keys import PUSH_TELEMETRY, ServedApi
from .cursor import Cursor

_FIXED = struct.Struct(">16siBb")


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


PUSH_TELEMETRY_API = ServedApi(
    api_key=PUSH_TELEMETRY,
    versions=range(1),
    first_flexible_version=0,
    read_body=read_push,
)
