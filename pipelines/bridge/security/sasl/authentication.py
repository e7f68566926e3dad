"""One connection's way through SASL: frames in, what to do next out.

Strategy: a state machine without I/O, clock and randomness as arguments. Before
authentication it takes ApiVersions once, SaslHandshake, and tokens; anything else is
the end of the connection, as in Kafka. What comes back for bad bytes: a Refused step,
nothing is raised. Tokens come as SaslAuthenticate after SaslHandshake 1, and as bare
frames after SaslHandshake 0.
Source: Kafka, SaslServerAuthenticator.java, KafkaChannel.java; KIP-43, KIP-152,
KIP-368.
"""

from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest

from pipelines.bridge.protocol.api_keys import API_VERSIONS, index_apis
from pipelines.bridge.protocol.replies import is_valid_software
from pipelines.bridge.protocol.requests import UNREADABLE, Request, parse_request
from pipelines.bridge.protocol.sasl import (
    SASL_AUTHENTICATE_API,
    SASL_HANDSHAKE_API,
    frame_raw_token,
    reply_authenticate,
    reply_handshake,
)
from pipelines.bridge.protocol.software import ClientSoftware
from pipelines.kafka_client.primitives import WireError

from .mechanisms import Challenge, Check, Is, Mechanism, Refusal
from .steps import Accepted, Answer, PassOn, Refused, SaslRules, State, Step

MIN_REAUTHENTICATION_MS = 1_000
"""Kafka lets nobody authenticate again sooner."""
_LONGEST_SESSION_MS = 100 * 365 * 86_400_000
"""A token may end later, and timers and clients' clocks cannot count so far."""
_TOKEN_APIS = index_apis(SASL_AUTHENTICATE_API)


