"""What /metrics says: plain counts, read at scrape time, as Prometheus families.

The metrics of KIP-714 have the names that Prometheus' JMX exporter gives those of a
broker: the domain, the type of the MBean and the attribute, with `_` for whatever a
name cannot hold; the other keys of the MBean are labels. Like there, they are untyped.
Those of the bridge itself begin with kafka_clientele_bridge_.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.metrics_core import Metric, UnknownMetricFamily
from prometheus_client.registry import Collector

from .client_identity import uuid_text
from .counters import BridgeCounters
from .instance_metrics import Marks, TopInstances
from .own_metrics import BridgeState, own_metrics

TELEMETRY_GROUP = "client-metrics"
_BROKER_DOMAIN = "kafka.server"
_INSTANCE_LABEL = "client_instance_id"
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
    ) -> None:
        """Take what is read at each scrape.

        Args:
            counters: Counts since the start.
            top: The client instances that are shown one by one.
            refresh: Returns the state as it is now.
            now_s: A clock that never steps back.
        """
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
            yield from _group_metrics(group, snapshot())
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
        return _group_metrics(TELEMETRY_GROUP, values)


def _group_metrics(
    group: str, values: Mapping[str, float | Mapping[str, float]]
) -> Iterator[Metric]:
    for name, value in values.items():
        help_text = f"{name} of Kafka's group {group}"
        if isinstance(value, Mapping):
            family = UnknownMetricFamily(
                jmx_name(group, name), help_text, labels=[_INSTANCE_LABEL]
            )
            for instance_id, number in value.items():
                family.add_metric([instance_id], number)
        else:
            family = UnknownMetricFamily(jmx_name(group, name), help_text, value=value)
        yield family
