"""Files for tables: what Spark and Delta read of them is what was written."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from udfs.files import table_files
from udfs.files.table_files import FileWriter, TableLayout, iter_rows

DAY = date(2026, 3, 1)
TIME = pa.timestamp("us", "UTC")


def layout(*columns, required=(), statistics=None, uncompressed=()):
    return TableLayout(
        table="things",
        columns=columns,
        required=frozenset(required),
        statistics=columns if statistics is None else statistics,
        uncompressed=frozenset(uncompressed),
    )


def write(made, *batches):
    writer = FileWriter(made, DAY)
    files = [file for batch in batches for file in writer.write(batch)]
    return [*files, *writer.end()]


def read(file):
    return pq.read_table(pa.BufferReader(file.content))


def statistics_of(column):
    batch = pa.record_batch({"x": column})
    [file] = write(layout("x"), batch)
    found = json.loads(file.statistics)
    bounds = found["minValues"].get("x"), found["maxValues"].get("x")
    return (*bounds, found["nullCount"]["x"])


def test_rows_come_back_with_dictionaries_of_several_batches_joined():
    plain = pa.array(["a", None, "b", "a"])
    batches = [
        pa.record_batch({"x": plain.dictionary_encode(), "n": pa.array([1, 2, 3, 4])}),
        pa.record_batch({"x": pa.array(["c"]).dictionary_encode(), "n": pa.array([5])}),
    ]
    [file] = write(layout("x", "n"), *batches)
    assert (file.table, file.event_date, file.row_count) == ("things", DAY, 5)
    assert read(file).to_pydict() == {
        "x": ["a", None, "b", "a", "c"],
        "n": [1, 2, 3, 4, 5],
    }


def test_rows_are_read_again_as_their_table_has_them(monkeypatch):
    monkeypatch.setattr(table_files, "READ_ROWS", 2)
    monkeypatch.setattr(table_files, "READ_BYTES", 1)
    [file] = write(
        layout("n", "x"), pa.record_batch({"n": [1, 2, 3], "x": list("abc")})
    )
    schema = pa.schema(
        {"x": pa.string(), "day": pa.date32(), "n": pa.int32(), "new": pa.float64()}
    )
    batches = list(iter_rows(file.content, pa.scalar(DAY), schema, "day"))
    assert [batch.num_rows for batch in batches] == [1, 1, 1]
    assert pa.Table.from_batches(batches).to_pylist() == [
        {"x": text, "day": DAY, "n": number, "new": None}
        for number, text in enumerate("abc", start=1)
    ]


def test_no_rows_make_no_file():
    assert write(layout("x")) == []
    assert write(layout("x"), pa.record_batch({"x": pa.array([], pa.int64())})) == []


def test_a_full_file_is_handed_out_and_the_next_one_begun(monkeypatch):
    monkeypatch.setattr(table_files, "ROW_GROUP_ROWS", 2)
    batch = pa.record_batch({"x": pa.array([1, 2])})
    files = write(replace(layout("x"), file_bytes=1), batch, batch, batch.slice(0, 1))
    assert [file.row_count for file in files] == [2, 2, 1]


def test_statistics_span_row_groups(monkeypatch):
    monkeypatch.setattr(table_files, "ROW_GROUP_ROWS", 1)
    batches = [pa.record_batch({"x": pa.array([n], pa.int64())}) for n in (3, None, 1)]
    [file] = write(layout("x"), *batches)
    assert json.loads(file.statistics) == {
        "numRecords": 3,
        "minValues": {"x": 1},
        "maxValues": {"x": 3},
        "nullCount": {"x": 1},
    }


def test_a_null_where_none_may_be_is_an_error():
    batch = pa.record_batch({"x": pa.array([1, None])})
    with pytest.raises(ValueError, match=r"things\.x must not be null"):
        write(layout("x", required=["x"]), batch)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([None, None], pa.string()), (None, None, 2)),
        (pa.array(["b" * 33, "b" * 32]), ("b" * 32, "b" * 32 + "\U0010ffff", 0)),
        (pa.array([2.5, -1.0]), (-1.0, 2.5, 0)),
        (pa.array([2.5, float("nan"), None]), (None, None, 1)),
        (pa.array([2.5, float("inf")]), (None, None, 0)),
        (
            pa.array([datetime(2026, 3, 1, 12, 0, 0, 1001, UTC)], TIME),
            ("2026-03-01T12:00:00.001Z", "2026-03-01T12:00:00.002Z", 0),
        ),
        (
            pa.array([datetime(2026, 3, 1, 12, 0, 0, 5000, UTC)], TIME),
            ("2026-03-01T12:00:00.005Z", "2026-03-01T12:00:00.005Z", 0),
        ),
    ],
    ids=["nulls", "long texts", "numbers", "NaN", "infinity", "cut time", "whole time"],
)
def test_bounds_hold_whatever_the_values(column, expected):
    assert statistics_of(column) == expected


def test_compressed_values_are_stored_as_they_are():
    batch = pa.record_batch(
        {"x": pa.array([b"z" * 1000]), "y": pa.array([b"z" * 1000])}
    )
    [file] = write(layout("x", "y", uncompressed=["x"], statistics=()), batch)
    group = pq.read_metadata(pa.BufferReader(file.content)).row_group(0)
    assert [group.column(i).compression for i in (0, 1)] == ["UNCOMPRESSED", "ZSTD"]


def test_nested_columns_are_compressed_and_come_back():
    kind = pa.struct(
        [("m", pa.map_(pa.string(), pa.string())), ("l", pa.list_(pa.int64()))]
    )
    rows = [{"m": [("k", "v")], "l": [1, 2]}, None]
    [file] = write(
        layout("x", statistics=()), pa.record_batch({"x": pa.array(rows, kind)})
    )
    assert read(file).column("x").to_pylist() == rows
    group = pq.read_metadata(pa.BufferReader(file.content)).row_group(0)
    assert {group.column(i).compression for i in range(3)} == {"ZSTD"}
