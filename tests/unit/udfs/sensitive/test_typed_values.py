"""Typed values, one at a time and over columns; Java's own answers are asked elsewhere."""

import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.configs.value_columns import INVALID_VALUE, VALUE_TYPE, type_values
from udfs.sensitive.sensitive_key_rules import CONFIG_TYPE_NAMES
from udfs.sensitive.typed_values import (
    INVALID,
    is_plainly_typed,
    is_same_value,
    parse_value,
)

COLUMNS = {
    "BOOLEAN": "value_boolean", "INT": "value_long", "SHORT": "value_long",
    "LONG": "value_long", "DOUBLE": "value_double", "LIST": "value_list",
}  # fmt: skip


@pytest.mark.parametrize(
    ("type_name", "text", "expected"),
    [
        ("BOOLEAN", " TRUE\n", True),
        ("BOOLEAN", "False", False),
        ("BOOLEAN", "yes", INVALID),
        ("BOOLEAN", "", INVALID),
        ("INT", "+5 ", 5),
        ("INT", "-2147483648", -(2**31)),
        ("INT", "2147483648", INVALID),
        ("INT", "1_000", INVALID),
        ("INT", "1.0", INVALID),
        ("INT", "+-1", INVALID),
        ("INT", "\u0661\u0662", 12),
        ("INT", "0" * 5_000 + "7", 7),
        ("INT", "9" * 5_000, INVALID),
        ("SHORT", "32767", 32_767),
        ("SHORT", "32768", INVALID),
        ("LONG", "-9223372036854775808", -(2**63)),
        ("LONG", "9223372036854775808", INVALID),
        ("DOUBLE", "1.5d", 1.5),
        ("DOUBLE", "1e999", math.inf),
        ("DOUBLE", "0x1.8p1", 3.0),
        ("DOUBLE", "0x1p9999", math.inf),
        ("DOUBLE", "-0x1p9999", -math.inf),
        ("DOUBLE", "-Infinity", -math.inf),
        ("DOUBLE", "inf", INVALID),
        ("DOUBLE", "1.5dd", INVALID),
        ("DOUBLE", "", INVALID),
        ("LIST", " ", ()),
        ("LIST", " a , b,, c ", ("a", "b", "", "c")),
        ("LIST", ",", ("", "")),
        ("STRING", " a b\t", "a b"),
        ("STRING", "\u00a0a", "\u00a0a"),
        ("CLASS", " com.acme.Missing", "com.acme.Missing"),
        ("PASSWORD", "hunter2", None),
        ("NEW_TYPE", " 5 ", " 5 "),
        ("", "", ""),
    ],
)
def test_a_text_is_the_value_of_its_type(type_name, text, expected):
    value = parse_value(type_name, text)
    assert value == expected
    assert type(value) is type(expected)


def test_a_double_that_is_not_a_number_is_one():
    assert math.isnan(parse_value("DOUBLE", "NaN"))
    assert parse_value("DOUBLE", "nan") is INVALID


@pytest.mark.parametrize(
    ("type_name", "text", "other", "expected"),
    [
        ("INT", "5", " +05", True),
        ("BOOLEAN", "true", "TRUE", True),
        ("DOUBLE", "1e1", "10.0", True),
        ("DOUBLE", "NaN", " NaN", True),
        ("DOUBLE", "0.0", "-0.0", False),
        ("LIST", "a,b", "a , b", True),
        ("LIST", "a,b", "b,a", False),
        ("STRING", "a", "a ", True),
        ("STRING", "a", "A", False),
        ("INT", "x", "y", False),
        ("INT", "x", "x", True),
        ("PASSWORD", "a", "b", False),
        ("NEW_TYPE", "1", "01", False),
    ],
)
def test_values_are_compared_by_their_types(type_name, text, other, expected):
    assert is_same_value(type_name, text, other) is expected
    assert is_same_value(type_name, other, text) is expected


def test_parsing_takes_linear_time():
    for text in (
        "1" * 200_000 + "x",
        "1." * 100_000,
        "0x" + "a" * 200_000,
        " ," * 100_000,
    ):
        for type_name in CONFIG_TYPE_NAMES:
            parse_value(type_name, text)


def type_column(rows):
    values = pa.array([row[0] for row in rows], pa.string())
    types = pa.array([row[1] for row in rows], pa.string())
    typed = type_values(values, types)
    as_codes = type_values(values.dictionary_encode(), types.dictionary_encode())
    # Not by equals(): to Arrow, a NaN is not a NaN.
    assert repr(as_codes.to_pylist()) == repr(typed.to_pylist())
    assert typed.type == VALUE_TYPE
    return typed.to_pylist()


def expect(text, type_name):
    row = dict.fromkeys(VALUE_TYPE.names)
    if text is None:
        return row
    value = parse_value(type_name or "", text)
    if value is INVALID:
        return row | {"value_error": INVALID_VALUE}
    if isinstance(value, tuple):
        value = list(value)
    return row | {COLUMNS.get(type_name, "value_string"): value}


texts = st.one_of(
    st.none(), st.text(max_size=8),
    st.sampled_from(["", " ", "5", " 5 ", "-1", "true", "FALSE ", "1.5", "NaN", "a, b"]),
    st.text("0123456789.eE+-xp, \t\x00", max_size=8),
)  # fmt: skip
type_texts = st.one_of(
    st.sampled_from(CONFIG_TYPE_NAMES), st.sampled_from(["", "NEW"]), st.none()
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(texts, type_texts), max_size=30))
def test_a_column_is_typed_as_its_values_are_one_by_one(rows):
    assert repr(type_column(rows)) == repr([expect(*row) for row in rows])


def test_no_rows_are_no_values():
    assert type_column([]) == []


def test_one_bad_value_does_not_touch_its_neighbours():
    rows = [
        ("1", "INT"),
        ("one", "INT"),
        (None, "INT"),
        ("x", "PASSWORD"),
        ("2", "INT"),
    ]
    typed = type_column(rows)
    assert [one["value_long"] for one in typed] == [1, None, None, None, 2]
    assert [one["value_error"] for one in typed] == [
        None,
        INVALID_VALUE,
        None,
        None,
        None,
    ]


def test_a_slice_of_a_column_is_typed_as_what_it_shows():
    values, types = pa.array(["1", "2", "x"]).slice(1), pa.array(["INT", "STRING"])
    typed = type_values(values, types).to_pylist()
    assert (typed[0]["value_long"], typed[1]["value_string"]) == (2, "x")


@pytest.mark.parametrize(
    ("type_name", "text", "is_plain"),
    [
        ("INT", " 5", True),
        ("DOUBLE", "-2.2250738585072014E-308", True),
        ("DOUBLE", "NaN", True),
        ("DOUBLE", "0x1.8p1", False),
        ("INT", "0" * 24 + "7", False),
        ("INT", "\u0661", False),
        ("BOOLEAN", "fal\u017fe", False),
        ("BOOLEAN", "FALSE", True),
        ("STRING", "5", False),
        ("", "5", False),
    ],
)
def test_is_plainly_typed_accepts_only_short_ascii_numbers(type_name, text, is_plain):
    assert is_plainly_typed(type_name, text) is is_plain
