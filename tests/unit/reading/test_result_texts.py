"""What jobs print in the end says what was done, also where nothing was."""

from datetime import UTC, datetime

from pipelines.jobs.replay.results import (
    Differences,
    ReplayResult,
    describe,
    format_result,
)
from pipelines.time_ranges import TimeRange

SPAN = TimeRange(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
RESULT = ReplayResult(
    pushes=9,
    differences={
        "client_metrics": Differences(pushes=2, stored_rows=1, fresh_rows=40),
        "quarantine": Differences(),
    },
)


def test_a_dry_run_says_what_would_be_written_and_that_nothing_was():
    assert format_result(RESULT, SPAN, is_dry_run=True).splitlines() == [
        f"{SPAN}: decoded 9 pushes again",
        "client_metrics: would replace 1 row of 2 pushes by 40 decoded anew",
        "quarantine: every push has the rows that the decoder gives",
        "nothing was written, for this was a dry run",
    ]


def test_a_replay_says_what_it_replaced():
    lines = format_result(RESULT, SPAN, is_dry_run=False).splitlines()
    assert lines[1] == "client_metrics: replaced 1 row of 2 pushes by 40 decoded anew"
    assert len(lines) == 3


def test_a_part_of_a_replay_says_how_many_pushes_it_had():
    found = {"client_pushes": Differences(pushes=1, stored_rows=1, fresh_rows=1)}
    assert describe(found, 1) == "1 push, client_pushes: 1 differs (1 row, decoded 1)"
    assert describe({}, 2000) == "2,000 pushes, nothing differs"
