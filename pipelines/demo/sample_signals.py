"""Values that instances of the sample fleet report, as one array for each series.

Each family reports the metrics that it has. Java sends NaN for idle averages,
librdkafka sends integers and zeros, and franz-go omits zero gauges and unchanged sums.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .sample_fleet import (
    BROKERS,
    FRANZ_GO,
    JAVA,
    LIBRDKAFKA,
    MICROS,
    PARTITIONS,
    PRODUCER,
    Instance,
    Numbers,
)

PREFIX = "org.apache.kafka."
STANDARD = (
    *("producer.connection.", "producer.node.request.latency.avg"),
    *("producer.produce.throttle.time.", "producer.outgoing.byte.rate"),
    *("producer.record.error.total", "producer.request.latency.avg"),
    *("consumer.connection.", "consumer.node.request.latency.avg"),
    *("consumer.coordinator.rebalance.", "consumer.poll.idle.ratio.avg"),
    *("consumer.fetch.manager.records.lag.max",),
    *("consumer.fetch.manager.bytes.consumed.rate",),
    *("consumer.fetch.manager.fetch.throttle.time.",),
)
"""Metric prefixes to which every client is subscribed."""
USUAL_LAG = 3.0
"""Mean of the lag in records of a partition."""
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


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """Identity of a series within an instance."""

    metric: str
    kind: str
    temporality: str | None = None
    node: int | None = None
    topic: str | None = None
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Series with one value for each push."""

    key: SeriesKey
    values: Floats
    is_there: Flags
    """Whether a push contains the series."""
    is_whole: bool
    """Whether its values are integers."""


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


Formula = Callable[[Signals], Floats]


def _mean_latency(signals: Signals) -> Floats:
    part_of = signals.instance.part_of
    means = [part_of(one) * ms for one, ms in signals.latency_ms.items()]
    mean: Floats = np.sum(means, axis=0)
    return mean


def _max_latency(signals: Signals) -> Floats:
    longest: Floats = np.max([*signals.longest_ms.values()], axis=0)
    return longest


_EVERY: Mapping[str, Formula] = {
    "connection.creation.rate": lambda s: s.connections / s.spans,
    "connection.creation.total": lambda s: s.connections,
}
_THROTTLE: Mapping[str, Formula] = {
    "throttle.time.avg": lambda s: s.throttle_ms,
    "throttle.time.max": lambda s: 2 * s.throttle_ms,
}
_PRODUCER: Mapping[str, Formula] = {
    **{f"produce.{name}": formula for name, formula in _THROTTLE.items()},
    "record.queue.time.avg": lambda s: _mean_latency(s) / 2,
    "record.queue.time.max": _mean_latency,
    "request.latency.avg": _mean_latency,
    "request.latency.max": _max_latency,
    "record.send.rate": lambda s: s.records_rate,
    "record.send.total": lambda s: s.records_rate * s.spans,
    "outgoing.byte.rate": lambda s: s.records_rate * s.instance.record_bytes,
    "record.error.total": lambda s: s.events(s.instance.errors_per_hour),
    "record.retry.total": lambda s: 2 * s.events(s.instance.errors_per_hour),
    "batch.size.avg": lambda s: np.full(s.count, 4 * s.instance.record_bytes),
    "records.per.request.avg": lambda s: np.full(s.count, 4.0),
    "failed.authentication.total": lambda s: s.events(0.0, s.instance.failed_logins),
}
_CONSUMER: Mapping[str, Formula] = {
    **{f"fetch.manager.fetch.{name}": f for name, f in _THROTTLE.items()},
    "fetch.manager.fetch.latency.avg": lambda s: 300 + _mean_latency(s),
    "fetch.manager.fetch.latency.max": lambda s: 500 + _mean_latency(s),
    "fetch.manager.records.consumed.rate": lambda s: s.records_rate,
    "fetch.manager.records.consumed.total": lambda s: s.records_rate * s.spans,
    "fetch.manager.bytes.consumed.rate": lambda s: (
        s.records_rate * s.instance.record_bytes
    ),
    "coordinator.commit.latency.avg": lambda s: s.latency_ms[1] / 2,
    "coordinator.commit.latency.max": lambda s: s.longest_ms[1] / 2,
    "coordinator.assigned.partitions": lambda s: np.full(
        s.count, float(len(s.instance.partitions))
    ),
    "coordinator.rebalance.total": lambda s: s.rebalances,
    "coordinator.rebalance.latency.total": lambda s: 2_500 * s.rebalances,
    "coordinator.rebalance.latency.max": lambda s: np.where(
        s.rebalances > 0, 2_500.0, np.nan
    ),
    "coordinator.failed.rebalance.total": lambda s: s.events(0.0),
    "poll.idle.ratio.avg": lambda s: np.full(s.count, 0.8),
    "time.between.poll.avg": lambda s: np.full(s.count, 50.0),
    "time.between.poll.max": lambda s: np.full(s.count, 250.0),
}
_OWN = {
    # Metrics of the other families, by their sources and change logs.
    (LIBRDKAFKA, PRODUCER): (
        *_EVERY,
        *("produce.throttle.time.avg", "produce.throttle.time.max"),
        *("record.queue.time.avg", "record.queue.time.max"),
        *("request.latency.avg", "request.latency.max"),
    ),
    (LIBRDKAFKA, "consumer"): (
        *_EVERY,
        *("coordinator.assigned.partitions", "poll.idle.ratio.avg"),
        *("coordinator.commit.latency.avg", "coordinator.commit.latency.max"),
        *("coordinator.rebalance.latency.max", "coordinator.rebalance.latency.total"),
        *("fetch.manager.fetch.latency.avg", "fetch.manager.fetch.latency.max"),
    ),
    (FRANZ_GO, PRODUCER): (
        *_EVERY,
        *("produce.throttle.time.avg", "produce.throttle.time.max"),
    ),
    (FRANZ_GO, "consumer"): (
        *_EVERY,
        *("coordinator.commit.latency.avg", "coordinator.commit.latency.max"),
    ),
}
_MEANS = (".avg", ".max")
_STANDING = {"assigned.partitions", "records.lag.max"}