class SaslAuthentication:
    """The state of one connection; authenticates again when its session must end."""

    __slots__ = (
        "_began_again_ms",
        "_has_headers",
        "_is_limited",
        "_mechanism",
        "_mechanism_name",
        "_principal",
        "_request",
        "_rules",
        "state",
    )

    def __init__(self, rules: SaslRules) -> None:
        self.state = State.begun
        self._rules = rules
        self._has_headers = False
        self._is_limited = False
        self._mechanism: Mechanism | None = None
        self._mechanism_name = ""
        self._principal = ""
        """Set once the first authentication has succeeded; it never changes."""
        self._began_again_ms = -MIN_REAUTHENTICATION_MS
        self._request: Request | None = None

    def receive_frame(self, frame: bytes) -> Step:
        """Take the next frame of a connection that is not authenticated (any more)."""
        try:
            return self._steps[self.state](self, frame)
        except WireError as error:
            return self._break(str(error))

    def finish_check(self, *, is_good: bool) -> Step:
        """Take the outcome of the Check that was handed out."""
        if self.state is not State.checking or self._mechanism is None:
            raise RuntimeError("no check is under way")
        self.state = State.tokens
        try:
            return self._accept(self._mechanism.finish(is_good))
        except Refusal as refusal:
            return self._refuse(refusal)

    def expire(self) -> None:
        """End the session; the client may begin another one on this connection."""
        if self.state is State.done:
            self.state = State.expired

    def begin_again(self, request: Request) -> Answer | Refused | None:
        """Take SaslHandshake of an authenticated connection.

        Returns: None where Kafka allows no other authentication: its session has no
            end, or the last one began less than a second ago.
        """
        now_ms = self._rules.now_ms()
        is_soon = now_ms - self._began_again_ms < MIN_REAUTHENTICATION_MS
        if self.state is not State.done or not self._is_limited or is_soon:
            return None
        self._began_again_ms = now_ms
        return self._shake_hands(request)

    def _take_first(self, frame: bytes) -> Step:
        request = parse_request(frame, self._rules.readable)
        if request.api_key != API_VERSIONS:
            return self._shake_hands(request)
        if self.state is not State.begun:
            return self._break("ApiVersions for the second time")
        body = request.body
        is_readable = request.api_version in self._rules.apis[API_VERSIONS].versions
        is_readable = is_readable and body is not UNREADABLE
        if is_readable and (
            not isinstance(body, ClientSoftware) or is_valid_software(body)
        ):
            self.state = State.versions_told
        return PassOn(request)

    def _take_handshake(self, frame: bytes) -> Step:
        request = parse_request(frame, index_apis(SASL_HANDSHAKE_API))
        self._began_again_ms = self._rules.now_ms()
        return self._shake_hands(request)

    def _shake_hands(self, request: Request) -> Answer | Refused:
        body = request.body
        if not isinstance(body, SaslHandshakeRequest):
            return self._break("SaslHandshake of an unknown form")
        rules = self._rules
        self._has_headers = request.api_version >= 1
        if body.mechanism not in rules.mechanisms:
            self.state = State.refused
            error = ErrorCode.unsupported_sasl_mechanism
            reply = reply_handshake(request, error, rules.mechanisms)
            return Refused(
                reason="SASL mechanism that is not offered",
                reply=reply,
                is_failed_authentication=True,
            )
        if self._principal and body.mechanism != self._mechanism_name:
            # Kafka's answer, too: the client hears of it at its first token.
            self._mechanism = None
        else:
            self._mechanism_name = body.mechanism
            self._mechanism = rules.start(body.mechanism)
        self.state = State.tokens
        return Answer(reply_handshake(request, ErrorCode.none, rules.mechanisms))

    def _take_token(self, frame: bytes) -> Step:
        if self._mechanism is None:
            return self._break(
                "another SASL mechanism at re-authentication", is_failed=True
            )
        token = frame
        if self._has_headers:
            request = self._read_token_request(frame)
            if isinstance(request, Refused):
                return request
            self._request = request
            if not isinstance(request.body, SaslAuthenticateRequest):
                return self._break("SaslAuthenticate of an unknown form")
            token = request.body.auth_bytes
        return self._judge(self._mechanism, token)

    def _judge(self, mechanism: Mechanism, token: bytes) -> Step:
        try:
            outcome = mechanism.receive(token)
        except Refusal as refusal:
            return self._refuse(refusal)
        if isinstance(outcome, Check):
            self.state = State.checking
            return outcome
        if isinstance(outcome, Challenge):
            return Answer(self._reply(outcome.token))
        return self._accept(outcome)

    def _read_token_request(self, frame: bytes) -> Request | Refused:
        """Read SaslAuthenticate; what may be answered instead of it gets an error."""
        try:
            return parse_request(frame, _TOKEN_APIS)
        except WireError:
            request = parse_request(frame, index_apis(SASL_HANDSHAKE_API))
        self.state = State.refused
        reply = reply_handshake(request, ErrorCode.illegal_sasl_state, ())
        return Refused(reason="SaslHandshake amid tokens", reply=reply)

    def _accept(self, who: Is) -> Step:
        principal = f"User:{who.name}"
        if self._principal not in {"", principal}:
            return self._refuse(
                Refusal("Cannot change principals during re-authentication")
            )
        limits = [self._rules.max_reauth_ms] if self._rules.max_reauth_ms else []
        if who.expires_at_ms is not None:
            # A token that the clocks' skew alone keeps alive is over at once.
            left_ms = max(who.expires_at_ms - self._rules.now_ms(), 0)
            limits.append(min(left_ms, _LONGEST_SESSION_MS))
        lifetime_ms = min(limits, default=None)
        self._principal = principal
        self._is_limited = lifetime_ms is not None
        self.state = State.done
        reply = self._reply(who.token, session_lifetime_ms=lifetime_ms or 0)
        self._request = self._mechanism = None
        return Accepted(reply=reply, principal=principal, lifetime_ms=lifetime_ms)

    def _refuse(self, refusal: Refusal) -> Refused:
        self.state = State.refused
        again = "re-authentication" if self._principal else "authentication"
        text = refusal.client_text or (
            f"Authentication failed during {again} due to invalid credentials with "
            f"SASL mechanism {self._mechanism_name}"
        )
        reply = b""
        if self._request is not None:
            reply = reply_authenticate(
                self._request,
                error_code=ErrorCode.sasl_authentication_failed,
                error_message=text,
            )
        return Refused(
            reason=f"{again} by {self._mechanism_name} failed",
            reply=reply,
            is_failed_authentication=True,
        )

    def _break(self, reason: str, *, is_failed: bool = False) -> Refused:
        self.state = State.refused
        return Refused(reason=reason, is_failed_authentication=is_failed)

    def _reply(self, token: bytes, *, session_lifetime_ms: int = 0) -> bytes:
        if self._request is None:
            return frame_raw_token(token)
        return reply_authenticate(
            self._request, auth_bytes=token, session_lifetime_ms=session_lifetime_ms
        )

    def _take_nothing(self, _frame: bytes) -> Step:
        return self._break(f"a request in state {self.state.value}")

    _steps = {  # noqa: RUF012 - a table of methods, not of values
        State.begun: _take_first,
        State.versions_told: _take_first,
        State.tokens: _take_token,
        State.checking: _take_nothing,
        State.done: _take_nothing,
        State.expired: _take_handshake,
        State.refused: _take_nothing,
    }
