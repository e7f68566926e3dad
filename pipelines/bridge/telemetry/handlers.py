"""Handlers of GetTelemetrySubscriptions and PushTelemetry.

A push is answered once Kafka has its record, or once it is known not to take it.
"""

import uuid
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from kio.schema.errors import ErrorCode
from kio.schema.get_telemetry_subscriptions.v0.request import (
    GetTelemetrySubscriptionsRequest,
)

from pipelines.bridge.core.client_identity import KnownCluster
from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import Connection, ServedRequest, WriteReply, expect
from pipelines.bridge.core.instance_metrics import TopInstances
from pipelines.bridge.core.records import (
    ConnectionHeaders,
    Publish,
    PushIds,
    identity_headers,
)
from pipelines.bridge.protocol.push_telemetry import (
    PUSH_TELEMETRY_API,
    PushRequest,
    plain_push_reader,
)
from pipelines.bridge.protocol.replies import encode_push_reply, encode_reply
from pipelines.bridge.protocol.requests import GET_TELEMETRY_SUBSCRIPTIONS_API, Request
from pipelines.kafka_wire.messages import encode_body
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .instances import ClientInstances
from .records import make_record

_ONE_MS = timedelta(milliseconds=1)
OnRefused = Callable[[Connection, uuid.UUID | None, ErrorCode], None]


