"""DescribeClientConfigs and AlterClientConfigs 0, as a client writes and reads them.

Strategy: bodies by hand, in Kafka's classic lengths, for the proposal's messages are
not flexible: request header 1, response header 0. A count of an answer is compared
with the bytes that are left before anything is made of it.
What comes back when bytes are short or bad: MalformedBytes, and nothing else.
Source: KIP-649, Network Protocol. The proposal's API keys 50 and 51 belong to SCRAM in
every release, so the numbers here are those of a bridge, and a setting of it.
"""

import struct
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import NamedTuple, TypeVar

from .messages import Request
from .primitives import Cursor, MalformedBytes

DESCRIBE_CLIENT_CONFIGS, ALTER_CLIENT_CONFIGS = 10_050, 10_051
CLIENT_CONFIGS_VERSION = 0
MAX_STRING_BYTES = 2**15 - 1

_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
_THROTTLE_AND_ERROR = struct.Struct(">ih")
_NULL_STRING = _INT16.pack(-1)
_NULL_ARRAY = _INT32.pack(-1)
_SMALLEST_ITEM_BYTES = 4
"""Two empty strings: an entity's part, or a value. No other item takes less."""

Entity = tuple[tuple[str, str | None], ...]
"""Entity type and name of each part; None names the default."""
_Item = TypeVar("_Item")


