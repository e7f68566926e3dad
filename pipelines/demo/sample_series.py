"""Series that instances of the sample fleet report, by client family.

Each family reports the metrics that it has. Java sends NaN for idle averages,
librdkafka sends integers and zeros, and franz-go omits zero gauges and unchanged sums.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from .sample_fleet import (
    BROKERS,
    FRANZ_GO,
    JAVA,
    LIBRDKAFKA,
    PARTITIONS,
    PRODUCER,
    Instance,
)
from .sample_signals import Flags, Floats, Signals

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
    **dict.fromkeys(
        ("coordinator.rebalance.latency.avg", "coordinator.rebalance.latency.max"),
        lambda s: np.where(s.rebalances > 0, 2_500.0, np.nan),
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
        "coordinator.rebalance.latency.avg",
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
