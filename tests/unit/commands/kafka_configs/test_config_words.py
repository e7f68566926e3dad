"""Configs and numbers; the rest stands in tests/golden/admin, as Kafka's tool has it."""

import math

import pytest

from pipelines.commands.kafka_configs.config_words import (
    read_additions,
    read_double,
    show_double,
)
from pipelines.commands.kafka_configs.options import Misuse


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("a=1,b=2", {"a": "1", "b": "2"}),
        ("a=[1,2],b=[3]", {"a": "1,2", "b": "3"}),
        ("a=[k=v,l=w]", {"a": "k=v,l=w"}),
        (" a = 1 ,b=", {"a": "1", "b": ""}),
        ("a=1,a=2", {"a": "2"}),
        ("a=1,,", {"a": "1"}),
    ],
)
def test_configs_are_taken_apart_as_kafkas_tool_does(words, found):
    assert read_additions(words, None) == found


@pytest.mark.parametrize("words", ["", ",", "a", "a=b=c", "a=1,,b=2", "a=1,b"])
def test_what_is_no_pair_is_refused_without_its_value(words):
    with pytest.raises(Misuse, match="requirement failed") as caught:
        read_additions(words, None)
    assert "b=c" not in str(caught.value)


def test_a_file_has_the_same_rules_for_keys(tmp_path):
    path = tmp_path / "limits.properties"
    path.write_text("a = [1,2]\nb: x\n")
    assert read_additions(None, str(path)) == {"a": "[1,2]", "b": "x"}
    path.write_text("a\\ b=1\n")
    with pytest.raises(Misuse, match="Invalid character found for config key: a b"):
        read_additions(None, str(path))
    with pytest.raises(Misuse, match=r"gone: cannot be read \(No such file"):
        read_additions(None, "gone")


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1.0), (" 1.5e3\t", 1500.0), ("1.", 1.0), (".5", 0.5), ("-2D", -2.0),
     ("1e2f", 100.0), ("0x1p4", 16.0), ("0X.8P1d", 1.0), ("Infinity", math.inf),
     ("-Infinity", -math.inf), ("1e999", math.inf), ("0x1p99999", math.inf),
     ("-0x1p99999", -math.inf)],
)  # fmt: skip
def test_numbers_are_read_as_java_reads_them(text, number):
    assert read_double(text) == number


def test_no_number_is_one_of_java_too():
    assert math.isnan(read_double("+NaN"))


@pytest.mark.parametrize(
    "text", ["", "abc", "inf", "nan", "1_000", "1,5", "e5", ".", "0x1", "1 2", "\u0661"]
)
def test_what_python_alone_takes_for_a_number_is_none(text):
    assert read_double(text) is None


@pytest.mark.parametrize(
    ("number", "text"),
    [(50000, "50000.0"), (0.0, "0.0"), (-0.0, "-0.0"), (9999999.5, "9999999.5"),
     (1e7, "1.0E7"), (123456789012, "1.23456789012E11"), (0.001, "0.001"),
     (0.0005, "5.0E-4"), (-1.5e-7, "-1.5E-7"), (1.7976931348623157e308, "1.7976931348623157E308"),
     (100, "100.0"), (1200000000, "1.2E9"), (math.inf, "Infinity"), (-math.inf, "-Infinity"),
     (math.nan, "NaN")],
)  # fmt: skip
def test_numbers_are_printed_as_java_prints_them(number, text):
    assert show_double(float(number)) == text
