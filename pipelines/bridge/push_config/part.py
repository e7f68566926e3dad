"""Wiring of PushConfig: settings in, its handlers out, and their policy's life."""

import uuid
from collections.abc import Callable, Iterable, Mapping

from pipelines.bridge.core.client_identity import KnownCluster
from pipelines.bridge.core.counters import AnswerCounts, Snapshot
from pipelines.bridge.core.handlers import Connection, RequestHandlers, ServedRequest
from pipelines.bridge.core.records import Publish, PushIds
from pipelines.bridge.protocol.software import api_versions_api
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


class PushConfigPart:
    """What a bridge needs to take configurations; made before anything starts."""

    def __init__(
        self, settings: Settings, rules: SensitiveKeyRules, now_s: Callable[[], float]
    ) -> None:
        """Load the policy where PushConfig is enabled.

        Args:
            rules: What may not be written.
            now_s: A clock that never steps back, in seconds.
        Raises: InvalidSetting.
        """
        self._settings = settings
        self._rules = rules
        client_config = settings.client_config
        self.is_enabled = client_config.enabled
        self.counters = ClientConfigCounters(client_config.max_metric_instances, now_s)
        self._policy: ClientConfigPolicy | None = None
        self._runner: PolicyRunner | None = None
        if self.is_enabled:
            self._policy = load_policy(
                client_config.policy, client_config.policy_settings
            )

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics that are written here."""
        return (self._settings.topics.configs,) if self.is_enabled else ()

    @property
    def metric_groups(self) -> Mapping[str, Snapshot]:
        """Kafka's groups of metrics that are counted here."""
        return {METRIC_GROUP: self.counters.snapshot} if self.is_enabled else {}

    @property
    def max_value_bytes(self) -> int:
        """Size of the largest record value."""
        max_bytes = self._settings.client_config.max_bytes
        return max_config_value_bytes(max_bytes) if self.is_enabled else 0

    def serve_with(
        self,
        others: Iterable[ServedRequest],
        *,
        forget: Callable[[Connection], None],
        make_instance_id: Callable[[], uuid.UUID],
        push_ids: PushIds,
        publish: Publish,
        now_ms: Callable[[], int],
        answers: AnswerCounts,
        cluster: KnownCluster,
        meter: Callable[[ServedRequest], ServedRequest] = lambda served: served,
    ) -> RequestHandlers:
        """Return the handlers of a bridge; a policy's threads start here.

        Args:
            others: What the other parts serve.
            forget: What they do when a connection has closed.
            make_instance_id: Makes an id for a client without one.
            push_ids: Those of the bridge.
            publish: Writes a record and says once whether Kafka has it.
            now_ms: Milliseconds since 1970-01-01T00:00:00Z.
            answers: Where answers are counted.
            cluster: The one that connections are for.
            meter: Puts around each request what records its costs.
        """
        if not self.is_enabled:
            return RequestHandlers(others, forget=forget, answers=answers, meter=meter)
        configs = PushConfigHandlers(
            bridge_id=self._settings.bridge.bridge_id,
            topic=self._settings.topics.configs,
            settings=self._settings.client_config,
            rules=self._rules,
            ask_policy=self._start_policy(),
            make_instance_id=make_instance_id,
            push_ids=push_ids,
            publish=publish,
            now_ms=now_ms,
            counters=self.counters,
            cluster=cluster,
        )

        def forget_everywhere(connection: Connection) -> None:
            forget(connection)
            configs.forget(connection)

        version = self._settings.client_config.instance_id_api_version
        return RequestHandlers(
            [*others, *configs.served()],
            api_versions=api_versions_api(version),
            forget=forget_everywhere,
            answers=answers,
            meter=meter,
        )

    async def close(self) -> None:
        """Close the policy, in so long."""
        if self._runner is not None:
            await self._runner.close(_LAST_POLICY_CALLS_S)

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
