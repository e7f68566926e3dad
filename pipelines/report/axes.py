"""The time that lines and pictures cover, fitted to the pushes that there are."""

from datetime import UTC, datetime, timedelta

from pipelines.reading.push_times import PushTimes
from pipelines.tables.telemetry import IDLE_AFTER_INTERVALS

from .fleet import TimeAxis

_MOST_STEPS = 48
"""Points of a line over time: half an hour each of a day."""
_MARGIN = 20
"""The axis begins one such part of its time before the first push."""
_SECOND = timedelta(seconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def fit_axis(since: datetime, made_at: datetime, pushes: PushTimes) -> TimeAxis:
    """Return an axis that begins before the first push and ends with the pushes.

    Pushes that stopped earlier end the axis as soon as their clients count as idle. A
    step is not shorter than the usual push interval: each client has a point in it. It
    begins with a whole step since 1970, as the windows of roll-ups do.
    """
    start, end = since, made_at
    interval = timedelta(milliseconds=pushes.interval_ms or 0)
    if pushes.first is not None and pushes.newest is not None:
        end = min(made_at, pushes.newest + (IDLE_AFTER_INTERVALS + 1) * interval)
        end = max(end, pushes.first + interval)
        margin = max((end - pushes.first) / _MARGIN, interval)
        start = max(since, pushes.first - margin)
    step = _whole_seconds(max(interval, (end - start) / _MOST_STEPS))
    start -= (start - _EPOCH) % step
    steps = -((start - end) // step)
    return TimeAxis(start=start, end=start + steps * step, steps=steps)


def _whole_seconds(span: timedelta) -> timedelta:
    """Return the next whole number of seconds, at least one."""
    return max(1, -(-span // _SECOND)) * _SECOND
