"""One handler per API key: request in, reply out, now or once Kafka has answered.

What is not in the table of handlers is not served here; the transport closes the
connection, as a broker does. No sockets and no clock: both come in as arguments.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from kio.schema.api_versions.v4.request import ApiVersionsRequest
from kio.schema.errors import ErrorCode
from kio.schema.get_telemetry_subscriptions.v0.request import (
    GetTelemetrySubscriptionsRequest,
)
from kio.schema.metadata.v13.request import MetadataRequest
from kio.schema.push_telemetry.v0.request import PushTelemetryRequest

from .client_identity import ClientIdentity
from .client_instances import ClientInstances
from .counters import BridgeCounters
from .protocol.api_keys import (
    API_VERSIONS,
    GET_TELEMETRY_SUBSCRIPTIONS,
    METADATA,
    PUSH_TELEMETRY,
)
from .protocol.api_versions import (
    UNKNOWN_SOFTWARE,
    answer_api_versions,
    is_valid_software,
)
from .protocol.metadata import AdvertisedNode, answer_metadata
from .protocol.replies import encode_body, encode_push_body, encode_reply
from .protocol.requests import Request
from .records import Header, PushIds, TelemetryRecord, identity_headers, make_record

WriteReply = Callable[[bytes], None]
Acknowledge = Callable[[bool], None]
Publish = Callable[[TelemetryRecord, Acknowledge], None]
"""Takes a record and says once, now or later, whether Kafka has it."""

Body = TypeVar("Body")

ANONYMOUS = "User:ANONYMOUS"


@dataclass(slots=True, kw_only=True)
class Connection:
    """What is known of one connection."""

    connection_id: int
    identity: ClientIdentity
    headers: tuple[Header, ...] = ()
    """identity as headers; made when first needed, empty when out of date."""


def make_identity(listener: str, address: str, port: int) -> ClientIdentity:
    """Return what is known of a client that has only connected."""
    return ClientIdentity(
        client_id=None,
        client_software_name=UNKNOWN_SOFTWARE,
        client_software_version=UNKNOWN_SOFTWARE,
        principal=ANONYMOUS,
        listener=listener,
        client_source_address=address,
        client_source_port=port,
    )


class RequestHandlers:
    """Answers the requests of all connections."""

    def __init__(
        self,
        *,
        bridge_id: str,
        node: AdvertisedNode,
        instances: ClientInstances,
        push_ids: PushIds,
        publish: Publish,
        now_ms: Callable[[], int],
        counters: BridgeCounters,
    ) -> None:
        self._bridge_id = bridge_id
        self._node = node
        self._instances = instances
        self._push_ids = push_ids
        self._publish = publish
        self._now_ms = now_ms
        self._counters = counters
        self._handlers: Mapping[
            int, Callable[[Request, Connection, WriteReply], None]
        ] = {
            METADATA: self._answer_metadata,
            API_VERSIONS: self._answer_api_versions,
            GET_TELEMETRY_SUBSCRIPTIONS: self._answer_get,
            PUSH_TELEMETRY: self._answer_push,
        }

    def handle(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        """Answer one request; reply is called once, at once or later."""
        if connection.identity.client_id != request.client_id:
            connection.identity = replace(
                connection.identity, client_id=request.client_id
            )
            connection.headers = ()
        self._handlers[request.api_key](request, connection, reply)

    def forget(self, connection: Connection) -> None:
        """Forget what a closed connection has made."""
        self._instances.forget_connection(connection.connection_id)

    def _answer_api_versions(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = request.body
        if isinstance(body, ApiVersionsRequest) and is_valid_software(body):
            connection.identity = replace(
                connection.identity,
                client_software_name=body.client_software_name,
                client_software_version=body.client_software_version,
            )
            connection.headers = ()
        reply(_encode(request, answer_api_versions(request)))

    def _answer_metadata(
        self, request: Request, _connection: Connection, reply: WriteReply
    ) -> None:
        body = _expect(MetadataRequest, request)
        answer = answer_metadata(body, request.api_version, self._node)
        reply(_encode(request, answer))

    def _answer_get(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = _expect(GetTelemetrySubscriptionsRequest, request)
        response = self._instances.get(
            body.client_instance_id,
            connection.identity,
            connection_id=connection.connection_id,
            now_ms=self._now_ms(),
        )
        self._counters.gets += 1
        if response.error_code is not ErrorCode.none:
            self._counters.throttled_gets += 1
        reply(_encode(request, encode_body(response)))

    def _answer_push(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = _expect(PushTelemetryRequest, request)
        now_ms = self._now_ms()
        error, instance = self._instances.push(
            body,
            connection.identity,
            connection_id=connection.connection_id,
            now_ms=now_ms,
        )
        if error is not ErrorCode.none or instance is None:
            self._counters.count_refused_push(error)
            reply(_encode(request, encode_push_body(error)))
            return
        if not connection.headers:
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
        body: PushTelemetryRequest,
        reply: WriteReply,
        is_stored: bool,  # noqa: FBT001 - the one thing that a publisher says
    ) -> None:
        error = ErrorCode.none
        if is_stored:
            self._counters.accepted_pushes += 1
        else:
            error = ErrorCode.throttling_quota_exceeded
            self._instances.take_back(body)
        reply(_encode(request, encode_push_body(error)))


def _encode(request: Request, body: bytes) -> bytes:
    return encode_reply(
        request.api_key, request.api_version, request.correlation_id, body
    )


def _expect(kind: type[Body], request: Request) -> Body:
    if not isinstance(request.body, kind):
        raise TypeError(f"API key {request.api_key} has no {kind.__name__}")
    return request.body
