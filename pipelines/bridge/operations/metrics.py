"""What /metrics says: plain counts, read at scrape time, as Prometheus families.

The metrics of KIP-714 have the names that Prometheus' JMX exporter gives those of a
broker: the domain, the type of the MBean and the attribute, with `_` for whatever a
name cannot hold; the other keys of the MBean are labels. Like there, they are untyped.
Those of the bridge itself begin with kafka_clientele_bridge_; a count that no family
here knows stands in `events`, by its name, so that whatever a part of the bridge counts
can be seen.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from pipelines.bridge.core.counters import BridgeCounters, LatencyCounts
from pipelines.bridge.core.parts import Part
from pipelines.bridge.exposition.groups import OWN_PREFIX, gauge
from pipelines.bridge.protocol.api_keys import (
    GET_TELEMETRY_SUBSCRIPTIONS,
    PUSH_TELEMETRY,
)

_NONE, _THROTTLED = 0, 89

_REFUSALS = {
    "throttled_pushes": ("throttled", 89),
    "unknown_subscription_pushes": ("unknown_subscription", 117),
    "unsupported_compression_pushes": ("unsupported_compression", 76),
    "too_large_pushes": ("too_large", 118),
    "invalid_pushes": ("invalid", 42),
    "publish_timeouts": ("publish_timeout", 89),
    "publish_overflows": ("publish_overflow", 89),
    "publish_failures": ("publish_failure", 89),
    "quota_refused_pushes": ("quota", 89),
}
"""Count of refused pushes to the reason, and to the error code that was answered."""
_COUNTERS = {
    "connections": "Connections accepted",
    "received_bytes": "Bytes from clients",
    "sent_bytes": "Bytes to clients",
    "accepted_pushes": "Pushes that Kafka has",
    "late_acknowledgements": "Pushes refused as Kafka was slow, stored after all",
}
_ELSEWHERE = {"open_connections", "gets", "throttled_gets", *_REFUSALS, *_COUNTERS}
"""Counts that are not events."""


@dataclass(slots=True, kw_only=True)
class BridgeState:
    """What is shown beside the counters; the parts of the bridge fill it in."""

    info: Mapping[str, str]
    """Labels of kafka_clientele_bridge_build_info."""
    event_loop_lag_s: float = 0.0
    """The longest of the last one to two windows."""
    is_ready: bool = False


def own_metrics(counters: BridgeCounters, state: BridgeState) -> Iterator[Metric]:
    """Return the families of the bridge itself."""
    numbers = counters.numbers()
    for name, help_text in _COUNTERS.items():
        yield CounterMetricFamily(
            f"{OWN_PREFIX}_{name}", help_text, value=numbers[name]
        )
    refused = CounterMetricFamily(
        f"{OWN_PREFIX}_refused_pushes", "Pushes refused, by reason", labels=["reason"]
    )
    for name, (reason, _) in _REFUSALS.items():
        refused.add_metric([reason], numbers[name])
    yield refused
    yield _requests(counters, numbers)
    events = CounterMetricFamily(
        f"{OWN_PREFIX}_events", "Whatever else is counted, by name", labels=["event"]
    )
    for name in sorted(numbers.keys() - _ELSEWHERE):
        events.add_metric([name], numbers[name])
    yield events
    yield gauge("open_connections", "Connections open now", numbers["open_connections"])
    yield from _state(state)
    yield _latency(counters.publish_latency)


def _requests(counters: BridgeCounters, numbers: Mapping[str, int]) -> Metric:
    """Count answers; those of the telemetry APIs follow from their own counts."""
    answers: dict[tuple[int, int | None], int] = dict(counters.answers.counts)
    gets, throttled = numbers["gets"], numbers["throttled_gets"]
    answers[GET_TELEMETRY_SUBSCRIPTIONS, _NONE] = gets - throttled
    answers[GET_TELEMETRY_SUBSCRIPTIONS, _THROTTLED] = throttled
    answers[PUSH_TELEMETRY, _NONE] = numbers["accepted_pushes"]
    for name, (_, code) in _REFUSALS.items():
        key = PUSH_TELEMETRY, code
        answers[key] = answers.get(key, 0) + numbers[name]
    family = CounterMetricFamily(
        f"{OWN_PREFIX}_requests",
        "Requests answered; no error_code where an answer has none of its own",
        labels=["api_key", "error_code"],
    )
    for (api_key, error_code), count in sorted(
        answers.items(), key=lambda item: (item[0][0], item[0][1] or 0)
    ):
        code_text = "" if error_code is None else str(error_code)
        family.add_metric([str(api_key), code_text], count)
    return family


def _state(state: BridgeState) -> Iterator[Metric]:
    yield InfoMetricFamily(
        f"{OWN_PREFIX}_build", "What runs here", value=dict(state.info)
    )
    yield gauge("ready", "1 while /readyz says so", state.is_ready)
    yield gauge(
        "event_loop_lag_seconds",
        "Longest delay of the event loop in the last 30 to 60 s",
        state.event_loop_lag_s,
    )


def _latency(latency: LatencyCounts) -> Metric:
    family = HistogramMetricFamily(
        f"{OWN_PREFIX}_publish_latency_seconds",
        "From handing a record to the producer to Kafka's acknowledgement",
    )
    buckets = [
        ("+Inf" if math.isinf(end_s) else repr(end_s), count)
        for end_s, count in latency.cumulative()
    ]
    family.add_metric([], buckets, latency.total_s)
    return family


class BridgeCollector(Collector):
    """Families of the bridge and of its parts; runs in the event loop."""

    def __init__(
        self,
        counters: BridgeCounters,
        refresh: Callable[[], BridgeState],
        parts: Iterable[Part],
    ) -> None:
        """Take what is read at each scrape.

        Args:
            counters: Counts since the start.
            refresh: Returns the current state.
            parts: Parts with metrics of their own.
        """
        self._counters, self._refresh, self._parts = counters, refresh, parts

    def collect(self) -> Iterator[Metric]:
        """Return all families."""
        yield from own_metrics(self._counters, self._refresh())
        for part in self._parts:
            yield from part.metrics()
