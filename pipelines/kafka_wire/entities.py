"""A bounded reader of the messages that kio describes, for those that come seldom.

Strategy: kio's own readers reserve the memory that a peer's array length claims, and
end the process where there is not so much. Here a reader is made once of each of kio's
classes; `Cursor` reads the fields, and the items of a message are counted. It takes a
microsecond a field; what comes with every push has readers of its own.
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

from pipelines.kafka_client.primitives import Cursor, MalformedBytes

_INT8 = struct.Struct(">b")
_INT64 = struct.Struct(">q")
_FLOAT64 = struct.Struct(">d")
_SMALLEST_ITEM_BYTES = 1


class ItemBudget:
    """How many items all arrays of one message may still have."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, count: int) -> None:
        """Count some items.

        Raises: MalformedBytes when they are too many.
        """
        self.left -= count
        if self.left < 0:
            raise MalformedBytes("a message with too many items")


_Read = Callable[[Cursor, ItemBudget], object]


def read_entity(cursor: Cursor, schema: Any, budget: ItemBudget) -> Any:  # noqa: ANN401 - one of kio's classes, and one of those
    """Read one message, tagged fields included.

    Errors: An error code that kio does not know is UNKNOWN_SERVER_ERROR(-1).
    Raises: MalformedBytes.
    """
    return _make_entity_reader(schema)(cursor, budget)


@functools.cache
def _make_entity_reader(schema: Any) -> _Read:  # noqa: ANN401 - one of kio's classes
    hints = typing.get_type_hints(schema)
    plain: list[tuple[str, _Read]] = []
    tagged: dict[int, tuple[str, _Read]] = {}
    for one in dataclasses.fields(schema):
        reader = _make_field_reader(
            one, hints[one.name], is_compact=schema.__flexible__
        )
        tag = one.metadata.get("tag")
        if tag is None:
            plain.append((one.name, reader))
        else:
            tagged[tag] = (one.name, reader)

    def read(cursor: Cursor, budget: ItemBudget) -> object:
        values = {name: read_field(cursor, budget) for name, read_field in plain}
        if schema.__flexible__:
            for _ in range(cursor.read_uvarint()):
                tag, size = cursor.read_uvarint(), cursor.read_uvarint()
                if tag in tagged:
                    name, read_field = tagged[tag]
                    values[name] = read_field(cursor, budget)
                else:
                    cursor.skip(size)
        return schema(**values)

    return read


def _make_field_reader(
    field: "dataclasses.Field[Any]",
    hint: Any,  # noqa: ANN401 - a type hint is anything
    *,
    is_compact: bool,
) -> _Read:
    parts = typing.get_args(hint) if _is_union(hint) else (hint,)
    (kind,) = [part for part in parts if part is not types.NoneType]
    is_array = typing.get_origin(kind) is tuple
    item = typing.get_args(kind)[0] if is_array else kind
    read_item: _Read
    if isinstance(item, type) and dataclasses.is_dataclass(item):
        read_item = _make_entity_reader(item)
    else:
        read_item = _make_value_reader(
            _READERS[is_compact][field.metadata["kafka_type"]]
        )
    if is_array:
        item_reader = _refuse_null(read_item, f"a null in {field.name}")
        read_item = _make_array_reader(item_reader, is_compact=is_compact)
    is_nullable = types.NoneType in parts
    return read_item if is_nullable else _refuse_null(read_item, f"a null {field.name}")


def _make_value_reader(read_value: Callable[[Cursor], object]) -> _Read:
    return lambda cursor, _budget: read_value(cursor)


def _make_array_reader(read_item: _Read, *, is_compact: bool) -> _Read:
    def read(cursor: Cursor, budget: ItemBudget) -> object:
        length = cursor.read_array_length(
            is_compact=is_compact, item_bytes=_SMALLEST_ITEM_BYTES
        )
        if length is None:
            return None
        budget.take(length)
        return tuple([read_item(cursor, budget) for _ in range(length)])

    return read


def _refuse_null(read_value: _Read, message: str) -> _Read:
    def read(cursor: Cursor, budget: ItemBudget) -> object:
        value = read_value(cursor, budget)
        if value is None:
            raise MalformedBytes(message)
        return value

    return read


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
        raise MalformedBytes("a duration of a million years") from None


_FIXED: dict[str, Callable[[Cursor], object]] = {
    "bool": Cursor.read_bool,
    "int8": lambda cursor: cursor.unpack(_INT8)[0],
    "int16": Cursor.read_int16,
    "int32": Cursor.read_int32,
    "int64": lambda cursor: cursor.unpack(_INT64)[0],
    # Milliseconds since 1970: nobody here asks when.
    "datetime_i64": lambda cursor: cursor.unpack(_INT64)[0],
    "float64": lambda cursor: cursor.unpack(_FLOAT64)[0],
    "uuid": Cursor.read_uuid,
    "error_code": _read_error_code,
    "timedelta_i32": _read_int32_timedelta,
    "timedelta_i64": _read_int64_timedelta,
}
_READERS: Mapping[bool, Mapping[str, Callable[[Cursor], object]]] = {
    False: _FIXED
    | {"string": Cursor.read_legacy_string, "bytes": Cursor.read_legacy_bytes},
    True: _FIXED
    | {"string": Cursor.read_compact_string, "bytes": Cursor.read_compact_bytes},
}
"""Whether lengths are compact, and kio's name of a type, to what reads it."""
