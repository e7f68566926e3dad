"""What a client says to a node that serves PushConfig: who it is, and its configs.

Source: KIP-1324.
"""

import struct
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from .kafka_client.messages import (
    API_VERSIONS,
    Request,
    Served,
    api_versions,
    read_api_versions,
)
from .kafka_client.primitives import (
    NO_TAGGED_FIELDS,
    Cursor,
    write_compact_string,
    write_uvarint,
)
from .kafka_client.session import Conversation, Software, check_versions

NAMING_API_VERSIONS_VERSION = 6
"""ApiVersions with the client instance id, where a bridge serves PushConfig."""
PUSH_CONFIG_VERSION = 0
INSTANCE_ID_SEPARATOR = "-cid-"
"""Between a software version and the client instance id that it carries."""
_NULL_CLUSTER_AND_NODE = b"\x00" + struct.pack(">i", -1)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSoftware(Software):
    """What a client that pushes says about itself."""

    client_instance_id: uuid.UUID

    @property
    def naming_version(self) -> str:
        """The version with the client instance id in it."""
        return f"{self.version}{INSTANCE_ID_SEPARATOR}{self.client_instance_id.hex}"


def name_instance(software: NamedSoftware, served: Served) -> Conversation[None]:
    """Tell a node that serves PushConfig which client instance this is.

    Raises: as check_versions.
    """
    # The field's version is a setting of the bridge; the text is always understood.
    newest = served.get(API_VERSIONS, range(1)).stop - 1
    if newest == NAMING_API_VERSIONS_VERSION:
        request = naming_api_versions(software)
    else:
        request = api_versions(software.name, software.naming_version)
    error_code, _ = read_api_versions((yield request))
    check_versions(error_code)


def push_config(
    api_key: int, entries: Iterable[ConfigEntry]
) -> Conversation[PushAnswer]:
    """Push a configuration."""
    body = write_push_config(entries)
    answer = yield Request(api_key, PUSH_CONFIG_VERSION, body, is_flexible=True)
    return read_push_config(answer)


def naming_api_versions(software: NamedSoftware) -> Request:
    """Return ApiVersions v6: v5 with the client instance id behind it."""
    said = write_compact_string(software.name) + write_compact_string(software.version)
    named = _NULL_CLUSTER_AND_NODE + software.client_instance_id.bytes
    body = said + named + NO_TAGGED_FIELDS
    return Request(API_VERSIONS, NAMING_API_VERSIONS_VERSION, body, is_flexible=True)


def write_push_config(entries: Iterable[ConfigEntry]) -> bytes:
    """Return the body of PushConfig v0."""
    every = list(entries)
    parts = [write_uvarint(len(every) + 1)]
    for one in every:
        parts += (
            write_compact_string(one.config_key),
            write_compact_string(one.config_value),
            struct.pack(">b?", one.config_type, one.is_default),
            NO_TAGGED_FIELDS,
        )
    return b"".join([*parts, NO_TAGGED_FIELDS])


def read_push_config(body: bytes) -> PushAnswer:
    """Return what a PushConfig v0 answer says."""
    cursor = Cursor(body)
    throttle_time_ms, error_code = cursor.read_int32(), cursor.read_int16()
    return PushAnswer(throttle_time_ms, error_code, cursor.read_compact_string())
