"""Part of the bridge that answers GetTelemetrySubscriptions and PushTelemetry."""

import asyncio
import uuid
from collections.abc import Callable, Iterable

from prometheus_client.metrics_core import Metric

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import ServedRequest
from pipelines.bridge.core.instance_metrics import WINDOW_S, TopInstances
from pipelines.bridge.core.parts import QuietPart
from pipelines.bridge.core.records import RecordOutlet
from pipelines.bridge.exposition.client_labels import ClientLabels
from pipelines.bridge.protocol.push_telemetry import COMPRESSION_TYPES
from pipelines.settings.records import Settings
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .handlers import OnRefused, TelemetryHandlers
from .instances import ClientInstances, TelemetryLimits
from .metrics import TelemetryMetrics
from .selections import SubscriptionRegistry

_COMPRESSION_IDS = {name: number for number, name in COMPRESSION_TYPES.items()}


class TelemetryPart(QuietPart):
    """State of all client instances of one bridge process."""

    def __init__(
        self,
        settings: Settings,
        rules: SensitiveKeyRules,
        outlet: RecordOutlet,
        labels: ClientLabels,
        counters: BridgeCounters,
        *,
        registry: SubscriptionRegistry,
        now_s: Callable[[], float],
        on_refused: OnRefused,
    ) -> None:
        """Start without client instances.

        Args:
            rules: Rules that hide client IDs.
            outlet: Destination of accepted pushes.
            labels: Label values that clients choose.
            registry: Subscriptions in effect.
            now_s: A clock that never steps back, in seconds.
            on_refused: Called with each push and each GET that the rules refuse.
        """
        bridge = settings.bridge
        limits = TelemetryLimits(
            telemetry_max_bytes=bridge.telemetry_max_bytes,
            accepted_compression_types=tuple(
                _COMPRESSION_IDS[name] for name in bridge.accepted_compression_types
            ),
            max_client_instances=bridge.max_client_instances,
        )
        self.instances = ClientInstances(
            limits=limits, registry=registry, make_uuid=uuid.uuid4
        )
        self.top = TopInstances(bridge.metrics_top_instances, now_s)
        """The client instances that /metrics shows one by one."""
        self._metrics = TelemetryMetrics(
            counters, self.top, self.instances.__len__, now_s, labels
        )
        self._bridge_id, self._rules = bridge.bridge_id, rules
        self._outlet, self._counters = outlet, counters
        self._on_refused = on_refused

    async def run(self) -> None:
        """Begin a window of the metrics again and again."""
        while True:
            await asyncio.sleep(WINDOW_S)
            self._metrics.turn()

    def handlers(self) -> Iterable[ServedRequest]:
        """Return both APIs of KIP-714."""
        outlet = self._outlet
        return TelemetryHandlers(
            bridge_id=self._bridge_id,
            rules=self._rules,
            instances=self.instances,
            push_ids=outlet.push_ids,
            publish=outlet.publish,
            now_ms=outlet.now_ms,
            counters=self._counters,
            cluster=outlet.cluster,
            top=self.top,
            on_refused=self._on_refused,
        ).served()

    def metrics(self) -> Iterable[Metric]:
        """Return the metrics of the group client-metrics."""
        return self._metrics.collect()
