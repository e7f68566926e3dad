"""Handler of PushConfig.

Order of checks: size, rate, sensitive keys, policy, Kafka. A push is answered with
success once Kafka has its record. What the client is told names keys and rules only.
Source: KIP-1324; docs/decisions/0015.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from kio.schema.errors import ErrorCode

from pipelines.bridge.core.client_identity import KnownCluster, uuid_text
from pipelines.bridge.core.handlers import Connection, ServedRequest, WriteReply, expect
from pipelines.bridge.core.records import (
    ConnectionHeaders,
    Publish,
    PushIds,
    Record,
    identity_headers,
)
from pipelines.bridge.protocol.push_config import (
    PushConfigRequest,
    push_config_api,
    write_push_config_response,
)
from pipelines.bridge.protocol.replies import encode_reply
from pipelines.bridge.protocol.requests import Request
from pipelines.bridge.push_config.policy.contract import (
    ClientConfigData,
    PolicyContext,
    make_policy_context,
    make_policy_data,
)
from pipelines.settings.client_config_settings import ClientConfigSettings
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .config_counters import ClientConfigCounters
from .config_records import make_config_record
from .rules import JudgedConfigs, add_violations, describe_violations, judge_configs

ON_VIOLATION_REJECT = "reject"
_ERROR_CODE_AT = 4
"""Byte of an answer where its error code stands, behind the throttle time."""


Decide = Callable[[str | None], None]
"""Takes why a push is refused, or None where it is accepted."""
AskPolicy = Callable[[PolicyContext, ClientConfigData, Decide], None]
"""Asks about one push; calls back once."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """Answers one request, once."""

    request: Request
    reply: WriteReply

    def __call__(
        self, error_code: int, message: str | None = None, throttle_time_ms: int = 0
    ) -> None:
        response = write_push_config_response(
            error_code, message, throttle_time_ms=throttle_time_ms
        )
        self.reply(encode_reply(self.request, response))


@dataclass(slots=True)
class _Pusher:
    """A connection that has pushed."""

    client_instance_id: uuid.UUID
    last_push_ms: int


class PushConfigHandlers:
    """Answers the PushConfig requests of all connections."""

    def __init__(
        self,
        *,
        bridge_id: str,
        topic: str,
        settings: ClientConfigSettings,
        rules: SensitiveKeyRules,
        ask_policy: AskPolicy | None,
        make_instance_id: Callable[[], uuid.UUID],
        push_ids: PushIds,
        publish: Publish,
        now_ms: Callable[[], int],
        counters: ClientConfigCounters,
        cluster: KnownCluster,
    ) -> None:
        self._bridge_id = bridge_id
        self._topic = topic
        self._settings = settings
        self._rules = rules
        self._ask_policy = ask_policy
        self._make_instance_id = make_instance_id
        self._push_ids = push_ids
        self._publish = publish
        self._now_ms = now_ms
        self._counters = counters
        self._cluster = cluster
        self._pushers: dict[int, _Pusher] = {}

    def served(self) -> list[ServedRequest]:
        """Return the APIs answered here."""
        api = push_config_api(self._settings.api_key, self._settings.max_bytes)
        return [
            ServedRequest(
                api=api,
                handle=self._answer_push,
                error_code_at=_ERROR_CODE_AT,
                forget=self.forget,
            )
        ]

    def forget(self, connection: Connection) -> None:
        """Forget what a closed connection has pushed."""
        pusher = self._pushers.pop(connection.connection_id, None)
        if pusher is not None:
            self._counters.note_gone(uuid_text(pusher.client_instance_id))

    def _answer_push(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = expect(PushConfigRequest, request)
        answer = _Answer(request, reply)
        if body.is_too_large:
            self._counters.note_too_large()
            answer(
                self._settings.config_too_large_error_code,
                f"a configuration of {body.body_bytes} bytes is larger than "
                f"client.config.max.bytes, which is {self._settings.max_bytes}",
            )
            return
        now_ms = self._now_ms()
        wait_ms = self._claim_slot(connection, now_ms)
        if wait_ms:
            self._counters.throttled += 1
            answer(ErrorCode.throttling_quota_exceeded.value, None, wait_ms)
            return
        judged = judge_configs(
            body.configs,
            software_name=connection.identity.client_software_name,
            rules=self._rules,
            first_config_type_id=self._settings.first_config_type_id,
        )
        headers = self._headers_of(connection)
        if headers.violations:
            judged = add_violations(judged, headers.violations)
        self._counters.note_violations(len(judged.violations))
        if judged.violations and self._settings.on_violation == ON_VIOLATION_REJECT:
            self._counters.rejected += 1
            text = describe_violations(judged.violations, "is not accepted")
            answer(ErrorCode.invalid_config.value, text)
            return
        record = self._make_record(judged, connection, body.body_bytes, now_ms)
        self._judge_by_policy(judged, record, connection, now_ms, answer)

    def _judge_by_policy(
        self,
        judged: JudgedConfigs,
        record: Record,
        connection: Connection,
        now_ms: int,
        answer: _Answer,
    ) -> None:
        def decide(refusal: str | None) -> None:
            if refusal is None:
                self._publish(record, partial(self._finish_push, judged, answer))
                return
            self._counters.refused_by_policy += 1
            answer(ErrorCode.invalid_config.value, refusal)

        if self._ask_policy is None:
            decide(None)
            return
        pusher = self._pushers[connection.connection_id]
        client_id = self._headers_of(connection).client_id
        identity = replace(connection.identity, client_id=client_id)
        context = make_policy_context(pusher.client_instance_id, identity)
        self._ask_policy(context, make_policy_data(judged, now_ms), decide)

    def _make_record(
        self,
        judged: JudgedConfigs,
        connection: Connection,
        body_bytes: int,
        now_ms: int,
    ) -> Record:
        pusher = self._pushers[connection.connection_id]
        return make_config_record(
            judged,
            topic=self._topic,
            client_instance_id=pusher.client_instance_id,
            body_bytes=body_bytes,
            connection_headers=self._headers_of(connection),
            push_id=self._push_ids.make(now_ms),
            received_at_ms=now_ms,
        )

    def _headers_of(self, connection: Connection) -> ConnectionHeaders:
        headers, cluster_id = connection.headers, self._cluster.cluster_id
        if headers is None or headers.cluster_id is not cluster_id:
            headers = connection.headers = identity_headers(
                connection.identity, self._bridge_id, self._rules, cluster_id
            )
        return headers

    def _finish_push(
        self,
        judged: JudgedConfigs,
        answer: _Answer,
        is_stored: bool,  # noqa: FBT001 - the one thing that a publisher says
    ) -> None:
        if not is_stored:
            self._counters.not_stored += 1
            answer(ErrorCode.throttling_quota_exceeded.value, None)
            return
        self._counters.accepted += 1
        text = None
        if judged.violations:
            text = describe_violations(judged.violations, "was not stored")
        answer(ErrorCode.none.value, text)

    def _claim_slot(self, connection: Connection, now_ms: int) -> int:
        """Return how long the client must wait, in milliseconds; 0 is its turn."""
        pusher = self._pushers.get(connection.connection_id)
        if pusher is not None:
            due_ms = pusher.last_push_ms + self._settings.min_push_interval_ms
            # A clock that stepped back must not make anyone wait for it to catch up.
            if pusher.last_push_ms <= now_ms < due_ms:
                return due_ms - now_ms
        named = self._name_instance(connection)
        if pusher is None or pusher.client_instance_id != named:
            self.forget(connection)
            self._counters.note_present(uuid_text(named))
        self._pushers[connection.connection_id] = _Pusher(named, now_ms)
        return 0

    def _name_instance(self, connection: Connection) -> uuid.UUID:
        """Return the client's id: by ApiVersions, by GET, or made for it now."""
        known = connection.named_instance_id or connection.given_instance_id
        if known is None:
            known = connection.named_instance_id = self._make_instance_id()
        return known
