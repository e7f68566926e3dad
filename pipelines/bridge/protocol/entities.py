"""A bounded reader of the messages that kio describes, for those that come seldom.

Strategy: kio's own readers reserve the memory that a peer's array length claims, and
end the process where there is not so much. Here kio's classes say which fields a
message has, `Cursor` reads them, and the items of a message are counted. It takes some
microseconds a field; what comes with every push has readers of its own.
Source: Kafka protocol guide, "Protocol Primitive Types"; KIP-482.
"""

import dataclasses
import functools
import struct
import types
import typing
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta

from .cursor import Cursor
from .errors import MalformedRequest

_INT8 = struct.Struct(">b")
_INT64 = struct.Struct(">q")
_SMALLEST_ITEM_BYTES = 1

_ReadValue = Callable[[Cursor], object]


class ItemBudget:
    """How many items all arrays of one message may still have."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, count: int) -> None:
        """Count some items.

        Raises: MalformedRequest when they are too many.
        """
        self.left -= count
        if self.left < 0:
            raise MalformedRequest("a message with too many items")


@dataclasses.dataclass(frozen=True, slots=True)
class _Field:
    name: str
    kafka_type: str
    """Empty for a message inside a message."""
    nested: Any
    is_array: bool
    is_nullable: bool
    tag: int | None


def read_entity(cursor: Cursor, schema: Any, budget: ItemBudget) -> Any:  # noqa: ANN401 - one of kio's classes, and one of those
    """Read one message, tagged fields included.

    Errors: An error code that kio does not know is UNKNOWN_SERVER_ERROR(-1).
    Raises: MalformedRequest.
    """
    fields = _list_fields(schema)
    values = {
        one.name: _read_field(cursor, one, schema, budget)
        for one in fields
        if one.tag is None
    }
    if schema.__flexible__:
        tagged = {one.tag: one for one in fields if one.tag is not None}
        for _ in range(cursor.read_uvarint()):
            field = tagged.get(cursor.read_uvarint())
            size = cursor.read_uvarint()
            if field is None:
                cursor.skip(size)
            else:
                values[field.name] = _read_field(cursor, field, schema, budget)
    return schema(**values)


def _read_field(cursor: Cursor, field: _Field, schema: Any, budget: ItemBudget) -> Any:  # noqa: ANN401 - as the field is
    is_compact = schema.__flexible__
    if not field.is_array:
        value = _read_value(cursor, field, budget, is_compact=is_compact)
        if value is None and not field.is_nullable:
            raise MalformedRequest(f"a null {field.name}")
        return value
    length = cursor.read_array_length(
        is_compact=is_compact, item_bytes=_SMALLEST_ITEM_BYTES
    )
    if length is None:
        if not field.is_nullable:
            raise MalformedRequest(f"a null {field.name}")
        return None
    budget.take(length)
    items = []
    for _ in range(length):
        item = _read_value(cursor, field, budget, is_compact=is_compact)
        if item is None:
            raise MalformedRequest(f"a null in {field.name}")
        items.append(item)
    return tuple(items)


def _read_value(
    cursor: Cursor, field: _Field, budget: ItemBudget, *, is_compact: bool
) -> object:
    if field.nested is not None:
        return read_entity(cursor, field.nested, budget)
    readers = _COMPACT_READERS if is_compact else _READERS
    return readers[field.kafka_type](cursor)


@functools.cache
def _list_fields(schema: Any) -> tuple[_Field, ...]:  # noqa: ANN401 - one of kio's classes
    hints = typing.get_type_hints(schema)
    return tuple(_describe(one, hints[one.name]) for one in dataclasses.fields(schema))


def _describe(field: "dataclasses.Field[Any]", hint: Any) -> _Field:  # noqa: ANN401 - a type hint is anything
    parts = typing.get_args(hint) if _is_union(hint) else (hint,)
    is_nullable = types.NoneType in parts
    (kind,) = [part for part in parts if part is not types.NoneType]
    is_array = typing.get_origin(kind) is tuple
    item = typing.get_args(kind)[0] if is_array else kind
    return _Field(
        name=field.name,
        kafka_type=field.metadata.get("kafka_type", ""),
        nested=item if dataclasses.is_dataclass(item) else None,
        is_array=is_array,
        is_nullable=is_nullable,
        tag=field.metadata.get("tag"),
    )


def _is_union(hint: Any) -> bool:  # noqa: ANN401 - a type hint is anything
    return typing.get_origin(hint) in {types.UnionType, typing.Union}


def _read_error_code(cursor: Cursor) -> object:
    try:
        return ErrorCode(cursor.read_int16())
    except ValueError:
        return ErrorCode.unknown_server_error


def _read_int32_timedelta(cursor: Cursor) -> object:
    return i32Timedelta.parse(timedelta(milliseconds=cursor.read_int32()))


def _read_int64_timedelta(cursor: Cursor) -> object:
    try:
        return timedelta(milliseconds=cursor.unpack(_INT64)[0])
    except OverflowError:
        raise MalformedRequest("a duration of a million years") from None


_READERS: Mapping[str, _ReadValue] = {
    "bool": Cursor.read_bool,
    "int8": lambda cursor: cursor.unpack(_INT8)[0],
    "int16": Cursor.read_int16,
    "int32": Cursor.read_int32,
    "int64": lambda cursor: cursor.unpack(_INT64)[0],
    "error_code": _read_error_code,
    "timedelta_i32": _read_int32_timedelta,
    "timedelta_i64": _read_int64_timedelta,
    "string": Cursor.read_legacy_string,
    "bytes": Cursor.read_legacy_bytes,
}
_COMPACT_READERS: Mapping[str, _ReadValue] = {
    **_READERS,
    "string": Cursor.read_compact_string,
    "bytes": Cursor.read_compact_bytes,
}
