"""The bridge's own metrics: counts and state as Prometheus families.

A count that no family here knows stands in `events`, by its name, so that whatever a
part of the bridge counts can be seen.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)

from .counters import BridgeCounters, LatencyCounts
from .protocol.api_keys import GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY

OWN_PREFIX = "kafka_clientele_bridge"
_NONE, _THROTTLED = 0, 89

Snapshot = Callable[[], Mapping[str, float | Mapping[str, float]]]
"""Kafka's metric names to a number, or to one number per client_instance_id."""

_REFUSALS = {
    "throttled_pushes": ("throttled", 89),
    "unknown_subscription_pushes": ("unknown_subscription", 117),
    "unsupported_compression_pushes": ("unsupported_compression", 76),
    "too_large_pushes": ("too_large", 118),
    "invalid_pushes": ("invalid", 42),
    "publish_timeouts": ("publish_timeout", 89),
    "publish_overflows": ("publish_overflow", 89),
    "publish_failures": ("publish_failure", 89),
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
    max_unacknowledged_bytes: int
    unacknowledged_bytes: int = 0
    client_instances: int = 0
    event_loop_lag_s: float = 0.0
    """The longest of the last one to two windows."""
    is_ready: bool = False
    groups: dict[str, Snapshot] = field(default_factory=dict)
    """Further groups of Kafka's metrics, such as client-config, by their names."""


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
    yield _gauge(
        "open_connections", "Connections open now", numbers["open_connections"]
    )
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
    yield _gauge("ready", "1 while /readyz says so", state.is_ready)
    yield _gauge(
        "unacknowledged_bytes",
        "Bytes of records that Kafka has not acknowledged",
        state.unacknowledged_bytes,
    )
    yield _gauge(
        "unacknowledged_bytes_limit",
        "bridge.max_unacknowledged_bytes",
        state.max_unacknowledged_bytes,
    )
    yield _gauge(
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


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{OWN_PREFIX}_{name}", help_text, value=value)
