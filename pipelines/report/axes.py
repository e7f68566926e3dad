"""The time that lines and pictures cover, fitted to the pushes that there are."""

from datetime import datetime, timedelta

from pipelines.reading.push_times import PushTimes
from pipelines.tables.telemetry import IDLE_AFTER_INTERVALS

from .fleet import TimeAxis

_MOST_STEPS = 48
"""Points of a line over time: half an hour each of a day."""
_MARGIN = 20
"""The axis begins one such part of its time before the first push."""


def fit_axis(since: datetime, made_at: datetime, pushes: PushTimes) -> TimeAxis:
    """Return an axis that begins before the first push and ends with the pushes.

    Pushes that stopped earlier end the axis as soon as their clients count as idle. A
    step is not shorter than the usual push interval: each client has a point in it.
    """
    if pushes.first is None or pushes.newest is None:
        return TimeAxis(start=since, end=made_at, steps=_MOST_STEPS)
    interval = timedelta(milliseconds=pushes.interval_ms or 0)
    end = min(made_at, pushes.newest + (IDLE_AFTER_INTERVALS + 1) * interval)
    end = max(end, pushes.first + interval)
    start = max(since, pushes.first - max((end - pushes.first) / _MARGIN, interval))
    step = max(interval, timedelta(milliseconds=1))
    steps = min(_MOST_STEPS, max(1, (end - start) // step))
    return TimeAxis(start=start, end=end, steps=steps)