def list_series(signals: Signals) -> Iterator[Series]:
    """Return all series of an instance, in the order of a push."""
    for key, values in _list_all(signals):
        if _is_asked(signals.instance, key):
            yield _in_shape_of_family(signals, key, values)


def _is_asked(instance: Instance, key: SeriesKey) -> bool:
    return instance.is_detailed or key.metric.startswith(STANDARD)


def _list_all(signals: Signals) -> Iterator[tuple[SeriesKey, Floats]]:
    one = signals.instance
    formulas = {**_EVERY, **(_PRODUCER if one.client_type == PRODUCER else _CONSUMER)}
    own = _OWN.get((one.family, one.client_type))
    for name, formula in formulas.items():
        if own is None or name in own:
            yield _key(one, name), formula(signals)
    for word, by_broker in (("avg", signals.latency_ms), ("max", signals.longest_ms)):
        for broker, ms in by_broker.items():
            yield _key(one, f"node.request.latency.{word}", node=broker), ms
    if one.family == JAVA:
        # Weights of a mean over brokers.
        for broker in BROKERS:
            rate = signals.records_rate * one.part_of(broker)
            yield _key(one, "node.request.rate", node=broker), rate
        yield from (
            _list_topics(signals)
            if one.client_type == PRODUCER
            else _list_partitions(signals)
        )


def _list_topics(signals: Signals) -> Iterator[tuple[SeriesKey, Floats]]:
    """Return the topic-level series of a Java producer."""
    one = signals.instance
    part = signals.records_rate * signals.spans / len(one.topics)
    for topic in one.topics:
        yield _key(one, "topic.record.send.total", topic=topic), part


def _list_partitions(signals: Signals) -> Iterator[tuple[SeriesKey, Floats]]:
    """Return the topic- and partition-level series of a Java consumer."""
    one = signals.instance
    topic = one.topics[0]
    lags = [_lag_of(signals, place) for place in one.partitions]
    greatest = np.max(lags, axis=0) if lags else np.full(signals.count, np.nan)
    if one.infinite is not None:
        later = np.flatnonzero(signals.moments >= one.infinite.timestamp())
        greatest[later[:1]] = np.inf
    yield _key(one, "fetch.manager.records.lag.max"), greatest
    name = "fetch.manager.records.consumed.rate"
    yield _key(one, name, topic=topic), signals.records_rate
    if not one.is_detailed:
        return
    for place, lag in zip(one.partitions, lags, strict=True):
        for name in ("records.lag", "records.lag.avg", "records.lag.max"):
            key = _key(
                one, f"fetch.manager.{name}", topic=topic, partition=place % PARTITIONS
            )
            yield key, lag


def _lag_of(signals: Signals, partition: int) -> Floats:
    known = signals.instance.lags.get(partition)
    if known is not None:
        return np.full(signals.count, known)
    chance = signals.draw("lag", signals.instance.number, partition)
    return chance.poisson(USUAL_LAG, signals.count).astype(np.float64)


def _key(
    instance: Instance,
    name: str,
    node: int | None = None,
    topic: str | None = None,
    partition: int | None = None,
) -> SeriesKey:
    is_sum = name.endswith(".total")
    return SeriesKey(
        metric=f"{instance.client_type}.{name}",
        kind="sum" if is_sum else "gauge",
        temporality=("cumulative" if instance.is_cumulative else "delta")
        if is_sum
        else None,
        node=node,
        topic=topic,
        partition=partition,
    )


def _in_shape_of_family(signals: Signals, key: SeriesKey, values: Floats) -> Series:
    one = signals.instance
    is_sum = key.kind == "sum"
    there = np.ones(len(values), np.bool_)
    is_whole = False
    if one.family == JAVA and key.metric.endswith(_MEANS):
        name = key.metric.partition(".")[2]
        if not name.endswith(tuple(_STANDING)):
            values = np.where(signals.is_idle, np.nan, values)
    if one.family == LIBRDKAFKA:
        values = np.nan_to_num(values)
        is_whole = is_sum or key.metric.endswith((".max", ".partitions"))
        values = np.round(values) if is_whole else values
    if one.family == FRANZ_GO:
        there = np.nan_to_num(values) != 0
    if key.temporality == "cumulative":
        values = _add_up(signals, values)
    return Series(key, values, there, is_whole)


def _add_up(signals: Signals, amounts: Floats) -> Floats:
    """Return a cumulative sum that restarts at zero when the instance resets."""
    sums = np.cumsum(amounts)
    if signals.instance.reset is None:
        return sums
    place = int(np.searchsorted(signals.moments, signals.instance.reset.timestamp()))
    if 0 < place < len(sums):
        sums[place:] -= sums[place - 1]
    return sums