class TelemetryHandlers:
    """Answers the telemetry requests of all connections."""

    def __init__(
        self,
        *,
        bridge_id: str,
        rules: SensitiveKeyRules,
        instances: ClientInstances,
        push_ids: PushIds,
        publish: Publish,
        now_ms: Callable[[], int],
        counters: BridgeCounters,
        cluster: KnownCluster | None = None,
        top: TopInstances | None = None,
        on_refused: OnRefused = lambda _connection, _instance_id, _error: None,
    ) -> None:
        """Take what the answers depend on.

        Args:
            bridge_id: Name of this bridge in its records.
            rules: They say which client ids may not be written.
            instances: The rules, and the state of each client instance.
            push_ids: Makes the ids of accepted pushes.
            publish: Writes a record and says once whether Kafka has it.
            now_ms: Milliseconds since 1970-01-01T00:00:00Z.
            counters: What is counted of all client instances together.
            cluster: The one that connections are for; None says nothing of it.
            top: What is counted of some client instances; None counts none.
            on_refused: Told of each push and each GET that the rules do not accept.
        """
        self._bridge_id = bridge_id
        self._rules = rules
        self._instances = instances
        self._push_ids = push_ids
        self._publish = publish
        self._now_ms = now_ms
        self._counters = counters
        self._cluster = cluster or KnownCluster()
        self._top = top or TopInstances(0, lambda: 0.0)
        self._on_refused = on_refused

    def served(self) -> list[ServedRequest]:
        """Return the APIs answered here."""
        return [
            ServedRequest(
                api=GET_TELEMETRY_SUBSCRIPTIONS_API,
                handle=self._answer_get,
                is_counted=True,
            ),
            ServedRequest(
                api=PUSH_TELEMETRY_API,
                handle=self._answer_push,
                is_counted=True,
                take_push=self._take_push,
                forget=self.forget,
            ),
        ]

    def forget(self, connection: Connection) -> None:
        """Forget what a closed connection has made."""
        self._instances.forget_connection(connection.connection_id)
        self._top.release(connection)

    def _answer_get(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = expect(GetTelemetrySubscriptionsRequest, request)
        response = self._instances.get(
            body.client_instance_id or connection.named_instance_id,
            connection.identity,
            connection_id=connection.connection_id,
            now_ms=self._now_ms(),
        )
        self._counters.gets += 1
        if response.error_code is not ErrorCode.none:
            self._counters.throttled_gets += 1
            self._note_refused(connection, body.client_instance_id, response.error_code)
        else:
            connection.given_instance_id = response.client_instance_id
            connection.push_interval_ms = response.push_interval // _ONE_MS
        reply(encode_reply(request, encode_body(response)))

    def _answer_push(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = expect(PushRequest, request)
        self._take_push(request.correlation_id, body, connection, reply)

    def _take_push(
        self,
        correlation_id: int,
        body: PushRequest,
        connection: Connection,
        reply: WriteReply,
    ) -> None:
        now_ms = self._now_ms()
        error, instance = self._instances.push(
            body,
            connection.identity,
            connection_id=connection.connection_id,
            now_ms=now_ms,
        )
        if error is not ErrorCode.none or instance is None:
            self._counters.count_refused_push(error)
            self._note_refused(connection, _as_uuid(body), error)
            reply(encode_push_reply(correlation_id, error))
            return
        headers = connection.headers
        if (
            headers is None
            or connection.push_reader is None
            or headers.cluster_id is not self._cluster.cluster_id
        ):
            headers = self._get_ready(connection, body.client_instance_id)
            connection.push_interval_ms = instance.selection.push_interval_ms
        record = make_record(
            body,
            instance,
            connection_headers=headers,
            push_id=self._push_ids.make(now_ms),
            received_at_ms=now_ms,
        )
        # What is kept while Kafka has the record: all of the push but its metrics.
        finish = partial(
            self._finish_push,
            *(correlation_id, body.client_instance_id, body.terminating, now_ms),
            *(connection, reply),
        )
        self._publish(record, finish)

    def _get_ready(
        self, connection: Connection, client_instance_id: bytes
    ) -> ConnectionHeaders:
        """Make what all pushes of a connection have in common."""
        identity = connection.identity
        connection.push_reader = plain_push_reader(identity.client_id)
        cluster_id, headers = self._cluster.cluster_id, connection.headers
        if headers is None or headers.cluster_id is not cluster_id:
            headers = connection.headers = identity_headers(
                identity, self._bridge_id, self._rules, cluster_id
            )
        if connection.seat is None:
            self._top.seat(connection, uuid.UUID(bytes=client_instance_id))
        return headers

    def _finish_push(  # noqa: PLR0917 - bound by position, which is cheaper
        self,
        correlation_id: int,
        client_instance_id: bytes,
        was_terminating: bool,  # noqa: FBT001 - see above
        received_at_ms: int,
        connection: Connection,
        reply: WriteReply,
        is_stored: bool,  # noqa: FBT001 - the one thing that a publisher says
    ) -> None:
        if not is_stored:
            self._instances.take_back(
                client_instance_id, was_terminating=was_terminating
            )
            instance_id = uuid.UUID(bytes=client_instance_id)
            self._top.count_export_error(connection, instance_id)
            error = ErrorCode.throttling_quota_exceeded
            reply(encode_push_reply(correlation_id, error))
            return
        self._counters.accepted_pushes += 1
        # Most connections have no seat, and their pushes cost nothing here.
        if connection.seat is not None:
            # A clock that steps back must not take time away from the sum.
            took_ms = max(self._now_ms() - received_at_ms, 0)
            instance_id = uuid.UUID(bytes=client_instance_id)
            self._top.count_export(connection, instance_id, took_ms)
        reply(encode_push_reply(correlation_id, ErrorCode.none))

    def _note_refused(
        self,
        connection: Connection,
        client_instance_id: uuid.UUID | None,
        error: ErrorCode,
    ) -> None:
        is_throttled = error is ErrorCode.throttling_quota_exceeded
        if is_throttled and client_instance_id is not None:
            self._top.count_throttle(connection, client_instance_id)
        self._on_refused(connection, client_instance_id, error)


def _as_uuid(push: PushRequest) -> uuid.UUID | None:
    """Return the client instance id of a push, None for the zero id."""
    is_none = not any(push.client_instance_id)
    return None if is_none else uuid.UUID(bytes=push.client_instance_id)
