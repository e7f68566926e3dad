"""Ranges of time are half-open, in UTC, and cut without a gap."""

from datetime import UTC, date, datetime, timedelta

import pytest

from pipelines.commands import COMMANDS_BY_NAME, parse_words
from pipelines.time_ranges import Held, TimeRange, cut_by_count, parse_moment

MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
DAY = TimeRange(MIDNIGHT, MIDNIGHT + timedelta(days=1))
HOUR_US = 3_600_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01", MIDNIGHT),
        ("2026-03-01T06:30", MIDNIGHT + timedelta(hours=6, minutes=30)),
        ("2026-03-01T01:00:00+01:00", MIDNIGHT),
        ("2026-03-01T00:00:00Z", MIDNIGHT),
    ],
)
def test_a_moment_is_utc_unless_it_says_otherwise(text, expected):
    assert parse_moment(text) == expected
    assert parse_moment(text).tzinfo is UTC


@pytest.mark.parametrize("text", ["", "yesterday", "0001-01-01T00:00+10:00", "1e9"])
def test_what_is_no_moment_is_refused(text):
    with pytest.raises(ValueError, match=r"Invalid isoformat|0001-01-01"):
        parse_moment(text)


def test_a_range_has_the_dates_that_it_touches():
    assert list(DAY.dates) == [date(2026, 3, 1)]
    longer = TimeRange(
        MIDNIGHT - timedelta(microseconds=1), DAY.end + timedelta(hours=1)
    )
    assert list(longer.dates) == [date(2026, 2, 28), date(2026, 3, 1), date(2026, 3, 2)]
    assert longer.within(date(2026, 3, 1)) == DAY
    assert str(DAY) == "2026-03-01T00:00:00Z to 2026-03-02T00:00:00Z"


@pytest.mark.parametrize(
    ("counts", "hours", "held"),
    [
        ([], [], []),
        ([5], [(0, 24)], [5]),
        ([5, 5, 1], [(0, 2), (2, 24)], [10, 1]),
        ([99, 1, 9], [(0, 1), (1, 24)], [99, 10]),
        ([1, 99, 1], [(0, 1), (1, 2), (2, 24)], [1, 99, 1]),
    ],
    ids=["nothing", "one", "full", "one above the limit", "one in the middle"],
)
def test_parts_follow_each_other_and_hold_what_they_may(counts, hours, held):
    start = DAY.start_us
    parts = cut_by_count(
        DAY,
        [Held(start + i * HOUR_US, count, 0) for i, count in enumerate(counts)],
        *(10, 100),
    )
    edges = [
        TimeRange(MIDNIGHT + timedelta(hours=a), MIDNIGHT + timedelta(hours=b))
        for a, b in hours
    ]
    assert parts == list(zip(edges, held, strict=True))


def test_parts_are_bounded_in_bytes_as_well():
    held = [
        Held(DAY.start_us + hour * HOUR_US, 1, size_bytes)
        for hour, size_bytes in enumerate((60, 40, 1, 500, 99))
    ]
    parts = cut_by_count(DAY, held, 10, 100)
    begin = [part.start - MIDNIGHT for part, _ in parts]
    assert begin == [timedelta(hours=hour) for hour in (0, 2, 3, 4)]
    assert [count for _, count in parts] == [2, 1, 1, 1]


@pytest.mark.parametrize(
    "words",
    [
        ["replay_pushes", "--from", "2026-03-01T06:00+01:00", "--to", "2026-03-02"],
        ["purge_secrets", "--dry-run"],
        ["maintain_tables", "--set", "a.b=1", "--set", "a.c=2", "--env", "cluster"],
        ["client_telemetry_to_delta", "--once"],
    ],
)
def test_words_for_the_driver_mean_what_the_users_meant(words):
    arguments = parse_words(words)
    again = COMMANDS_BY_NAME[words[0]].words_of(arguments)
    meant = {k: v for k, v in vars(arguments).items() if k != "parser"}
    found = vars(parse_words([words[0], *again]))
    assert {k: found[k] for k in meant} == meant
