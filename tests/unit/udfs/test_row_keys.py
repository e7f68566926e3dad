"""Rows are compared by their keys, nulls included."""

import pyarrow as pa
import pytest

from udfs.row_keys import (
    filter_known,
    filter_unknown,
    find_equal,
    find_places,
    number_keys,
    select_distinct,
    take_beside,
)

SCHEMA = pa.schema([("a", pa.string()), ("b", pa.int64())])
KEY = SCHEMA.names


def table(*rows):
    return pa.Table.from_pylist(
        [dict(zip(KEY, row, strict=True)) for row in rows], SCHEMA
    )


ROWS = table(("x", 1), (None, 1), ("", 1), ("x", None), ("y", 2))
OTHERS = table(("y", 1), (None, 1), ("x", 1), (None, 1), ("x", None))


def test_places_are_of_the_first_equal_key():
    assert find_places(ROWS, OTHERS, KEY).tolist() == [2, 1, -1, 4, -1]


def test_rows_without_an_equal_key_have_nulls_beside_them():
    beside = take_beside(OTHERS, find_places(ROWS, OTHERS, KEY))
    assert beside.column("b").to_pylist() == [1, 1, None, None, None]


def test_rows_are_kept_by_whether_others_have_their_key():
    assert filter_known(ROWS, OTHERS, KEY).column("a").to_pylist() == ["x", None, "x"]
    assert filter_unknown(ROWS, OTHERS, KEY).column("a").to_pylist() == ["", "y"]


@pytest.mark.parametrize("rows", [ROWS, table()], ids=["some", "none"])
def test_keys_of_empty_tables_are_in_none(rows):
    assert filter_known(rows, table(), KEY).num_rows == 0
    assert filter_unknown(table(), rows, KEY).num_rows == 0
    assert filter_unknown(rows, table(), KEY) == rows


def test_numbers_follow_the_first_appearance_and_the_chunks_of_all_tables():
    chunks = pa.concat_tables([OTHERS.slice(0, 2), OTHERS.slice(2)])
    numbers, others = number_keys([ROWS, chunks], KEY)
    assert numbers.tolist() == [0, 1, 2, 3, 4]
    assert others.tolist() == [5, 1, 0, 1, 3]


def test_distinct_keys_keep_their_order():
    found = select_distinct(OTHERS, ["a"])
    assert found.to_pylist() == [{"a": "y"}, {"a": None}, {"a": "x"}]


@pytest.mark.parametrize(
    ("values", "others", "expected"),
    [
        (["a", None, "b", None], ["a", "a", "c", None], [True, False, False, True]),
        ([["a", "b"], [], None], [["a", "b"], ["a"], None], [True, False, True]),
        ([["a", "b"]], [["ab"]], [False]),
        ([1.5, None], [1.5, 0.0], [True, False]),
    ],
)
def test_columns_agree_value_by_value(values, others, expected):
    arrays = pa.array(values), pa.array(others)
    assert find_equal(*arrays).tolist() == expected
