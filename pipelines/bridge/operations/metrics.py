"""What /metrics says: plain counts, read at scrape time, as Prometheus families.

The metrics of KIP-714 have the names that Prometheus' JMX exporter gives those of a
broker: the domain, the type of the MBean and the attribute, with `_` for whatever a
name cannot hold; the other keys of the MBean are labels. Like there, they are untyped.
Those of the bridge itself begin with kafka_clientele_bridge_; a count that no family
here knows stands in `events`, by its name, so that whatever a part of the bridge counts
can be seen.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
    UnknownMetricFamily,
)
from prometheus_client.registry import Collector

from pipelines.bridge.core.client_identity import uuid_text
from pipelines.bridge.core.counters import BridgeCounters, LatencyCounts, Snapshot
from pipelines.bridge.core.instance_metrics import Marks, TopInstances
from pipelines.bridge.dynamic_configs.dynamic_counters import DynamicConfigCounters
from pipelines.bridge.protocol.api_keys import (
    GET_TELEMETRY_SUBSCRIPTIONS,
    PUSH_TELEMETRY,
)
from pipelines.bridge.quotas.shares import ShareUse
from pipelines.feed.records import FeedCounters

from .client_labels import ClientLabels
from .dynamic_config_metrics import dynamic_config_metrics
from .quota_metrics import quota_metrics

OWN_PREFIX = "kafka_clientele_bridge"
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
    max_unacknowledged_bytes: int
    unacknowledged_bytes: int = 0
    client_instances: int = 0
    event_loop_lag_s: float = 0.0
    """The longest of the last one to two windows."""
    is_ready: bool = False
    groups: dict[str, Snapshot] = field(default_factory=dict)
    """Further groups of Kafka's metrics, such as client-config, by their names."""
    feed: FeedCounters = field(default_factory=FeedCounters)
    dynamic_configs: DynamicConfigCounters = field(
        default_factory=DynamicConfigCounters
    )
    quota_uses: Callable[[], Iterable[ShareUse]] = tuple
    """Returns what is used of quotas, as much as is shown."""


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
    yield from _feed(state.feed)
    if state.dynamic_configs.is_enabled:
        yield from dynamic_config_metrics(OWN_PREFIX, state.dynamic_configs)


def _feed(feed: FeedCounters) -> Iterator[Metric]:
    """Count what is told of the clients' cluster."""
    yield _gauge("feeding", "1 while this bridge feeds topics.cluster", feed.is_feeding)
    for name, help_text, value in (
        ("feed_elections", "Times that this bridge became the feed", feed.elections),
        ("feed_looks", "Looks at brokers, or answers of a controller", feed.looks),
        ("feed_full_sets", "Full sets published", feed.full_sets),
        ("feed_withheld_values", "Values left out as secrets", feed.withheld_values),
    ):
        yield CounterMetricFamily(f"{OWN_PREFIX}_{name}", help_text, value=value)
    for name, help_text, counts in (
        ("feed_records", "Records published, by type", feed.published),
        (
            "feed_passed_records",
            "Records of the metadata log that are never published, by type",
            feed.passed_over,
        ),
    ):
        family = CounterMetricFamily(
            f"{OWN_PREFIX}_{name}", help_text, labels=["record_type"]
        )
        for record_type, count in sorted(counts.items()):
            family.add_metric([record_type], count)
        yield family
    faults = CounterMetricFamily(
        f"{OWN_PREFIX}_feed_faults",
        "Requests of the feed without an answer, by what they asked for",
        labels=["part", "fault"],
    )
    for (part, fault), count in sorted(feed.faults.items()):
        faults.add_metric([part, fault], count)
    yield faults


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


TELEMETRY_GROUP = "client-metrics"
_BROKER_DOMAIN = "kafka.server"
_INSTANCE_LABEL = "client_instance_id"
_NOT_SUMMED = ("-avg", "-max")
_UNSAFE = re.compile(r"[^a-zA-Z0-9_]")

INSTANCE_METRICS = (
    "throttle-count",
    "throttle-rate",
    "plugin-export-count",
    "plugin-export-rate",
    "plugin-error-count",
    "plugin-error-rate",
    "plugin-export-time-avg",
    "plugin-export-time-max",
)
"""Kafka's metrics of single client instances."""


def jmx_name(group: str, name: str) -> str:
    """Return the name that the JMX exporter gives a broker's metric."""
    return _UNSAFE.sub("_", f"{_BROKER_DOMAIN}_{group}_{name}")


class BridgeCollector(Collector):
    """Reads what is counted; runs in the event loop."""

    def __init__(
        self,
        counters: BridgeCounters,
        top: TopInstances,
        refresh: Callable[[], BridgeState],
        now_s: Callable[[], float],
        labels: ClientLabels,
    ) -> None:
        """Take what is read at each scrape.

        Args:
            counters: Counts since the start.
            top: The client instances that are shown one by one.
            refresh: Returns the state as it is now.
            now_s: A clock that never steps back.
            labels: Label values that clients choose.
        """
        self._labels = labels
        self._counters = counters
        self._top = top
        self._refresh = refresh
        self._now_s = now_s
        self._marks = Marks(now_s(), counters.unknown_subscription_pushes)

    def turn(self) -> None:
        """Begin a window."""
        self._marks.turn(self._now_s(), self._counters.unknown_subscription_pushes)

    def collect(self) -> Iterator[Metric]:
        """Return all families."""
        state = self._refresh()
        yield from self._broker_metrics(state)
        for group, snapshot in state.groups.items():
            yield from _group_metrics(group, snapshot(), self._labels)
        yield from quota_metrics(state.quota_uses(), self._labels)
        yield from own_metrics(self._counters, state)

    def _broker_metrics(self, state: BridgeState) -> Iterable[Metric]:
        now_s = self._now_s()
        unknown = self._counters.unknown_subscription_pushes
        (unknown_rate,) = self._marks.rates(now_s, unknown)
        values: dict[str, float | dict[str, float]] = {
            "instance-count": state.client_instances,
            "unknown-subscription-request-count": unknown,
            "unknown-subscription-request-rate": unknown_rate,
            **{name: {} for name in INSTANCE_METRICS},
        }
        for seat in self._top:
            label = uuid_text(seat.client_instance_id)
            for name, value in seat.values(now_s):
                by_instance = values[name]
                if isinstance(by_instance, dict):
                    by_instance[label] = value
        return _group_metrics(TELEMETRY_GROUP, values, self._labels)


def _group_metrics(
    group: str,
    values: Mapping[str, float | Mapping[str, float]],
    labels: ClientLabels,
) -> Iterator[Metric]:
    for name, value in values.items():
        help_text = f"{name} of Kafka's group {group}"
        if isinstance(value, Mapping):
            family = UnknownMetricFamily(
                jmx_name(group, name), help_text, labels=[_INSTANCE_LABEL]
            )
            are_summed = not name.endswith(_NOT_SUMMED)
            shown = labels.of_instances(value, are_summed=are_summed)
            for instance_id, number in shown.items():
                family.add_metric([instance_id], number)
        else:
            family = UnknownMetricFamily(jmx_name(group, name), help_text, value=value)
        yield family
