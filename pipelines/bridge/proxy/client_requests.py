"""What one client of the proxy asks that is not only passed on; no I/O, no clock.

ApiVersions and SASL are read as they pass, so that it is known who the client is. The
telemetry requests, and PushConfig, are answered here by the bridge's own handlers,
within a time that data behind them can wait.
"""

import struct
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest

from pipelines.bridge.client_instances import refuse_get
from pipelines.bridge.handlers import Connection, note_software
from pipelines.bridge.protocol.api_keys import (
    API_VERSIONS,
    GET_TELEMETRY_SUBSCRIPTIONS,
    PUSH_TELEMETRY,
)
from pipelines.bridge.protocol.api_versions import is_valid_software
from pipelines.bridge.protocol.cursor import Cursor
from pipelines.bridge.protocol.errors import MalformedRequest, UnsupportedRequest
from pipelines.bridge.protocol.push_config import write_push_config_response
from pipelines.bridge.protocol.replies import (
    encode_body,
    encode_push_reply,
    encode_reply,
)
from pipelines.bridge.protocol.requests import (
    Request,
    parse_request,
)
from pipelines.bridge.protocol.software import ClientSoftware

from .api_versions import limit_api_versions
from .line import Awaited, Line, OwnReply
from .rules import READ_APIS, ProxyRules
from .sasl_watch import UNKNOWN_PRINCIPAL, Acceptance, SaslWatch, Stage

_INT64 = struct.Struct(">q")
_MS = 1_000
_FIRST_FLEXIBLE_AUTHENTICATE = 2
_FIRST_AUTHENTICATE_WITH_LIFETIME = 1

Fill = Callable[[OwnReply, bytes], None]
"""Takes a reply to its place in line; a second one is dropped."""


class ClientRequests:
    """Reads and answers the requests of one client."""

    __slots__ = ("_fill", "_lifetime_end_s", "_line", "_rules", "_sasl", "connection")

    def __init__(
        self, rules: ProxyRules, connection: Connection, line: Line, fill: Fill
    ) -> None:
        self._rules = rules
        self._fill = fill
        self._line = line
        self._sasl = SaslWatch(rules.claim_name)
        self._lifetime_end_s: float | None = None
        self.connection = connection

    def read_request(
        self, api_key: int, api_version: int, frame: bytes
    ) -> Awaited | OwnReply:
        """Read a request without its size; OwnReply where it is not passed on.

        Raises: MalformedRequest, UnsupportedRequest.
        """
        if api_key in self._rules.own_keys:
            if not self.is_authenticated():
                raise UnsupportedRequest(f"API key {api_key} before authentication")
            return OwnReply()
        request = parse_request(frame, READ_APIS)
        body = request.body
        if isinstance(body, ClientSoftware) and is_valid_software(body):
            note_software(body, self.connection)
        if api_key == API_VERSIONS:
            return self._await(request, self._take_api_versions)
        if isinstance(body, SaslHandshakeRequest):
            self._sasl.begin(body.mechanism)
            return self._await(request, self._take_handshake)
        if isinstance(body, SaslAuthenticateRequest):
            self._sasl.take_token(body.auth_bytes)
            return self._await(request, self._take_authentication)
        raise UnsupportedRequest(f"API key {api_key} version {api_version}")

    def read_token(self, token: bytes) -> Awaited | None:
        """Read a token; None where the frame is a request after all."""
        if self._sasl.is_request(token):
            self._line.expects_token = False
            self._accept(Acceptance(principal=UNKNOWN_PRINCIPAL, lifetime_ms=0))
            return None
        self._sasl.take_token(token)
        return Awaited(None, self._take_raw_token)

    def answer(self, frame: bytes, place: OwnReply) -> None:
        """Answer a request now or later; its place is in line.

        Raises: MalformedRequest, UnsupportedRequest.
        """
        rules = self._rules
        request = parse_request(frame, rules.own_apis)
        reply = partial(self._fill, place)
        is_push = request.api_key != GET_TELEMETRY_SUBSCRIPTIONS
        if is_push and not rules.gate.is_open(rules.now_s()):
            reply(_refuse(request))
            return
        try:
            rules.handlers.handle(request, self.connection, reply)
        except Exception as error:  # noqa: BLE001 - the top of a request: data goes on
            rules.note_failure(error)
            reply(_refuse(request))
        if place.frame is None:
            rules.answer_later(partial(self._refuse_late, request, place))

    def _refuse_late(self, request: Request, place: OwnReply) -> None:
        if place.frame is None:
            self._rules.note_late()
            self._fill(place, _refuse(request))

    def is_authenticated(self) -> bool:
        """Say whether the broker knows who it is, where it wants to know."""
        if not self._rules.has_sasl:
            return True
        end_s = self._lifetime_end_s
        is_over = end_s is not None and self._rules.now_s() >= end_s
        return self._sasl.stage is Stage.ACCEPTED and not is_over

    def _await(
        self, request: Request, take: Callable[[int, bytes], bytes | None]
    ) -> Awaited:
        def take_body(body: bytes) -> bytes:
            try:
                return take(request.api_version, body) or body
            except MalformedRequest:
                # What the broker has answered is for the client to judge.
                return body

        return Awaited(request.correlation_id, take_body)

    def _take_api_versions(self, api_version: int, body: bytes) -> bytes:
        return limit_api_versions(api_version, body, self._rules.own_versions())

    def _take_handshake(self, api_version: int, body: bytes) -> None:
        error_code = Cursor(body).read_int16()
        self._sasl.agree(error_code=error_code, api_version=api_version)
        self._line.expects_token = self._sasl.expects_raw_token

    def _take_authentication(self, api_version: int, body: bytes) -> None:
        cursor = Cursor(body)
        is_flexible = api_version >= _FIRST_FLEXIBLE_AUTHENTICATE
        if is_flexible:
            cursor.skip_tagged_fields()
        error_code = cursor.read_int16()
        if is_flexible:
            cursor.read_compact_string()
            token = cursor.read_compact_bytes()
        else:
            cursor.read_legacy_string()
            token = cursor.read_legacy_bytes()
        has_lifetime = api_version >= _FIRST_AUTHENTICATE_WITH_LIFETIME
        lifetime_ms = cursor.unpack(_INT64)[0] if has_lifetime else 0
        self._take_verdict(error_code, token or b"", lifetime_ms)

    def _take_raw_token(self, token: bytes) -> bytes:
        self._take_verdict(0, token, 0)
        return token

    def _take_verdict(self, error_code: int, token: bytes, lifetime_ms: int) -> None:
        accepted = self._sasl.take_answer(
            error_code=error_code, token=token, lifetime_ms=lifetime_ms
        )
        self._line.expects_token = self._sasl.expects_raw_token
        if accepted is not None:
            self._accept(accepted)

    def _accept(self, accepted: Acceptance) -> None:
        connection = self.connection
        if connection.identity.principal != accepted.principal:
            connection.change_identity(
                replace(connection.identity, principal=accepted.principal)
            )
        self._lifetime_end_s = None
        if accepted.lifetime_ms > 0:
            end_s = self._rules.now_s() + accepted.lifetime_ms / _MS
            self._lifetime_end_s = end_s


def _refuse(request: Request) -> bytes:
    """Return the reply that a client understands as: later."""
    error = ErrorCode.throttling_quota_exceeded
    if request.api_key == PUSH_TELEMETRY:
        return encode_push_reply(request.correlation_id, error)
    if request.api_key == GET_TELEMETRY_SUBSCRIPTIONS:
        return encode_reply(request, encode_body(refuse_get(error)))
    return encode_reply(request, write_push_config_response(error.value, None))
