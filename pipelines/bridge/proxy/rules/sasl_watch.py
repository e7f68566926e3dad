"""Who a client is, learnt from a SASL exchange that passes through to its broker.

Strategy: what the client claims is noted from its tokens, and believed once the broker
has accepted them. Nothing is checked here, no token is kept, and what cannot be read
makes the principal unknown, never the exchange fail. Of a mechanism that is not known
here the end cannot be seen: data passes, and telemetry is refused.
Source: RFC 4616 (PLAIN); RFC 5802 (SCRAM); RFC 7628 (OAUTHBEARER); KIP-43, KIP-152,
KIP-368; Kafka, SaslServerAuthenticator.java.
"""

import base64
import binascii
import json
import re
from collections import deque
from dataclasses import dataclass
from enum import Enum

from pipelines.bridge.security.principal_names import is_principal_name

GSSAPI, OAUTHBEARER, PLAIN = "GSSAPI", "OAUTHBEARER", "PLAIN"
SCRAM_PREFIX = "SCRAM-"
UNKNOWN_PRINCIPAL = "User:UNKNOWN"
"""Of a client that its broker has accepted and whose name cannot be seen here."""
_SCRAM_FINAL = b"c="
_AUTH = b"auth="
_BEARER = re.compile(rb"bearer +([-\w.]+)", re.IGNORECASE)
_FIELD_END = b"\x01"
_PLAIN_PARTS = 3
_JWT_PARTS = 3
_API_KEY_HIGH_BYTE = 0
"""First byte of each request of Kafka's; no token of GSSAPI begins with it."""


class Stage(Enum):
    """How far a connection is."""

    BEGUN = "begun"
    TOKENS = "tokens"
    ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """What the broker has agreed to."""

    principal: str
    lifetime_ms: int
    """Milliseconds until the client must authenticate again; 0 for never."""
    token_id: str | None = None
    """The delegation token that stands for the principal, which is unknown here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What a token says; its own answer decides, for a client need not wait for it."""

    mechanism: str
    name: str | None
    token_id: str | None
    is_last: bool


