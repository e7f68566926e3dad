"""One limit of a broker's: what was recorded lately, and how long that must rest.

Strategy: as Kafka has it, a rate over a few samples, of which each takes what is
recorded in a window that begins with its first record. The rate is over the time since
the oldest of them, at least over all windows but the newest: so a limit may be used up
for ten seconds at once. What is recorded beyond it is recorded all the same, and takes
the time that would bring the rate down to the limit.
A record is added to a total, and nothing more happens as long as that cannot be beyond
the limit whatever the samples say: few records are judged.
The clock comes in as a number. One that steps back counts as one that stands still.
Source: Kafka 4.3.1, SampledStat.java, Rate.java, QuotaUtils.java.
"""

import math
from dataclasses import dataclass

MAX_WAIT_MS = 2**31 - 1
"""What an answer can tell."""
_MS = 1_000
_SURELY = 1 - 1e-9
"""Sums are rounded; so near to its limit a rate is worked out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaWindows:
    """Which records count, in Kafka's words quota.window.num and its size."""

    samples: int = 11
    window_ms: int = 1_000

    @property
    def all_ms(self) -> int:
        """Milliseconds that records count for."""
        return self.samples * self.window_ms

    @property
    def least_ms(self) -> int:
        """Time that a rate is over at least."""
        return (self.samples - 1) * self.window_ms


@dataclass(slots=True)
class _Sample:
    began_ms: int
    heard_ms: int
    """When the last one was recorded."""
    value: float = 0.0


class QuotaRate:
    """What was recorded in the last windows, and the limit of it per second."""

    __slots__ = (
        "_current",
        "_free",
        "_limit",
        "_most_ms",
        "_place",
        "_samples",
        "_total",
        "_windows",
    )

    def __init__(
        self, limit: float, windows: QuotaWindows, *, most_ms: int | None = None
    ) -> None:
        """Begin with nothing recorded.

        Args:
            limit: Per second; greater than 0.
            windows: Which records count.
            most_ms: The longest wait; None is what an answer can tell.
        """
        self._windows = windows
        self._most_ms = MAX_WAIT_MS if most_ms is None else most_ms
        self._samples: list[_Sample] = []
        self._place = 0
        self._current: _Sample | None = None
        self._total = 0.0
        """Of all samples, those among them that are too old."""
        self.limit = limit

    @property
    def limit(self) -> float:
        """What is allowed per second; what was recorded stays when it changes."""
        return self._limit

    @limit.setter
    def limit(self, limit: float) -> None:
        self._limit = limit
        self._free = limit * self._windows.least_ms / _MS * _SURELY

    @property
    def total(self) -> float:
        """About what was recorded in the windows; cheap to look at."""
        return self._total

    def record(self, value: float, now_ms: int) -> int:
        """Take one value; return for how many milliseconds that was too much.

        Nulls: 0 where the rate is within its limit.
        """
        sample = self._current
        if sample is None:
            sample = self._advance(now_ms)
        else:
            # max() would take as long as all the rest.
            if now_ms < sample.heard_ms:  # noqa: PLR1730 - see above
                now_ms = sample.heard_ms
            if now_ms - sample.began_ms >= self._windows.window_ms:
                sample = self._advance(now_ms)
            else:
                sample.heard_ms = now_ms
        sample.value += value
        self._total += value
        if self._total <= self._free:
            return 0
        return self._judge(sample.heard_ms)

    def take_back(self, value: float) -> None:
        """Undo the last record: what it stood for does not happen yet."""
        if self._current is not None:
            self._current.value -= value
            self._total -= value

    def measure(self, now_ms: int) -> float:
        """Return what was recorded per second; nothing is changed by looking."""
        oldest_ms = now_ms - self._windows.all_ms
        recent = [one for one in self._samples if one.heard_ms > oldest_ms]
        if not recent:
            return 0.0
        return sum(one.value for one in recent) / (self._over_ms(recent, now_ms) / _MS)

    def _advance(self, now_ms: int) -> _Sample:
        """Begin a window, if need be with the oldest sample; one is kept beyond all."""
        samples = self._samples
        if self._current is not None:
            self._place = (self._place + 1) % (self._windows.samples + 1)
        if self._place == len(samples):
            samples.append(_Sample(now_ms, now_ms))
        else:
            samples[self._place] = _Sample(now_ms, now_ms)
            self._total = math.fsum(one.value for one in samples)
        self._current = samples[self._place]
        return self._current

    def _judge(self, now_ms: int) -> int:
        oldest_ms = now_ms - self._windows.all_ms
        samples = self._samples
        for place, one in enumerate(samples):
            if one.heard_ms <= oldest_ms:
                samples[place] = _Sample(now_ms, now_ms)
        # In Kafka's order, since sums of fractions depend on it.
        total = 0.0
        for one in samples:
            total += one.value
        self._total = total
        over_ms, limit = self._over_ms(samples, now_ms), self._limit
        rate = total / (over_ms / _MS)
        if rate <= limit:
            return 0
        # The limit may be so small that this is infinite.
        wait_ms = min((rate - limit) / limit * over_ms + 0.5, self._most_ms)
        return math.floor(wait_ms)

    def _over_ms(self, samples: list[_Sample], now_ms: int) -> int:
        """Return the time that a rate is over."""
        windows = self._windows
        elapsed_ms = now_ms - min(one.began_ms for one in samples)
        lacking = windows.samples - 1 - elapsed_ms // windows.window_ms
        return elapsed_ms + max(lacking, 0) * windows.window_ms
