"""Rates, averages and maxima over Kafka's windows; the clock comes in as a number.

Strategy: as Kafka has it, a few samples, of which each takes what is recorded in a
window that begins with its first record. What ended too long ago is forgotten when
somebody looks, so nothing has to tick.
Source: Kafka, SampledStat.java, Rate.java, Avg.java, Max.java (4.3).
"""

import math
from collections import deque
from dataclasses import dataclass

WINDOW_S = 30.0
"""Kafka's default of metrics.sample.window.ms."""
SAMPLES = 2
"""Kafka's default of metrics.num.samples."""
_MIN_RATE_S = 0.001


@dataclass(slots=True)
class _Sample:
    begins_s: float
    ends_s: float
    """When the last one was recorded."""
    events: int = 0
    total: float = 0.0
    greatest: float = -math.inf


class SampledStat:
    """What was recorded in the last windows."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        # One more than count, since a sample is kept while a part of it does.
        self._samples: deque[_Sample] = deque(maxlen=SAMPLES + 1)

    def record(self, value: float, now_s: float) -> None:
        """Take one value."""
        newest = self._samples[-1] if self._samples else None
        if newest is None or now_s - newest.begins_s >= WINDOW_S:
            newest = _Sample(now_s, now_s)
            self._samples.append(newest)
        newest.ends_s = now_s
        newest.events += 1
        newest.total += value
        newest.greatest = max(newest.greatest, value)

    def event_rate(self, now_s: float) -> float:
        """Return how many were recorded per second."""
        return sum(one.events for one in self._recent(now_s)) / self._seconds(now_s)

    def total_rate(self, now_s: float) -> float:
        """Return the sum of what was recorded, per second."""
        return sum(one.total for one in self._recent(now_s)) / self._seconds(now_s)

    def average(self, now_s: float) -> float:
        """Return the mean of what was recorded.

        Nulls: NaN where nothing was.
        """
        recent = self._recent(now_s)
        events = sum(one.events for one in recent)
        return sum(one.total for one in recent) / events if events else math.nan

    def maximum(self, now_s: float) -> float:
        """Return the greatest value.

        Nulls: NaN where nothing was recorded.
        """
        return max((one.greatest for one in self._recent(now_s)), default=math.nan)

    def _recent(self, now_s: float) -> deque[_Sample]:
        while self._samples and now_s - self._samples[0].ends_s >= SAMPLES * WINDOW_S:
            self._samples.popleft()
        return self._samples

    def _seconds(self, now_s: float) -> float:
        """Return the time that a rate is over: all windows but the newest, at least."""
        recent = self._recent(now_s)
        elapsed_s = now_s - recent[0].begins_s if recent else 0.0
        lacking = max(SAMPLES - 1 - int(elapsed_s // WINDOW_S), 0)
        return max(elapsed_s + lacking * WINDOW_S, _MIN_RATE_S)


class Meter:
    """A count since the start, and its rate over Kafka's windows."""

    __slots__ = ("_stat", "count")

    def __init__(self) -> None:
        self._stat = SampledStat()
        self.count = 0

    def add(self, number: int, now_s: float) -> None:
        """Count so many."""
        self.count += number
        self._stat.record(number, now_s)

    def rate(self, now_s: float) -> float:
        """Return how many were counted per second."""
        return self._stat.total_rate(now_s)
