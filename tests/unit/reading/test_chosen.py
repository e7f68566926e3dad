"""What widgets of notebooks say, and what they may not."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.errors import InvalidSetting
from pipelines.reading.chosen import choose

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("24h", "", (NOW - timedelta(hours=24), NOW)),
        (" 90m ", "2026-03-01T06:00", (NOW - timedelta(hours=7.5), NOW - timedelta(hours=6))),
        ("2026-02-27", "", (datetime(2026, 2, 27, tzinfo=UTC), NOW)),
        ("7d", "2026-03-01T07:00+01:00", (NOW - timedelta(days=7, hours=6), NOW - timedelta(hours=6))),
    ],
)  # fmt: skip
def test_a_time_is_a_span_or_moments(since, until, expected):
    picked = choose(now=NOW, since=since, until=until)
    assert (picked.since, picked.until) == expected


@pytest.mark.parametrize(
    ("since", "until", "reason"),
    [
        ("yesterday", "", "widget since: 'yesterday' is no moment .* a span such as 24h"),
        ("24h", "24h", "widget until: '24h' is no moment"),
        ("2026-03-02", "", "widget since: '2026-03-02' is not before until"),
        ("", "", "widget since: '' is no moment"),
    ],
)  # fmt: skip
def test_a_time_that_is_none_is_named(since, until, reason):
    with pytest.raises(InvalidSetting, match=reason):
        choose(now=NOW, since=since, until=until)
