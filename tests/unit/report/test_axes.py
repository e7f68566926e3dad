"""The time axis of a report fits the pushes that there are."""

from datetime import UTC, datetime, timedelta

from pipelines.reading.push_times import PushTimes
from pipelines.report.axes import fit_axis

MADE_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
SINCE = MADE_AT - timedelta(hours=24)


def minutes(number):
    return timedelta(minutes=number)


def make_times(first, newest, interval_ms=60_000):
    return PushTimes(
        first=MADE_AT - minutes(first),
        newest=MADE_AT - minutes(newest),
        interval_ms=interval_ms,
    )


def test_fit_axis_twelve_minutes_of_pushes_covers_them_only():
    axis = fit_axis(SINCE, MADE_AT, make_times(12, 0))
    assert axis.start == MADE_AT - minutes(13)
    assert axis.end == MADE_AT
    # Each client pushes once in a step.
    assert (axis.steps, axis.step_ms) == (13, 60_000)


def test_fit_axis_pushes_before_since_begins_at_since():
    axis = fit_axis(SINCE, MADE_AT, make_times(24 * 60, 0))
    assert (axis.start, axis.end, axis.steps) == (SINCE, MADE_AT, 48)


def test_fit_axis_stopped_pushes_ends_when_clients_are_idle():
    axis = fit_axis(SINCE, MADE_AT, make_times(612, 600))
    assert axis.end == MADE_AT - minutes(596)
    assert axis.start == MADE_AT - minutes(613)
    assert (axis.steps, axis.step_ms) == (17, 60_000)


def test_fit_axis_no_push_covers_time_since():
    axis = fit_axis(SINCE, MADE_AT, PushTimes())
    assert (axis.start, axis.end, axis.steps) == (SINCE, MADE_AT, 48)


def test_fit_axis_single_push_has_a_step():
    axis = fit_axis(SINCE, MADE_AT, make_times(0, 0))
    assert axis.start < MADE_AT < axis.end
    assert axis.steps >= 1


def test_fit_axis_steps_are_whole_as_windows_are():
    off = timedelta(seconds=13)
    axis = fit_axis(SINCE + off, MADE_AT + off, make_times(24 * 60, 0))
    assert (axis.start, axis.step_ms) == (SINCE, 1_800_000)
    assert (axis.end, axis.steps) == (MADE_AT + minutes(30), 49)
