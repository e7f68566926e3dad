"""Part of the bridge that answers PushConfig, and the life of its policy."""

import uuid
from collections.abc import Callable, Iterable

from prometheus_client.metrics_core import Metric

from pipelines.bridge.core.handlers import ServedRequest
from pipelines.bridge.core.parts import QuietPart
from pipelines.bridge.core.records import RecordOutlet
from pipelines.bridge.exposition.client_labels import ClientLabels
from pipelines.bridge.exposition.groups import group_metrics
from pipelines.bridge.push_config.policy.contract import ClientConfigPolicy
from pipelines.bridge.push_config.policy.loading import load_policy
from pipelines.bridge.push_config.policy.runner import PolicyRunner
from pipelines.settings.records import Settings
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .config_counters import ClientConfigCounters
from .config_records import max_config_value_bytes
from .handlers import AskPolicy, PushConfigHandlers

METRIC_GROUP = "client-config"
"""Kafka's name for the metrics of PushConfig."""
_LAST_POLICY_CALLS_S = 2.0


class PushConfigPart(QuietPart):
    """Configurations that clients push; empty if client_config.enabled is false."""

    def __init__(
        self,
        settings: Settings,
        rules: SensitiveKeyRules,
        outlet: RecordOutlet,
        labels: ClientLabels,
        *,
        now_s: Callable[[], float],
        make_instance_id: Callable[[], uuid.UUID],
    ) -> None:
        """Load the policy where PushConfig is enabled.

        Args:
            rules: What may not be written.
            outlet: Destination of accepted configurations.
            labels: Label values that clients choose.
            now_s: A clock that never steps back, in seconds.
            make_instance_id: Makes an id for a client without one.
        Raises: InvalidSetting.
        """
        self._settings, self._rules = settings, rules
        self._outlet, self._labels = outlet, labels
        self._make_instance_id = make_instance_id
        client_config = settings.client_config
        self.is_enabled = client_config.enabled
        self.counters = ClientConfigCounters(client_config.max_metric_instances, now_s)
        self._policy: ClientConfigPolicy | None = None
        self._runner: PolicyRunner | None = None
        self._handlers: PushConfigHandlers | None = None
        if self.is_enabled:
            self._policy = load_policy(
                client_config.policy, client_config.policy_settings
            )

    @property
    def max_value_bytes(self) -> int:
        """Size of the largest record value."""
        max_bytes = self._settings.client_config.max_bytes
        return max_config_value_bytes(max_bytes) if self.is_enabled else 0

    async def close(self) -> None:
        """Close the policy, within _LAST_POLICY_CALLS_S."""
        if self._runner is not None:
            await self._runner.close(_LAST_POLICY_CALLS_S)

    def handlers(self) -> Iterable[ServedRequest]:
        """Return PushConfig; the threads of a policy start at the first call."""
        if not self.is_enabled:
            return ()
        if self._handlers is None:
            self._handlers = self._make_handlers()
        return self._handlers.served()

    def _make_handlers(self) -> PushConfigHandlers:
        outlet = self._outlet
        return PushConfigHandlers(
            bridge_id=self._settings.bridge.bridge_id,
            topic=self._settings.topics.configs,
            settings=self._settings.client_config,
            rules=self._rules,
            ask_policy=self._start_policy(),
            make_instance_id=self._make_instance_id,
            push_ids=outlet.push_ids,
            publish=outlet.publish,
            now_ms=outlet.now_ms,
            counters=self.counters,
            cluster=outlet.cluster,
        )

    def metrics(self) -> Iterable[Metric]:
        """Return the metrics of the group client-config."""
        if not self.is_enabled:
            return ()
        return group_metrics(METRIC_GROUP, self.counters.snapshot(), self._labels)

    def _start_policy(self) -> AskPolicy | None:
        if self._policy is None:
            return None
        client_config = self._settings.client_config
        self._runner = PolicyRunner(
            self._policy,
            threads=client_config.policy_threads,
            timeout_ms=client_config.policy_timeout_ms,
            counters=self.counters,
        )
        return self._runner.run
