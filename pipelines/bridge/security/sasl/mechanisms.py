"""The mechanisms: one client's tokens in, what to answer out.

Strategy: each mechanism is an object for one authentication. `receive` returns a
Challenge to send, a Check to run elsewhere since it takes milliseconds, or who the
client Is. What comes back for a bad token: Refusal, with the text that the client may
read, which never says whether a user exists.
Source: RFC 4616 (PLAIN); RFC 5802 (SCRAM); RFC 7628 (OAUTHBEARER); Kafka,
PlainSaslServer.java, ScramSaslServer.java, OAuthBearerSaslServer.java.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from scramp import ScramException, ScramMechanism

from .credentials import HASHES, Credentials
from .tokens import InvalidToken, TokenVerifier, UnknownKey

PLAIN = "PLAIN"
OAUTHBEARER = "OAUTHBEARER"
_MAX_PLAIN_TOKEN_BYTES = 4_096
_MAX_SCRAM_TOKEN_BYTES = 4_096
_PLAIN_PARTS = 3
_INVALID_TOKEN = b'{"status":"invalid_token"}'
_BAD_PASSWORD = "Authentication failed: Invalid username or password"  # noqa: S105 - Kafka's words
_OTHER_NAME = (
    "Authentication failed: Client requested an authorization id that is different "
    "from username"
)
# gs2-header, then pairs of key and value; one of them is auth.
_OAUTH_FIRST = re.compile(
    rb"n,(?:a=(?P<authzid>[^\x00,\x80-\xff]*))?,\x01(?P<pairs>[\x01-\x7f]*)\x01"
)
_OAUTH_PAIR = re.compile(rb"(?P<key>[A-Za-z]+)=(?P<value>[\x21-\x7e \t\r\n]*)")
_BEARER = re.compile(rb"(?i:bearer) +(?P<token>[-_.a-zA-Z0-9]+)")


class Refusal(Exception):
    """Raised when a client is not who it says; holds what it may know of why."""

    def __init__(self, client_text: str | None = None) -> None:
        """Take the text for the client; None for the text of all mechanisms."""
        super().__init__(client_text or "invalid credentials")
        self.client_text = client_text


@dataclass(frozen=True, slots=True)
class Challenge:
    """Bytes to send; the client's next token answers them."""

    token: bytes


@dataclass(frozen=True, slots=True)
class Check:
    """Work to do in another thread; give its result to `finish`."""

    run: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Is:
    """The client is who it says."""

    name: str
    token: bytes = b""
    """The last bytes to send."""
    expires_at_ms: int | None = None
    """When its credential ends, since 1970-01-01T00:00:00Z; None for never."""


class Mechanism(Protocol):
    """One authentication by one mechanism."""

    def receive(self, token: bytes) -> Challenge | Check | Is:
        """Take the client's next token. Raises: Refusal."""

    def finish(self, is_good: bool) -> Is:  # noqa: FBT001 - a Check says one thing
        """Take the outcome of the Check. Raises: Refusal."""


class _Unchecked:
    """The part of mechanisms that need no Check."""

    __slots__ = ()

    def finish(self, is_good: bool) -> Is:  # noqa: FBT001 - a Check says one thing
        """Refuse: there was no Check."""
        raise RuntimeError(f"no check was asked for: {is_good}")


class PlainServer:
    """PLAIN against SCRAM verifiers."""

    __slots__ = ("_credentials", "_name")

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._name = ""

    def receive(self, token: bytes) -> Check:
        """Take the one token: authorization id, name and password."""
        parts = token.split(b"\0", _PLAIN_PARTS - 1)
        if len(parts) != _PLAIN_PARTS or len(token) > _MAX_PLAIN_TOKEN_BYTES:
            raise Refusal
        try:
            authorization_id, self._name = parts[0].decode(), parts[1].decode()
        except UnicodeDecodeError:
            raise Refusal(_BAD_PASSWORD) from None
        # A zero byte behind a password is the same password to HMAC.
        if not self._name or not parts[2] or b"\0" in parts[2]:
            raise Refusal
        if authorization_id and authorization_id != self._name:
            raise Refusal(_OTHER_NAME)
        credential = self._credentials.find_any(self._name)
        return Check(partial(credential.is_password, parts[2]))

    def finish(self, is_good: bool) -> Is:  # noqa: FBT001 - a Check says one thing
        """Take whether it was the password."""
        if not is_good:
            raise Refusal(_BAD_PASSWORD)
        return Is(name=self._name)


