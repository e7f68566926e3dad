"""KIP-714's metrics of a broker, from what the telemetry handlers count."""

from collections.abc import Callable, Iterable

from prometheus_client.metrics_core import Metric

from pipelines.bridge.core.client_identity import uuid_text
from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.instance_metrics import Marks, TopInstances
from pipelines.bridge.exposition.client_labels import ClientLabels
from pipelines.bridge.exposition.groups import group_metrics

TELEMETRY_GROUP = "client-metrics"
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


class TelemetryMetrics:
    """Reads the counts at each scrape; runs in the event loop."""

    def __init__(
        self,
        counters: BridgeCounters,
        top: TopInstances,
        count_instances: Callable[[], int],
        now_s: Callable[[], float],
        labels: ClientLabels,
    ) -> None:
        """Take what is read at each scrape.

        Args:
            counters: Counts since the start.
            top: The client instances that are shown one by one.
            count_instances: Returns how many client instances are remembered.
            now_s: A clock that never steps back.
            labels: Label values that clients choose.
        """
        self._counters, self._top = counters, top
        self._count_instances, self._now_s = count_instances, now_s
        self._labels = labels
        self._marks = Marks(now_s(), counters.unknown_subscription_pushes)

    def turn(self) -> None:
        """Begin a window."""
        self._top.turn()
        self._marks.turn(self._now_s(), self._counters.unknown_subscription_pushes)

    def collect(self) -> Iterable[Metric]:
        """Return the families of the group."""
        now_s = self._now_s()
        unknown = self._counters.unknown_subscription_pushes
        (unknown_rate,) = self._marks.rates(now_s, unknown)
        values: dict[str, float | dict[str, float]] = {
            "instance-count": self._count_instances(),
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
        return group_metrics(TELEMETRY_GROUP, values, self._labels)
