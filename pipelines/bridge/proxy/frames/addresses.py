"""Broker addresses in responses, replaced by ours; everything else stays as it is.

Strategy: kio's classes say how a response is laid out. Of each of them a walker is
made once, which passes over the fields and stops at those that are an address; what
lies between is copied as it came, so that nothing is lost which kio does not keep. The
walk ends behind the last field that can hold an address: the topics of Metadata are
never looked at.
What comes back when bytes are short or bad: MalformedResponse.
Source: Kafka, clients/src/main/resources/common/message/*Response.json.
"""

import dataclasses
import functools
import struct
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kio.index import load_response_schema

from pipelines.bridge.protocol.errors import MalformedResponse
from pipelines.kafka_client.primitives import Cursor, MalformedBytes, write_uvarint


class FindAddress(Protocol):
    """Returns what clients are told instead of a broker's address."""

    def __call__(
        self, node_id: int, host: str, port: int, /, *, is_fenced: bool = False
    ) -> tuple[str, int]:
        """Return host and port."""


_NO_NODE = -1
_FENCED = "is_fenced"
_PORT = struct.Struct(">i")
_LENGTH = struct.Struct(">h")
_FIXED_BYTES: Mapping[str, int] = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
    "error_code": 2,
    "timedelta_i32": 4,
    "timedelta_i64": 8,
    "datetime_i64": 8,
}


class _Copy:
    """What has been written, and up to where the response has been copied."""

    __slots__ = ("buffer", "copied", "cursor", "find_address", "parts")

    def __init__(self, buffer: bytes, at: int, find_address: FindAddress) -> None:
        self.buffer = buffer
        self.cursor = Cursor(buffer, at)
        self.copied = at
        self.find_address = find_address
        self.parts: list[bytes] = []

    @property
    def position(self) -> int:
        return len(self.buffer) - self.cursor.remaining_bytes

    def put(self, start: int, end: int, replacement: bytes) -> None:
        """Write what stands instead of the bytes from start to end."""
        self.parts += (self.buffer[self.copied : start], replacement)
        self.copied = end


_Walk = Callable[[_Copy], None]


def rewrite_addresses(
    api_key: int, api_version: int, response: bytes, find_address: FindAddress
) -> bytes:
    """Return a response with the addresses of brokers replaced.

    Args:
        api_key: One of KNOWN_VERSIONS, but not Fetch.
        api_version: One of those; of Produce, one with node endpoints.
        response: What follows the correlation id: tagged fields of the header where
            there are any, and the body.
        find_address: Asked for each broker that is named; not for "no broker".
    Returns: The response as it came where it names no broker.
    Raises: MalformedResponse when the bytes are no such response.
    """
    schema: Any = load_response_schema(api_key, api_version)
    copy = _Copy(response, 0, find_address)
    try:
        if schema.__header_schema__.__flexible__:
            copy.cursor.skip_tagged_fields()
        _make_walk(schema, is_whole=False)(copy)
    except MalformedBytes as error:
        raise MalformedResponse(f"{schema.__name__} {api_version}: {error}") from None
    if not copy.parts:
        return response
    copy.parts.append(response[copy.copied :])
    return b"".join(copy.parts)


@functools.cache
def _has_address(schema: Any) -> bool:  # noqa: ANN401 - one of kio's classes
    if {"host", "port"} <= {field.name for field in dataclasses.fields(schema)}:
        return True
    items = (_item_schema(field, schema) for field in dataclasses.fields(schema))
    return any(item is not None and _has_address(item) for item in items)


def _item_schema(field: "dataclasses.Field[Any]", schema: Any) -> Any:  # noqa: ANN401 - the same
    """Return the class that a field, or an item of it, has; None for plain values."""
    kind = _plain_kind(typing.get_type_hints(schema)[field.name])
    item = typing.get_args(kind)[0] if typing.get_origin(kind) is tuple else kind
    is_nested = isinstance(item, type) and dataclasses.is_dataclass(item)
    return item if is_nested else None


def _plain_kind(hint: Any) -> Any:  # noqa: ANN401 - a type hint is anything
    if typing.get_origin(hint) not in {types.UnionType, typing.Union}:
        return hint
    (kind,) = [one for one in typing.get_args(hint) if one is not types.NoneType]
    return kind


@functools.cache
def _make_walk(schema: Any, *, is_whole: bool) -> _Walk:  # noqa: ANN401 - one of kio's classes
    """Return what passes over one message or item.

    Args:
        schema: Its class.
        is_whole: Whether it must go to the end, as something follows.
    """
    fields = dataclasses.fields(schema)
    plain = [one for one in fields if one.metadata.get("tag") is None]
    tagged = {
        one.metadata["tag"]: _make_field_walk(one, schema)
        for one in fields
        if one.metadata.get("tag") is not None
        and _item_schema(one, schema) is not None
        and _has_address(_item_schema(one, schema))
    }
    has_tags = schema.__flexible__ and (is_whole or bool(tagged))
    if not has_tags and not is_whole:
        plain = plain[: _count_to_last_address(plain, schema)]
    walks = _make_plain_walks(plain, schema)

    def walk(copy: _Copy) -> None:
        for one in walks:
            one(copy)
        if has_tags:
            _walk_tags(copy, tagged)

    return walk