class SaslWatch:
    """One connection's authentication, and those after it."""

    __slots__ = (
        "_claim_name",
        "_claims",
        "_is_ticket_good",
        "_mechanism",
        "_name",
        "_token_id",
        "expects_raw_token",
        "stage",
    )

    def __init__(self, claim_name: str) -> None:
        """Start before any authentication.

        Args:
            claim_name: Claim of a bearer token that names the principal.
        """
        self._claim_name = claim_name
        self._mechanism = ""
        self._name: str | None = None
        self._token_id: str | None = None
        self._claims: deque[_Claim] = deque()
        """Of the tokens that wait for their answers, the oldest first."""
        self._is_ticket_good = False
        """Whether the broker goes on with GSSAPI; it does after a good ticket only."""
        self.stage = Stage.BEGUN
        self.expects_raw_token = False
        """Whether the client's next frame is a token without any header."""

    def begin(self, mechanism: str) -> None:
        """Take the mechanism that a client asks for."""
        self._mechanism = mechanism
        self._name = self._token_id = None
        self._is_ticket_good = False

    def agree(self, *, error_code: int, api_version: int) -> None:
        """Take the broker's answer to that; version 0 is followed by raw tokens."""
        if error_code == 0:
            self.stage = Stage.TOKENS
            self.expects_raw_token = api_version == 0

    def is_request(self, frame: bytes) -> bool:
        """Say whether a frame is no token: GSSAPI has as many of them as it likes.

        The last of them has no answer where tokens have no headers, and is forgotten.
        """
        is_over = (
            self._mechanism == GSSAPI
            and self._is_ticket_good
            and len(self._claims) <= 1
            and len(frame) > 1
            and frame[0] == _API_KEY_HIGH_BYTE
        )
        if is_over:
            self._claims.clear()
            self.expects_raw_token = False
            self.stage = Stage.ACCEPTED
        return is_over

    @property
    def is_unread(self) -> bool:
        """Whether the exchange is by a mechanism whose end cannot be seen here."""
        name = self._mechanism
        is_known = name in (GSSAPI, OAUTHBEARER, PLAIN) or name.startswith(SCRAM_PREFIX)
        return self.stage is Stage.TOKENS and not is_known

    def take_token(self, token: bytes) -> None:
        """Note what a client claims in one of its tokens."""
        mechanism = self._mechanism
        is_last = mechanism in (GSSAPI, PLAIN)
        if mechanism == PLAIN:
            self._name = _read_plain(token)
        elif mechanism.startswith(SCRAM_PREFIX):
            is_last = token.startswith(_SCRAM_FINAL)
            if not is_last:
                self._name, self._token_id = _read_scram(token)
        elif mechanism == OAUTHBEARER:
            fields = [f for f in token.split(_FIELD_END) if f.startswith(_AUTH)]
            # A refusal is answered by one more token, which names nobody.
            is_last = bool(fields)
            is_plain = len(fields) == 1
            self._name = _read_bearer(fields[0], self._claim_name) if is_plain else None
        claim = _Claim(
            mechanism=mechanism,
            name=self._name,
            token_id=self._token_id,
            is_last=is_last,
        )
        self._claims.append(claim)

    def take_answer(
        self, *, error_code: int, token: bytes, lifetime_ms: int = 0
    ) -> Acceptance | None:
        """Take the broker's answer to a token; return what it means if it is the last.

        Nulls: None as long as the client is not accepted.
        """
        claim = self._claims.popleft()
        is_gssapi = claim.mechanism == GSSAPI
        if is_gssapi and not error_code:
            self._is_ticket_good = True
        if error_code or not claim.is_last:
            return None
        # The broker explains in a token why it does not like a bearer token; only the
        # last answer of SCRAM is not empty.
        if token and not claim.mechanism.startswith(SCRAM_PREFIX):
            return None
        if is_gssapi and self.expects_raw_token:
            return None
        self.expects_raw_token = False
        self.stage = Stage.ACCEPTED
        name = claim.name
        is_named = name is not None and is_principal_name(name)
        principal = f"User:{name}" if is_named else UNKNOWN_PRINCIPAL
        return Acceptance(
            principal=principal, lifetime_ms=lifetime_ms, token_id=claim.token_id
        )


def _read_plain(token: bytes) -> str | None:
    parts = token.split(b"\0")
    return _to_text(parts[1]) if len(parts) == _PLAIN_PARTS else None


def _read_scram(token: bytes) -> tuple[str | None, str | None]:
    """Return the user of a client's first message, or the id of a delegation token.

    Nulls: Of a token's owner nothing is said here.
    """
    _, _, bare = token.partition(b",")
    _, _, bare = bare.partition(b",")
    fields = bare.split(b",")
    if not fields[0].startswith(b"n="):
        return None, None
    # The only two escapes of RFC 5802, in this order.
    name = _to_text(fields[0][2:].replace(b"=2C", b",").replace(b"=3D", b"="))
    is_token = b""
    for field in fields[2:]:
        key, _, value = field.partition(b"=")
        # Kafka takes the last of several, and no heed of its case.
        is_token = value.lower() if key == b"tokenauth" else is_token
    return (None, name) if is_token == b"true" else (name, None)


def _read_bearer(field: bytes, claim_name: str) -> str | None:
    found = _BEARER.fullmatch(field.removeprefix(_AUTH))
    parts = found[1].split(b".") if found else []
    if len(parts) != _JWT_PARTS:
        return None
    try:
        padded = parts[1] + b"=" * (-len(parts[1]) % 4)
        claims = json.loads(base64.urlsafe_b64decode(padded))
    except (ValueError, RecursionError, binascii.Error):
        return None
    name = claims.get(claim_name) if isinstance(claims, dict) else None
    return name if isinstance(name, str) else None


def _to_text(name: bytes) -> str | None:
    try:
        return name.decode() or None
    except UnicodeDecodeError:
        return None