class Match(IntEnum):
    """What a component of a filter wants of an entity of its type."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


class Component(NamedTuple):
    """A part of a filter."""

    entity_type: str
    match_type: int
    """One of Match; a peer may have sent any other."""
    match: str | None
    """The name of an exact match, else None."""


class DescribeRequest(NamedTuple):
    """What DescribeClientConfigs asks."""

    components: tuple[Component, ...] = ()
    supported_configs: tuple[str, ...] | None = None
    """Keys that the client can take; None registers nothing."""
    resolve_entity: bool = False
    """Whether a client asks for what applies to itself."""
    strict: bool = False
    """Whether entities with types that no component names are left out."""


class Op(NamedTuple):
    """One key of an alteration."""

    key: str
    value: str
    """Ignored where the key is removed."""
    remove: bool = False


class Alteration(NamedTuple):
    """What AlterClientConfigs does to one entity."""

    entity: Entity
    ops: tuple[Op, ...]


class DescribedEntity(NamedTuple):
    """An entity and what is set for it."""

    entity: Entity
    values: dict[str, str]


class Described(NamedTuple):
    """An answer to DescribeClientConfigs."""

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    entries: list[DescribedEntity] | None


class Altered(NamedTuple):
    """What became of the alteration of one entity."""

    error_code: int
    error_message: str | None
    entity: Entity


def describe_client_configs(
    request: DescribeRequest, api_key: int = DESCRIBE_CLIENT_CONFIGS
) -> Request:
    """Return DescribeClientConfigs v0. Raises: ValueError for a text too long."""
    return Request(api_key, CLIENT_CONFIGS_VERSION, write_describe(request))


def alter_client_configs(
    alterations: Iterable[Alteration],
    *,
    validate_only: bool,
    api_key: int = ALTER_CLIENT_CONFIGS,
) -> Request:
    """Return AlterClientConfigs v0. Raises: ValueError for a text too long."""
    body = write_alterations(alterations, validate_only=validate_only)
    return Request(api_key, CLIENT_CONFIGS_VERSION, body)


def write_describe(request: DescribeRequest) -> bytes:
    """Return the body of DescribeClientConfigs v0."""
    return b"".join(
        (
            _array(_component(one) for one in request.components),
            _NULL_ARRAY
            if request.supported_configs is None
            else _array(string(key) for key in request.supported_configs),
            struct.pack(">??", request.resolve_entity, request.strict),
        )
    )


def write_alterations(
    alterations: Iterable[Alteration], *, validate_only: bool
) -> bytes:
    """Return the body of AlterClientConfigs v0."""
    entries = _array(
        write_entity(one.entity) + _array(_op(op) for op in one.ops)
        for one in alterations
    )
    return entries + struct.pack(">?", validate_only)


def write_described(described: Described) -> bytes:
    """Return the body of an answer to DescribeClientConfigs v0."""
    return b"".join(
        (
            _THROTTLE_AND_ERROR.pack(described.throttle_time_ms, described.error_code),
            nullable_string(described.error_message),
            _NULL_ARRAY
            if described.entries is None
            else _array(
                write_entity(one.entity)
                + _array(
                    string(key) + string(value) for key, value in one.values.items()
                )
                for one in described.entries
            ),
        )
    )


def write_altered(throttle_time_ms: int, altered: Iterable[Altered]) -> bytes:
    """Return the body of an answer to AlterClientConfigs v0."""
    return _INT32.pack(throttle_time_ms) + _array(
        _INT16.pack(one.error_code)
        + nullable_string(one.error_message)
        + write_entity(one.entity)
        for one in altered
    )


def read_described(body: bytes) -> Described:
    """Read an answer to DescribeClientConfigs v0. Raises: MalformedBytes."""
    cursor = Cursor(body)
    throttle_time_ms, error_code = cursor.read_int32(), cursor.read_int16()
    message = cursor.read_legacy_string()
    entries = _read_nullable_array(cursor, _read_described_entity)
    return Described(throttle_time_ms, error_code, message, entries)


def read_altered(body: bytes) -> tuple[int, list[Altered]]:
    """Read an answer to AlterClientConfigs v0: throttle time in ms, and the entries.

    Raises: MalformedBytes.
    """
    cursor = Cursor(body)
    throttle_time_ms = cursor.read_int32()
    return throttle_time_ms, _read_array(cursor, _read_altered)


def string(text: str) -> bytes:
    """Write a string. Raises: ValueError for one that is too long for its length."""
    encoded = text.encode()
    if len(encoded) > MAX_STRING_BYTES:
        raise ValueError(f"a text of {len(encoded)} bytes is no string of Kafka's")
    return _INT16.pack(len(encoded)) + encoded


def nullable_string(text: str | None) -> bytes:
    """Write a string that may be null. Raises: ValueError, as string."""
    return _NULL_STRING if text is None else string(text)


def write_entity(entity: Entity) -> bytes:
    """Write the parts of an entity."""
    return _array(string(kind) + nullable_string(name) for kind, name in entity)


def _array(items: Iterable[bytes]) -> bytes:
    every = list(items)
    return _INT32.pack(len(every)) + b"".join(every)


def _component(component: Component) -> bytes:
    return (
        string(component.entity_type)
        + struct.pack(">b", component.match_type)
        + nullable_string(component.match)
    )


def _op(op: Op) -> bytes:
    return string(op.key) + string(op.value) + struct.pack(">?", op.remove)


def _read_described_entity(cursor: Cursor) -> DescribedEntity:
    entity = _read_entity(cursor)
    return DescribedEntity(entity, dict(_read_array(cursor, _read_value)))


def _read_altered(cursor: Cursor) -> Altered:
    error_code, message = cursor.read_int16(), cursor.read_legacy_string()
    return Altered(error_code, message, _read_entity(cursor))


def _read_entity(cursor: Cursor) -> Entity:
    return tuple(_read_array(cursor, _read_part))


def _read_part(cursor: Cursor) -> tuple[str, str | None]:
    return _read_string(cursor), cursor.read_legacy_string()


def _read_value(cursor: Cursor) -> tuple[str, str]:
    return _read_string(cursor), _read_string(cursor)


def _read_array(cursor: Cursor, read_item: Callable[[Cursor], _Item]) -> list[_Item]:
    items = _read_nullable_array(cursor, read_item)
    if items is None:
        raise MalformedBytes("answer has a null where its message has none")
    return items


def _read_nullable_array(
    cursor: Cursor, read_item: Callable[[Cursor], _Item]
) -> list[_Item] | None:
    count = cursor.read_array_length(is_compact=False, item_bytes=_SMALLEST_ITEM_BYTES)
    return None if count is None else [read_item(cursor) for _ in range(count)]


def _read_string(cursor: Cursor) -> str:
    text = cursor.read_legacy_string()
    if text is None:
        raise MalformedBytes("answer has a null where its message has none")
    return text
