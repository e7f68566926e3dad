"""Handlers of GetTelemetrySubscriptions and PushTelemetry.

A push is answered once Kafka has its record, or once it is known not to take it.
"""

from collections.abc import Callable
from functools import partial

from kio.schema.errors import ErrorCode
from kio.schema.get_telemetry_subscriptions.v0.request import (
    GetTelemetrySubscriptionsRequest,
)

from .client_instances import ClientInstances
from .counters import BridgeCounters
from .handlers import Connection, ServedRequest, WriteReply, expect
from .protocol.push_telemetry import PUSH_TELEMETRY_API, PushRequest
from .protocol.replies import encode_body, encode_push_body, encode_reply
from .protocol.requests import GET_TELEMETRY_SUBSCRIPTIONS_API, Request
from .records import PushIds, TelemetryRecord, identity_headers, make_record

Acknowledge = Callable[[bool], None]
Publish = Callable[[TelemetryRecord, Acknowledge], None]
"""Takes a record and says once, now or later, whether Kafka has it."""


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
    ) -> None:
        self._bridge_id = bridge_id
        self._instances = instances
        self._push_ids = push_ids
        self._publish = publish
        self._now_ms = now_ms
        self._counters = counters

    def served(self) -> list[ServedRequest]:
        """Return the APIs answered here."""
        return [
            ServedRequest(api=GET_TELEMETRY_SUBSCRIPTIONS_API, handle=self._answer_get),
            ServedRequest(api=PUSH_TELEMETRY_API, handle=self._answer_push),
        ]

    def forget(self, connection: Connection) -> None:
        """Forget what a closed connection has made."""
        self._instances.forget_connection(connection.connection_id)

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
            reply(encode_reply(request, encode_push_body(error)))
            return
        if connection.headers is None:
            connection.headers = identity_headers(connection.identity, self._bridge_id)
        record = make_record(
            body,
            instance,
            connection_headers=connection.headers,
            push_id=self._push_ids.make(now_ms),
            received_at_ms=now_ms,
        )
        self._publish(record, partial(self._finish_push, request, body, reply))

    def _finish_push(
        self,
        request: Request,
        body: PushRequest,
        reply: WriteReply,
        is_stored: bool,  # noqa: FBT001 - the one thing that a publisher says
    ) -> None:
        error = ErrorCode.none
        if is_stored:
            self._counters.accepted_pushes += 1
        else:
            error = ErrorCode.throttling_quota_exceeded
            self._instances.take_back(body)
        reply(encode_reply(request, encode_push_body(error)))
