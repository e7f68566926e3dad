"""What a query answers, as text: a table for people, CSV or JSON for programs.

Moments are UTC and say so; floats have the digits that tell them apart, and no more.
"""

import base64
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    FloatType,
    MapType,
    NumericType,
    StructType,
    TimestampType,
    VariantType,
    YearMonthIntervalType,
)

from .text_tables import Number, format_table

FORMATS = TABLE, CSV, JSON = "table", "csv", "json"
# Types that Spark hands to no Python program; it has texts for them.
_AS_TEXT = (CalendarIntervalType, VariantType, YearMonthIntervalType)
_QUOTED = frozenset(',"\r\n')


def select_readable(answer: DataFrame) -> DataFrame:
    """Return the rows with columns as texts that cannot be collected otherwise."""
    fields = answer.schema.fields
    if not any(isinstance(field.dataType, _AS_TEXT) for field in fields):
        return answer
    # By place, for two columns may have one name.
    places = [f"c{place}" for place in range(len(fields))]
    texts = [
        F.col(place).cast("string") if isinstance(field.dataType, _AS_TEXT) else place
        for place, field in zip(places, fields, strict=True)
    ]
    return answer.toDF(*places).select(*texts).toDF(*answer.columns)


def format_as_table(
    schema: StructType, rows: Sequence[Row], *, max_width: int = 0
) -> str:
    """Return rows in columns.

    Args:
        schema: Of the rows.
        rows: As Spark collects them.
        max_width: Longest cell before it is cut with "…"; 0: none is cut.
    """
    shown: list[list[object]] = [
        [
            _as_number(value, field.dataType)
            if isinstance(field.dataType, NumericType)
            else _as_text(value, field.dataType, " ")
            for value, field in zip(row, schema.fields, strict=True)
        ]
        for row in rows
    ]
    return format_table(schema.names, shown, max_width=max_width)


def iter_csv(schema: StructType, rows: Iterable[Row]) -> Iterator[str]:
    """Return the lines of a CSV file with a header (RFC 4180), their ends included.

    A null is an empty field, an empty text is `""`.
    """
    yield _join_csv(schema.names)
    for row in rows:
        yield _join_csv(
            [
                _as_text(value, field.dataType, "T")
                for value, field in zip(row, schema.fields, strict=True)
            ]
        )


def iter_json(schema: StructType, rows: Iterable[Row]) -> Iterator[str]:
    """Return one JSON object a row, each a line with its end (RFC 8259)."""
    for row in rows:
        yield f"{_as_json(row, schema)}\n"


def list_repeated(names: Sequence[str]) -> list[str]:
    """Return the names that stand more than once, which no JSON object can have."""
    return sorted({name for name in names if names.count(name) > 1})


class FirstRows:
    """The first rows of an answer, read as they are asked for."""

    def __init__(self, answer: DataFrame, limit: int | None) -> None:
        self._limit = limit
        limited = answer if limit is None else answer.limit(limit + 1)
        self._rows = select_readable(limited)
        self.schema = answer.schema
        self.is_cut = False
        """Whether there are more; known at the end."""

    def __iter__(self) -> Iterator[Row]:
        if self._limit is None:
            yield from self._rows.toLocalIterator()
            return
        rows = self._rows.collect()
        self.is_cut = len(rows) > self._limit
        yield from islice(rows, self._limit)


def format_rows(answer: DataFrame, *, limit: int | None, max_width: int = 0) -> str:
    """Return the first rows as a table and say how many there are.

    Args:
        limit: Most rows to print; all without one.
        max_width: Longest cell before it is cut; 0: none is.
    """
    first = FirstRows(answer, limit)
    rows = list(first)
    count = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    if first.is_cut:
        count = tell_cut(limit)
    table = format_as_table(first.schema, rows, max_width=max_width)
    return f"{table}\n({count})"


def tell_cut(limit: int | None) -> str:
    """Say that there are more rows."""
    return f"the first {limit} row{'' if limit == 1 else 's'}; --limit shows more"


def _join_csv(fields: Sequence[str | None]) -> str:
    return ",".join(map(_quote, fields)) + "\r\n"


def _quote(text: str | None) -> str:
    if text is None:
        return ""
    if text and _QUOTED.isdisjoint(text):
        return text
    escaped = text.replace('"', '""')
    return f'"{escaped}"'


def _as_text(value: object, kind: DataType, before_time: str) -> str | None:
    """Return a value outside of JSON; null for null."""
    if value is None:
        return None
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, datetime):
        return _show_moment(value, kind, before_time)
    if isinstance(kind, ArrayType | MapType | StructType):
        return _as_json(value, kind)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(_as_number(value, kind))


def _as_json(value: object, kind: DataType) -> str:
    """Return a value in JSON."""
    match value, kind:
        case None, _:
            return "null"
        case _, StructType():
            return _as_object(zip(kind.names, _parts_of(value, kind), strict=True))
        case dict(), MapType():
            return _as_object(
                (
                    _as_text(key, kind.keyType, "T") or "",
                    _as_json(one, kind.valueType),
                )
                for key, one in value.items()
            )
        case list(), ArrayType():
            return f"[{', '.join(_as_json(one, kind.elementType) for one in value)}]"
    return _as_json_scalar(value, kind)


def _as_json_scalar(value: object, kind: DataType) -> str:
    """Return what has no parts; numbers that JSON does not know are texts."""
    if isinstance(value, bytes | bytearray):
        return json.dumps(base64.b64encode(value).decode("ascii"))
    text = _as_text(value, kind, "T")
    is_bare = isinstance(value, int | float | Decimal) and math.isfinite(value)
    return text if is_bare and text else json.dumps(text, ensure_ascii=False)


def _parts_of(value: object, kind: StructType) -> Iterator[str]:
    if not isinstance(value, tuple):
        raise TypeError(f"a struct is a Row, not {type(value).__name__}")
    for part, field in zip(value, kind.fields, strict=True):
        yield _as_json(part, field.dataType)


def _as_object(pairs: Iterable[tuple[str, str]]) -> str:
    told = (f"{json.dumps(name, ensure_ascii=False)}: {one}" for name, one in pairs)
    return f"{{{', '.join(told)}}}"


def _as_number(value: object, kind: DataType) -> object:
    """Return a number as its digits; whatever else it is stays."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return Number("NaN" if math.isnan(value) else _INFINITIES[value > 0])
        return Number(_as_single(value) if isinstance(kind, FloatType) else value)
    return Number(f"{value:f}") if isinstance(value, Decimal) else value


def _as_single(value: float) -> str:
    """Return the digits of a single; the double that Python makes of it has more."""
    import numpy as np  # noqa: PLC0415 - a tenth of a second, for queries with singles

    return str(np.float32(value))


_INFINITIES = ("-Infinity", "Infinity")


def _show_moment(value: datetime, kind: DataType, before_time: str) -> str:
    if not isinstance(kind, TimestampType):
        return value.isoformat(before_time)
    # Spark gives the moment in this machine's zone, and does not say so.
    moment = value.astimezone(UTC).replace(tzinfo=None)
    return f"{moment.isoformat(before_time)}Z"


Writer = Callable[[StructType, Iterable[Row]], Iterator[str]]
WRITERS: dict[str, Writer] = {CSV: iter_csv, JSON: iter_json}
"""Formats that need not know all rows before the first is written."""
