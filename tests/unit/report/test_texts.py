"""Texts that clients chose are shown so that none hides another."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from pipelines.report.packing import name_client, round_number
from pipelines.report.texts import (
    LONGEST_TEXT,
    show,
    show_age,
    show_sentence,
    show_text,
    split_sources,
)


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


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-5, "0 s"), (45, "45 s"), (420, "7 min"), (3_600, "1 h"), (12_000, "3 h 20 min"),
     (86_400, "1 day"), (200_000, "2 days")],
)  # fmt: skip
def test_age_is_shown_in_its_largest_units(seconds, shown):
    assert show_age(timedelta(seconds=seconds)) == shown


def test_sentence_is_whole_but_for_names_that_no_product_would_write():
    sentence = "word " * 300
    assert show_sentence(sentence) == sentence
    shown = show_sentence(f"before {'n' * 900} after\u202e")
    assert shown.startswith("before nnn")
    assert "n" * (LONGEST_TEXT + 1) not in shown
    assert " after" in shown
    assert shown.isprintable()
    assert len(show_sentence("word " * 64_000)) < 5_000


@pytest.mark.parametrize(
    ("source", "addresses"),
    [
        ("KIP-55; Kafka's documentation", ["proposals#:~:text=kip-55:"]),
        ("KAFKA-19747; librdkafka #5106", ["browse/kafka-19747", "issues/5106"]),
        ("librdkafka issue 4438", ["issues/4438"]),
        ("CONFIGURATION.md of librdkafka", ["master/configuration.md"]),
        ("upgrade notes of Kafka 3.0.0", []),
    ],
)
def test_sources_have_the_addresses_of_their_documents(source, addresses):
    parts = list(split_sources(source))
    assert "".join(text for text, _ in parts) == source
    found = [address.lower() for _, address in parts if address]
    assert len(found) == len(addresses)
    for address, end in zip(found, addresses, strict=True):
        assert address.startswith("https://")
        assert address.endswith(end)
