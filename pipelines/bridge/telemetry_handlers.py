"""Handlers of GetTelemetrySubscriptions and PushTelemetry.

A push is answered once Kafka has its record, or once it is known not to take it.
"""

import uuid
from collections.abc import Callable
from functools import partial

from kio.schema.errors import ErrorCode
from kio.schema.get_telemetry_subscriptions.v0.request import (
    GetTelemetrySubscriptionsRequest,
)

from .client_instances import ClientInstances
from .counters import BridgeCounters
from .handlers import Connection, ServedRequest, WriteReply, expect
from .instance_metrics import TopInstances
from .protocol.push_telemetry import PUSH_TELEMETRY_API, PushRequest
from .protocol.replies import encode_body, encode_push_body, encode_reply
from .protocol.requests import GET_TELEMETRY_SUBSCRIPTIONS_API, Request
from .records import PushIds, TelemetryRecord, identity_headers, make_record

Acknowledge = Callable[[bool], None]
Publish = Callable[[TelemetryRecord, Acknowledge], None]
"""Takes a record and says once, now or later, whether Kafka has it."""
OnRefused = Callable[[Connection, uuid.UUID | None, ErrorCode], None]


class TelemetryHandlers:
    """Answers the telemetry requests of all connections."""

    def __init__(
        self,
        *,
        bridge_id: str,
        instances: ClientInstances,
        push_ids: PushIds,
        publish: Publish,
        now_ms: Callable[[], int],
        counters: BridgeCounters,
        top: TopInstances | None = None,
        on_refused: OnRefused = lambda _connection, _instance_id, _error: None,
    ) -> None:
        """Take what the answers depend on.

        Args:
            bridge_id: Name of this bridge in its records.
            instances: The rules, and the state of each client instance.
            push_ids: Makes the ids of accepted pushes.
            publish: Writes a record and says once whether Kafka has it.
            now_ms: Milliseconds since 1970-01-01T00:00:00Z.
            counters: What is counted of all client instances together.
            top: What is counted of some client instances; None counts none.
            on_refused: Told of each push and each GET that the rules do not accept.
        """
        self._bridge_id = bridge_id
        self._instances = instances
        self._push_ids = push_ids
        self._publish = publish
        self._now_ms = now_ms
        self._counters = counters
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
                api=PUSH_TELEMETRY_API, handle=self._answer_push, is_counted=True
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
        reply(encode_reply(request, encode_body(response)))

    def _answer_push(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = expect(PushRequest, request)
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
            reply(encode_reply(request, encode_push_body(error)))
            return
        if connection.headers is None:
            connection.headers = identity_headers(connection.identity, self._bridge_id)
            self._top.seat(connection, uuid.UUID(bytes=body.client_instance_id))
        record = make_record(
            body,
            instance,
            connection_headers=connection.headers,
            push_id=self._push_ids.make(now_ms),
            received_at_ms=now_ms,
        )
        finish = partial(
            self._finish_push, request, body, connection, reply, received_at_ms=now_ms
        )
        self._publish(record, finish)

    def _finish_push(
        self,
        request: Request,
        body: PushRequest,
        connection: Connection,
        reply: WriteReply,
        is_stored: bool,  # noqa: FBT001 - the one thing that a publisher says
        *,
        received_at_ms: int,
    ) -> None:
        error = ErrorCode.none
        if is_stored:
            self._counters.accepted_pushes += 1
        else:
            error = ErrorCode.throttling_quota_exceeded
            self._instances.take_back(body)
        # Most connections have no seat, and their pushes cost nothing here.
        if connection.seat is not None or not is_stored:
            self._count_export(body, connection, received_at_ms, is_stored=is_stored)
        reply(encode_reply(request, encode_push_body(error)))

    def _count_export(
        self,
        body: PushRequest,
        connection: Connection,
        received_at_ms: int,
        *,
        is_stored: bool,
    ) -> None:
        # A clock that steps back must not take time away from the sum.
        took_ms = max(self._now_ms() - received_at_ms, 0)
        instance_id = uuid.UUID(bytes=body.client_instance_id)
        self._top.count_export(connection, instance_id, took_ms, is_stored=is_stored)

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
