"""The answer to a query as table, CSV and JSON."""

import csv
import io
import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from pyspark.sql import Row
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pipelines.reading.query_results import (
    format_as_table,
    iter_csv,
    iter_json,
    list_repeated,
)

INNER = StructType().add("at", TimestampType()).add("b", BinaryType())
MOMENT = datetime(2026, 3, 1, 6, tzinfo=UTC)
LOCAL = MOMENT.astimezone().replace(tzinfo=None)
"""As PySpark gives it: in the zone of this machine, which it does not say."""

CASES = [
    # type, value, in a table, in CSV, in JSON
    (TimestampType(), LOCAL, "2026-03-01 06:00:00Z", "2026-03-01T06:00:00Z", None),
    (
        TimestampType(),
        LOCAL + timedelta(microseconds=1),
        "2026-03-01 06:00:00.000001Z",
        "2026-03-01T06:00:00.000001Z",
        None,
    ),
    (
        TimestampType(),
        MOMENT.astimezone(timezone(timedelta(hours=9))),
        "2026-03-01 06:00:00Z",
        "2026-03-01T06:00:00Z",
        None,
    ),
    (
        TimestampNTZType(),
        datetime(2026, 3, 1, 6),  # noqa: DTZ001 - it has none
        "2026-03-01 06:00:00",
        "2026-03-01T06:00:00",
        None,
    ),
    (DateType(), date(2026, 3, 1), "2026-03-01", "2026-03-01", None),
    (DoubleType(), 0.00001, "1e-05", "1e-05", 1e-05),
    (DoubleType(), 0.1 + 0.2, "0.30000000000000004", "0.30000000000000004", 0.1 + 0.2),
    (FloatType(), 0.10000000149011612, "0.1", "0.1", 0.1),
    (DoubleType(), float("nan"), "NaN", "NaN", "NaN"),
    (DoubleType(), float("inf"), "Infinity", "Infinity", "Infinity"),
    (DoubleType(), float("-inf"), "-Infinity", "-Infinity", "-Infinity"),
    (DecimalType(9, 5), Decimal("0.00001"), "0.00001", "0.00001", 0.00001),
    (LongType(), 2**62, str(2**62), str(2**62), 2**62),
    (BooleanType(), True, "true", "true", True),
    (BinaryType(), bytearray(b"\x00\xff"), "00ff", "00ff", "AP8="),
    (StringType(), None, "-", "", None),
    (StringType(), "", "", '""', ""),
    (StringType(), 'a "b",\nc', 'a "b", c', '"a ""b"",\nc"', 'a "b",\nc'),
    (StringType(), "\u00fc", "\u00fc", "\u00fc", "\u00fc"),
    (
        MapType(StringType(), ArrayType(LongType())),
        {"a": [1, None]},
        '{"a": [1, null]}',
        '"{""a"": [1, null]}"',
        {"a": [1, None]},
    ),
    (
        INNER,
        Row(at=LOCAL, b=None),
        '{"at": "2026-03-01T06:00:00Z", "b": null}',
        '"{""at"": ""2026-03-01T06:00:00Z"", ""b"": null}"',
        {"at": "2026-03-01T06:00:00Z", "b": None},
    ),
]


@pytest.mark.parametrize(("kind", "value", "shown", "field", "decoded"), CASES)
def test_a_value_in_each_format(kind, value, shown, field, decoded):
    schema = StructType().add("name", kind)
    rows = [Row(name=value)]
    table = [line.strip() for line in format_as_table(schema, rows).splitlines()[2:]]
    assert table == ([shown] if shown else [])
    assert "".join(iter_csv(schema, rows)) == f"name\r\n{field}\r\n"
    (line,) = iter_json(schema, rows)
    texts = TimestampType | TimestampNTZType | DateType
    expected = field if isinstance(kind, texts) else decoded
    assert json.loads(line) == {"name": expected}
    assert line.count("\n") == 1


def test_programs_read_csv_back():
    schema = StructType().add("a", StringType()).add('b,"', LongType())
    rows = [Row("x\r\ny", 1), Row('"', None)]
    read = list(csv.reader(io.StringIO("".join(iter_csv(schema, rows)), newline="")))
    assert read == [["a", 'b,"'], ["x\r\ny", "1"], ['"', ""]]


def test_nothing_is_cut_but_where_a_width_is_said():
    schema = StructType().add("a", StringType())
    rows = [Row("x" * 300)]
    assert "x" * 300 in format_as_table(schema, rows)
    assert "x" * 300 in "".join(iter_csv(schema, rows))
    assert format_as_table(schema, rows, max_width=9).splitlines()[2] == "xxxxxxxx…"


def test_numbers_stand_right():
    schema = StructType().add("number", DoubleType())
    table = format_as_table(schema, [Row(0.5), Row(float("nan")), Row(None)])
    assert table.splitlines()[2:] == ["   0.5", "   NaN", "     -"]


def test_names_that_no_object_can_hold_are_found():
    assert list_repeated(["a", "b", "a"]) == ["a"]
    assert list_repeated(["a", "b"]) == []
