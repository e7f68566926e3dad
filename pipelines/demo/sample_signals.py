"""What happens to an instance of the sample fleet, as one array for each signal."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .sample_fleet import (
    BROKERS,
    MICROS,
    Instance,
    Numbers,
)

_DAY_S, _HOUR_S = 86_400.0, 3_600.0
_BUSIEST_S = 14 * _HOUR_S
"""Time of day (UTC) with most traffic."""
_LOAD_WAVES = ((5.3 * _HOUR_S, 0.10), (1.7 * _HOUR_S, 0.08), (0.6 * _HOUR_S, 0.06))
"""Periods in seconds and amplitudes of the latency of a broker."""
_DAILY_LOAD = 0.15
"""Amplitude of the daily wave of the latency of a broker."""
_SPREAD_OF_AVG, _SPREAD_OF_MAX = 0.15, 0.3
"""Standard deviations of the logarithm of a latency."""
_MAX_OF_AVG = 3.0
"""Median of the longest latency of a push, in multiples of its mean."""
_LEAST_MAX_OF_AVG = 1.1
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def daily_wave(moment_s: Floats, hours_late: float = 0.0) -> Floats:
    """Return numbers from -1 to 1 that are greatest at the busiest time of the day."""
    late_s = moment_s - _BUSIEST_S - hours_late * _HOUR_S
    wave: Floats = np.cos(2 * np.pi * late_s / _DAY_S)
    return wave


def follow_day(instance: Instance, moment_s: Floats) -> Floats:
    """Return the factors of an instance's rate by its daily wave."""
    return 1 + instance.wave * daily_wave(moment_s, instance.number % 5 - 2)


@dataclass(frozen=True)
class Signals:
    """Values of an instance, one for each push."""

    instance: Instance
    push_times: Numbers
    """In microseconds since 1970."""
    seed: int

    @property
    def count(self) -> int:
        """Return the number of pushes."""
        return len(self.push_times)

    @cached_property
    def moments(self) -> Floats:
        """Return the push times in seconds since 1970."""
        return self.push_times / MICROS

    @cached_property
    def spans(self) -> Floats:
        """Return the seconds that each push covers."""
        first_ms = self.instance.push_intervals_ms(self.push_times[:1])
        return np.concatenate([first_ms / 1000, np.diff(self.push_times) / MICROS])

    def draw(self, *names: object) -> np.random.Generator:
        """Return the random numbers that belong to some names."""
        return np.random.default_rng([self.seed, *repr(names).encode()])

    @cached_property
    def noise(self) -> Floats:
        """Return factors close to 1, or exactly 1 for an instance without a wave."""
        width = 0.1 if self.instance.wave else 0.0
        chance = self.draw("rate", self.instance.number)
        return chance.uniform(1 - width, 1 + width, self.count)

    @cached_property
    def is_idle(self) -> Flags:
        """Return whether the instance was idle, for each push."""
        idle = self.instance.idle
        if idle is None:
            return np.zeros(self.count, np.bool_)
        return (self.moments >= idle.start.timestamp()) & (
            self.moments < idle.end.timestamp()
        )

    @cached_property
    def records_rate(self) -> Floats:
        """Return records per second."""
        one = self.instance
        rate = one.records_per_s * follow_day(one, self.moments) * self.noise
        return np.where(self.is_idle, 0.0, rate)

    def events(
        self, per_hour: float, first: float = 0.0, shared: str | None = None
    ) -> Floats:
        """Return counts of events, plus `first` in the first push.

        Args:
            shared: Name of the instances that have the events at the same time; null:
                none has.
        """
        expected = np.cumsum(self.spans) * per_hour / _HOUR_S
        chance = self.draw("events", shared or self.instance.number)
        # Each part of the time in which one event is expected has one.
        turns = np.arange(np.ceil(expected[-1]))
        at = turns + chance.random(len(turns))
        done = np.searchsorted(at, expected, side="right")
        counts = np.diff(done, prepend=0).astype(np.float64)
        counts[0] += first
        return np.where(self.is_idle, 0.0, counts)

    @cached_property
    def connections(self) -> Floats:
        """Return counts of new connections."""
        first = len(BROKERS) if self.instance.is_new else 0
        return self.events(self.instance.connects_per_hour, first)

    @cached_property
    def rebalances(self) -> Floats:
        """Return counts of rebalances, which all members of a group have together."""
        one = self.instance
        return self.events(one.rebalances_per_hour, float(one.is_new), one.group_id)

    @cached_property
    def latency_ms(self) -> Mapping[int, Floats]:
        """Return the mean latency of requests in milliseconds, by broker."""
        one = self.instance
        shape = len(BROKERS), self.count
        spread = self.draw("mean", one.number).lognormal(0.0, _SPREAD_OF_AVG, shape)
        rows = zip(BROKERS, self._load_of_brokers(), spread, strict=True)
        return {
            broker: one.slow_brokers.get(broker, one.latency_ms) * load * own
            for broker, load, own in rows
        }

    @cached_property
    def longest_ms(self) -> Mapping[int, Floats]:
        """Return the longest latency of requests in milliseconds, by broker."""
        shape = len(BROKERS), self.count
        chance = self.draw("max", self.instance.number)
        times = chance.lognormal(np.log(_MAX_OF_AVG), _SPREAD_OF_MAX, shape)
        rows = zip(self.latency_ms.items(), times, strict=True)
        return {
            broker: mean_ms * np.maximum(own, _LEAST_MAX_OF_AVG)
            for (broker, mean_ms), own in rows
        }

    def _load_of_brokers(self) -> Floats:
        """Return factors close to 1 that all clients of a broker share, by broker."""
        periods_s, amplitudes = np.array(_LOAD_WAVES).T
        chance = self.draw("load", self.instance.cluster_id)
        phases = chance.random((len(BROKERS), 1, len(periods_s)))
        turns = self.moments[:, np.newaxis] / periods_s + phases
        waves: Floats = np.sin(2 * np.pi * turns) @ amplitudes
        return 1 + _DAILY_LOAD * daily_wave(self.moments) + waves

    @cached_property
    def throttle_ms(self) -> Floats:
        """Return the mean throttle time in milliseconds."""
        found = np.zeros(self.count, np.float64)
        for span, mean_ms in self.instance.throttled.items():
            start, end = span.start.timestamp(), span.end.timestamp()
            is_in = (self.moments >= start) & (self.moments <= end)
            found = np.where(is_in, mean_ms, found)
        return found
