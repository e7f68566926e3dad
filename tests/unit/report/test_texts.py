"""Texts that clients chose are shown so that none hides another."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from pipelines.report.packing import name_client, round_number
from pipelines.report.texts import LONGEST_TEXT, show, show_text


@pytest.mark.parametrize("text", ["orders-1", "", "CN=a b, O=\u00fc", "<b>&\"'"])
def test_what_can_be_seen_stays_as_it_is(text):
    assert show_text(text) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a\u202eb", "a\u202db"),
        ("a\u200b", "a\u200c"),
        ("a\nb", "a\x00b"),
        ("x" * 300, "x" * 301),
    ],
)
def test_what_looks_alike_is_told_apart(one, other):
    shown = show_text(one), show_text(other)
    assert all(text.isprintable() and len(text) <= LONGEST_TEXT + 12 for text in shown)
    assert shown[0] != shown[1]
    assert show_text(one) == shown[0]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (3, 3),
        (float("nan"), None),
        (float("inf"), None),
        (["b", None, 2], "b, \N{EN DASH}, 2"),
        (
            datetime(2026, 3, 1, 1, tzinfo=timezone(timedelta(hours=1))),
            "2026-03-01 00:00:00",
        ),
        (datetime(2026, 3, 1, tzinfo=UTC).date(), "2026-03-01"),
    ],
)
def test_values_are_numbers_or_texts(value, shown):
    assert show(value) == shown


def test_numbers_keep_four_digits():
    values = [1234.5678, 0.00012345, 2.0, None, float("nan"), 7]
    assert [round_number(one) for one in values] == [1235, 0.0001234, 2, None, None, 7]


def test_a_client_has_one_name_and_no_other_client_has_it():
    names = {
        name_client("c", "User:a", client_id, kind)
        for client_id in (None, "", "a", "a\x00")
        for kind in (None, "producer", "consumer")
    }
    assert len(names) == 12
    assert all(len(one) == 12 and int(one, 16) >= 0 for one in names)
