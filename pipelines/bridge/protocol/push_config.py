"""PushConfig, version 0: requests to records, and both directions of bytes.

Strategy: hand-written over the bounded Cursor, since kio has no such message. A body
larger than its limit is not read at all. A record is written anew from its entries, so
that bytes which no field stands for (tagged fields, trailing bytes) go nowhere.
What comes back when bytes are short or bad: MalformedBytes, and nothing else.
Source: KIP-1324, PushConfigRequest and PushConfigResponse.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.kafka_client.primitives import (
    NO_TAGGED_FIELDS,
    Cursor,
    MalformedBytes,
    write_compact_string,
    write_uvarint,
)

from .api_keys import ServedApi

_SMALLEST_ENTRY_BYTES = 5
_TYPE_AND_FLAG = struct.Struct(">bB")
_THROTTLE_AND_ERROR = struct.Struct(">ih")


class ClientConfig(NamedTuple):
    """One entry of a client's configuration, as on the wire.

    A tuple: a frozen dataclass takes four times as long to make, and a push has many.
    """

    config_key: str
    config_value: str
    """Never printed: it may be a secret. So may be a key that is none."""
    config_type: int
    """ConfigType; which number means which type is a setting."""
    is_default: bool

    def __repr__(self) -> str:
        size = len(self.config_key)
        return f"ClientConfig(key of {size} characters, type {self.config_type})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushConfigRequest:
    """A body that was read, or one that was too large to be."""

    configs: tuple[ClientConfig, ...]
    body_bytes: int
    is_too_large: bool = False


def push_config_api(api_key: int, max_bytes: int) -> ServedApi:
    """Return the API as a bridge serves it.

    Args:
        api_key: The number that clients use; Kafka has not given one.
        max_bytes: The largest body that is read.
    """

    def read_body(cursor: Cursor, _api_version: int) -> PushConfigRequest:
        if cursor.remaining_bytes > max_bytes:
            return PushConfigRequest(
                configs=(), body_bytes=cursor.remaining_bytes, is_too_large=True
            )
        return read_push_config(cursor)

    return ServedApi(
        api_key=api_key,
        versions=range(1),
        first_flexible_version=0,
        read_body=read_body,
    )


def read_push_config(cursor: Cursor) -> PushConfigRequest:
    """Read a body, whatever its size.

    Raises: MalformedBytes, also for a null array, key or value: none may be null.
    """
    body_bytes = cursor.remaining_bytes
    length = cursor.read_array_length(is_compact=True, item_bytes=_SMALLEST_ENTRY_BYTES)
    if length is None:
        raise MalformedBytes("PushConfig with null configs")
    configs = tuple([_read_entry(cursor) for _ in range(length)])
    cursor.skip_tagged_fields()
    return PushConfigRequest(configs=configs, body_bytes=body_bytes)


def write_push_config(configs: Iterable[ClientConfig]) -> bytes:
    """Return the body of a request with these entries."""
    entries = list(configs)
    parts = [write_uvarint(len(entries) + 1)]
    for one in entries:
        parts += (
            write_compact_string(one.config_key),
            write_compact_string(one.config_value),
            _TYPE_AND_FLAG.pack(one.config_type, one.is_default),
            NO_TAGGED_FIELDS,
        )
    parts.append(NO_TAGGED_FIELDS)
    return b"".join(parts)


def write_push_config_response(
    error_code: int, error_message: str | None, *, throttle_time_ms: int = 0
) -> bytes:
    """Return the body of a response.

    Nulls: No message where there is nothing to say.
    """
    fixed = _THROTTLE_AND_ERROR.pack(throttle_time_ms, error_code)
    return fixed + write_compact_string(error_message) + NO_TAGGED_FIELDS


def _read_entry(cursor: Cursor) -> ClientConfig:
    config_key, config_value = (
        cursor.read_compact_string(),
        cursor.read_compact_string(),
    )
    if config_key is None or config_value is None:
        raise MalformedBytes("PushConfig with a null key or value")
    config_type, is_default = cursor.unpack(_TYPE_AND_FLAG)
    cursor.skip_tagged_fields()
    return ClientConfig(config_key, config_value, config_type, is_default != 0)
