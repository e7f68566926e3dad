"""What one client of the proxy asks that is not only passed on; no I/O, no clock.

ApiVersions and SASL are read as they pass, so that it is known who the client is. The
telemetry requests, and PushConfig, are answered here by the bridge's own handlers,
within a time that data behind them can wait.
"""

import struct
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest

from pipelines.bridge.core.handlers import Connection, note_software
from pipelines.bridge.protocol.api_keys import (
    API_VERSIONS,
    GET_TELEMETRY_SUBSCRIPTIONS,
)
from pipelines.bridge.protocol.client_configs import AlterRequest
from pipelines.bridge.protocol.errors import UnsupportedRequest
from pipelines.bridge.protocol.replies import (
    answer_api_versions,
    encode_reply,
    is_valid_software,
)
from pipelines.bridge.protocol.requests import (
    UNREADABLE,
    Request,
    parse_request,
)
from pipelines.bridge.protocol.software import ClientSoftware
from pipelines.bridge.proxy.frames.api_versions import ASKED_VERSION, limit_api_versions
from pipelines.bridge.proxy.frames.line import Awaited, Line, OwnReply, Write
from pipelines.kafka_client.client_configs import DescribeRequest
from pipelines.kafka_client.primitives import Cursor, MalformedBytes
from pipelines.kafka_wire.cluster_requests import encode_request

from .keep_alive import make_question
from .sasl_watch import UNKNOWN_PRINCIPAL, Acceptance, SaslWatch, Stage
from .shared import ProxyRules, refuse

_INT64 = struct.Struct(">q")
_MS = 1_000
_FIRST_FLEXIBLE_AUTHENTICATE = 2
_FIRST_AUTHENTICATE_WITH_LIFETIME = 1

_USUAL_PUSH_INTERVAL_MS = 300_000
"""Of a client whose own is not known: KIP-714's default."""
_PUSH_INTERVALS = 2
"""Within them the next push comes, if one does: the first after up to 1.5."""
_SESSION_RESERVE, _MOST_SESSION_RESERVE_S = 0.1, 5.0
"""Of a session's time, its last part: who asks behind its end is cut off."""
MAX_HELD_REQUESTS = 2
"""Of one client, while the owner of its token is asked for; it sends one at a time."""

Fill = Callable[[OwnReply, bytes], None]
"""Takes a reply to its place in line; a second one is dropped."""