def _count_to_last_address(
    plain: "list[dataclasses.Field[Any]]",
    schema: Any,  # noqa: ANN401 - one of kio's classes
) -> int:
    last = 0
    for index, one in enumerate(plain):
        item = _item_schema(one, schema)
        if one.name == "port" or (item is not None and _has_address(item)):
            last = index + 1
    return last


def _make_plain_walks(
    plain: "list[dataclasses.Field[Any]]",
    schema: Any,  # noqa: ANN401 - one of kio's classes
) -> list[_Walk]:
    names = [one.name for one in plain]
    if not {"host", "port"} <= set(names):
        return [_make_field_walk(one, schema) for one in plain]
    # Node id, host and port follow each other wherever there is an address.
    at = names.index("host")
    if not names[at - 1].endswith("_id") or names[at + 1] != "port":
        raise ValueError(f"{schema.__name__} has no address in the usual order")
    behind = [_make_field_walk(one, schema) for one in plain[at + 2 :]]
    before_fenced = (
        behind[: names.index(_FENCED) - at - 2] if _FENCED in names else None
    )
    return [
        *(_make_field_walk(one, schema) for one in plain[: at - 1]),
        functools.partial(
            _walk_address,
            is_compact=schema.__flexible__,
            before_fenced=before_fenced,
        ),
        *behind,
    ]


def _make_field_walk(field: "dataclasses.Field[Any]", schema: Any) -> _Walk:  # noqa: ANN401 - one of kio's classes
    kind = _plain_kind(typing.get_type_hints(schema)[field.name])
    item = _item_schema(field, schema)
    walk_item = (
        _make_value_walk(field.metadata["kafka_type"], is_compact=schema.__flexible__)
        if item is None
        else _make_walk(item, is_whole=True)
    )
    if typing.get_origin(kind) is not tuple:
        return walk_item

    def walk_array(copy: _Copy) -> None:
        length = copy.cursor.read_array_length(
            is_compact=schema.__flexible__, item_bytes=1
        )
        for _ in range(length or 0):
            walk_item(copy)

    return walk_array


def _make_value_walk(kafka_type: str, *, is_compact: bool) -> _Walk:
    if kafka_type in _FIXED_BYTES:
        size = _FIXED_BYTES[kafka_type]
        return lambda copy: copy.cursor.skip(size)
    if is_compact:
        # A length of 0 is null, and one more than its size anything else.
        return lambda copy: copy.cursor.skip(max(copy.cursor.read_uvarint() - 1, 0))
    if kafka_type == "string":
        return lambda copy: copy.cursor.skip(max(copy.cursor.read_int16(), 0))
    return lambda copy: copy.cursor.skip(max(copy.cursor.read_int32(), 0))


def _walk_tags(copy: _Copy, tagged: Mapping[int, _Walk]) -> None:
    cursor = copy.cursor
    for _ in range(cursor.read_uvarint()):
        tag = cursor.read_uvarint()
        size_at = copy.position
        size = cursor.read_uvarint()
        if tag not in tagged:
            cursor.skip(size)
            continue
        start = copy.position
        inner = _Copy(copy.buffer, start, copy.find_address)
        tagged[tag](inner)
        cursor.skip(size)
        if inner.parts:
            end = copy.position
            inner.parts.append(copy.buffer[inner.copied : end])
            value = b"".join(inner.parts)
            copy.put(size_at, end, write_uvarint(len(value)) + value)


def _walk_address(
    copy: _Copy, *, is_compact: bool, before_fenced: list[_Walk] | None
) -> None:
    """Replace an address.

    Args:
        copy: Stands at the node id.
        is_compact: Whether strings are.
        before_fenced: Fields between the address and is_fenced; None without that.
    """
    cursor = copy.cursor
    node_id = cursor.read_int32()
    start = copy.position
    host = cursor.read_compact_string() if is_compact else cursor.read_legacy_string()
    port = cursor.read_int32()
    if node_id == _NO_NODE or not host:
        return
    if before_fenced is not None and _is_fenced(copy, before_fenced):
        told = copy.find_address(node_id, host, port, is_fenced=True)
    else:
        told = copy.find_address(node_id, host, port)
    new_host, new_port = told
    text = new_host.encode()
    length = write_uvarint(len(text) + 1) if is_compact else _LENGTH.pack(len(text))
    copy.put(start, copy.position, length + text + _PORT.pack(new_port))


def _is_fenced(copy: _Copy, before: list[_Walk]) -> bool:
    """Return whether a broker is fenced, which is said behind its address."""
    ahead = _Copy(copy.buffer, copy.position, copy.find_address)
    for walk in before:
        walk(ahead)
    return ahead.cursor.read_bool()