class ScramServer(_Unchecked):
    """SCRAM-SHA-256 and SCRAM-SHA-512, without channel binding, as in Kafka."""

    __slots__ = ("_is_begun", "_name", "_server")

    def __init__(self, mechanism: str, credentials: Credentials, nonce: str) -> None:
        self._is_begun = False
        self._name = ""

        def find(name: str) -> tuple[bytes, bytes, bytes, int]:
            self._name = name
            one = credentials.find(name, mechanism)
            return one.salt, one.stored_key, one.server_key, one.iterations

        self._server = ScramMechanism(mechanism).make_server(find, s_nonce=nonce)

    def receive(self, token: bytes) -> Challenge | Is:
        """Take client-first, then client-final."""
        if len(token) > _MAX_SCRAM_TOKEN_BYTES:
            raise Refusal
        try:
            text = token.decode()
            if not self._is_begun:
                self._is_begun = True
                self._server.set_client_first(text)
                return Challenge(self._server.get_server_first().encode())
            self._server.set_client_final(text)
            return Is(name=self._name, token=self._server.get_server_final().encode())
        except (ScramException, UnicodeError):
            raise Refusal from None


class OauthServer(_Unchecked):
    """OAUTHBEARER with signed tokens."""

    __slots__ = ("_has_failed", "_now_ms", "_on_unknown_key", "_verifier")

    def __init__(
        self,
        verifier: TokenVerifier,
        *,
        now_ms: Callable[[], int],
        on_unknown_key: Callable[[], None],
    ) -> None:
        self._verifier = verifier
        self._now_ms = now_ms
        self._on_unknown_key = on_unknown_key
        self._has_failed = False

    def receive(self, token: bytes) -> Challenge | Is:
        """Take the first message; after a failure, the client's leave."""
        if self._has_failed:
            raise Refusal(_INVALID_TOKEN.decode())
        authorization_id, bearer = _parse_oauth_first(token)
        try:
            found = self._verifier.verify(bearer, now_ms=self._now_ms())
        except InvalidToken as error:
            if isinstance(error, UnknownKey):
                self._on_unknown_key()
            self._has_failed = True
            return Challenge(_INVALID_TOKEN)
        if authorization_id and authorization_id != found.name:
            raise Refusal
        return Is(name=found.name, expires_at_ms=found.expires_at_ms)


def _parse_oauth_first(token: bytes) -> tuple[str, str]:
    """Return authorization id and bearer token; extensions are passed over."""
    first = _OAUTH_FIRST.fullmatch(token)
    if first is None:
        raise Refusal
    pairs: dict[bytes, bytes] = {}
    for text in first["pairs"].split(b"\x01")[:-1]:
        pair = _OAUTH_PAIR.fullmatch(text)
        if pair is None or pair["key"] in pairs:
            raise Refusal
        pairs[pair["key"]] = pair["value"]
    bearer = _BEARER.fullmatch(pairs.get(b"auth", b""))
    if bearer is None or not first["pairs"].endswith(b"\x01"):
        raise Refusal
    # saslname: the only two escapes of RFC 5801.
    name = (first["authzid"] or b"").replace(b"=2C", b",").replace(b"=3D", b"=")
    return name.decode("ascii"), bearer["token"].decode("ascii")


def make_mechanism(
    name: str,
    *,
    credentials: Credentials | None,
    verifier: TokenVerifier | None,
    nonce: str,
    now_ms: Callable[[], int],
    on_unknown_key: Callable[[], None],
) -> Mechanism:
    """Begin one authentication.

    Args:
        name: One of the listener's mechanisms.
        credentials: Of PLAIN and SCRAM.
        verifier: Of OAUTHBEARER.
        nonce: Random printable text, new each time.
        now_ms: Milliseconds since 1970-01-01T00:00:00Z.
        on_unknown_key: Called when a token names a key that is not known.
    """
    if name == OAUTHBEARER and verifier is not None:
        return OauthServer(verifier, now_ms=now_ms, on_unknown_key=on_unknown_key)
    if name == PLAIN and credentials is not None:
        return PlainServer(credentials)
    if name in HASHES and credentials is not None:
        return ScramServer(name, credentials, nonce)
    raise ValueError(f"mechanism {name} has nothing to check against")