class ClientRequests:
    """Reads and answers the requests of one client."""

    __slots__ = (
        "_asked_s",
        "_fill",
        "_held",
        "_lifetime_end_s",
        "_line",
        "_rules",
        "_sasl",
        "_spoken_for_end_s",
        "connection",
        "traffic",
    )

    def __init__(
        self, rules: ProxyRules, connection: Connection, line: Line, fill: Fill
    ) -> None:
        self._rules = rules
        self._fill = fill
        self._line = line
        self._sasl = SaslWatch(rules.claim_name)
        self._lifetime_end_s: float | None = None
        self._spoken_for_end_s: float | None = None
        """Until when the broker surely takes a request of ours; None for ever."""
        self._asked_s: float | None = None
        """When the last request came that is answered here; None for never."""
        self._held: list[tuple[Request, OwnReply]] | None = None
        """What waits until the owner of a delegation token is known; None otherwise."""
        self.connection = connection
        self.traffic = None if rules.traffic is None else rules.traffic.watch(self)
        """Counts its data; None where nobody does."""

    def note_broker(self, node_id: int) -> None:
        """Note whom the client is connected to by us, before its first request."""
        connection = self.connection
        connection.change_identity(replace(connection.identity, broker_id=node_id))

    def forget(self) -> None:
        """Forget a client that is gone."""
        traffic, self.traffic = self.traffic, None
        if traffic is not None:
            traffic.end()
        self._held = None
        self._rules.handlers.forget(self.connection)

    def read_request(
        self, api_key: int, api_version: int, frame: bytes
    ) -> Awaited | OwnReply:
        """Read a request without its size; OwnReply where it is not passed on.

        Raises: MalformedBytes, UnsupportedRequest.
        """
        if api_key in self._rules.own_keys:
            if not (self.is_authenticated() or self._sasl.is_unread):
                raise UnsupportedRequest(f"API key {api_key} before authentication")
            return OwnReply()
        request = parse_request(frame, self._rules.read_apis)
        body = request.body
        if isinstance(body, ClientSoftware) and is_valid_software(body):
            note_software(body, self.connection)
        if body is UNREADABLE:
            # The broker may close the connection, so that it is not asked.
            return OwnReply()
        if api_key == API_VERSIONS:
            if isinstance(body, ClientSoftware) and self._rules.is_own_api_versions(
                api_version
            ):
                return self._ask_in_known_version(request, body)
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
            line = self._line
            line.expects_token = False
            last = line[-1] if line else None
            if isinstance(last, Awaited) and last.correlation_id is None:
                # The broker is content with the last token, and says nothing to it.
                line.pop()
            self._accept(Acceptance(principal=UNKNOWN_PRINCIPAL, lifetime_ms=0))
            return None
        self._sasl.take_token(token)
        return Awaited(None, self._take_raw_token)

    def answer(self, frame: bytes, place: OwnReply) -> None:
        """Answer a request now or later; its place is in line.

        Raises: MalformedBytes, UnsupportedRequest.
        """
        rules = self._rules
        request = parse_request(frame, rules.answered_apis)
        if request.api_key == API_VERSIONS:
            whole = encode_reply(request, answer_api_versions(request, rules.read_apis))
            self._fill(place, whole)
            return
        # Whoever asks of dynamic configs does so with data: no push is due for that.
        is_of_configs = isinstance(request.body, AlterRequest | DescribeRequest)
        if not is_of_configs:
            self._asked_s = rules.now_s()
        is_push = not (is_of_configs or request.api_key == GET_TELEMETRY_SUBSCRIPTIONS)
        is_shut = is_push and not rules.gate.is_open(rules.now_s())
        held = self._held or ()
        if is_shut or self._sasl.is_unread or len(held) >= MAX_HELD_REQUESTS:
            self._fill(place, refuse(request))
            return
        if self._held is None:
            self._handle(request, place)
        else:
            self._held.append((request, place))
        # An alteration has a time of its own, and an admin waits for nothing else.
        if place.frame is None and not isinstance(request.body, AlterRequest):
            rules.answer_later(partial(self._refuse_late, request, place))

    def _handle(self, request: Request, place: OwnReply) -> None:
        reply = partial(self._fill, place)
        try:
            self._rules.handlers.handle(request, self.connection, reply)
        except Exception as error:  # noqa: BLE001 - the top of a request: data goes on
            self._rules.note_failure(error)
            reply(refuse(request))

    def _refuse_late(self, request: Request, place: OwnReply) -> None:
        if place.frame is None:
            self._rules.note_late()
            self._fill(place, refuse(request))
            if self._held:
                self._held = [one for one in self._held if one[1] is not place]

    def is_authenticated(self) -> bool:
        """Say whether the broker knows who it is, where it wants to know."""
        end_s = self._lifetime_end_s
        is_over = end_s is not None and self._rules.now_s() >= end_s
        return self._has_logged_in() and not is_over

    def is_expected(self, now_s: float, slack_s: float) -> bool:
        """Say whether a request is due that is answered here, as pushes are.

        Args:
            now_s: The time, as rules.now_s says it.
            slack_s: So much later it may come, in seconds.
        """
        if self._asked_s is None:
            return False
        interval_ms = self.connection.push_interval_ms or _USUAL_PUSH_INTERVAL_MS
        return now_s <= self._asked_s + _PUSH_INTERVALS * interval_ms / _MS + slack_s

    def speak_up(self, now_s: float, to_broker: Write) -> bool:
        """Ask something in the client's name; False where it is not the time for it."""
        end_s = self._spoken_for_end_s
        if not self.is_authenticated() or (end_s is not None and now_s >= end_s):
            return False
        question, place = make_question(self.connection.identity.client_id)
        self._line.append(place)
        to_broker(question)
        return True

    def is_named(self) -> bool:
        """Return whether the principal is known, also after its session has ended."""
        return self._held is None and self._has_logged_in()

    def _has_logged_in(self) -> bool:
        """Return whether the broker has accepted a login, if it requires one."""
        return not self._rules.has_sasl or self._sasl.stage is Stage.ACCEPTED

    def _ask_in_known_version(self, request: Request, body: ClientSoftware) -> Awaited:
        """Ask the broker what it would be asked, without what is the bridge's alone."""
        asked = ApiVersionsRequest(
            client_software_name=body.client_software_name,
            client_software_version=body.client_software_version,
        )
        instead = encode_request(
            asked,
            correlation_id=request.correlation_id,
            client_id=request.client_id,
        )
        known = request._replace(api_version=ASKED_VERSION)
        return self._await(known, self._take_api_versions, instead)

    def _await(
        self,
        request: Request,
        take: Callable[[int, bytes], bytes | None],
        instead: bytes | None = None,
    ) -> Awaited:
        def take_body(body: bytes) -> bytes:
            try:
                return take(request.api_version, body) or body
            except MalformedBytes:
                # What the broker has answered is for the client to judge.
                return body

        return Awaited(request.correlation_id, take_body, instead)

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
        self._name_client(accepted.principal)
        self._lifetime_end_s = self._spoken_for_end_s = None
        if accepted.lifetime_ms > 0:
            lifetime_s = accepted.lifetime_ms / _MS
            reserve_s = min(_SESSION_RESERVE * lifetime_s, _MOST_SESSION_RESERVE_S)
            self._lifetime_end_s = self._rules.now_s() + lifetime_s
            self._spoken_for_end_s = self._lifetime_end_s - reserve_s
        if accepted.token_id is not None:
            self._held = self._held or []
            self._rules.find_owner(accepted.token_id, self._take_owner)

    def _name_client(self, principal: str) -> None:
        connection = self.connection
        if connection.identity.principal != principal:
            connection.change_identity(
                replace(connection.identity, principal=principal)
            )

    def _take_owner(self, principal: str | None) -> None:
        if principal is not None:
            self._name_client(principal)
        held, self._held = self._held or [], None
        for request, place in held:
            if place.frame is None:
                self._handle(request, place)
