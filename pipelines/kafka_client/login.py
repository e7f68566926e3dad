"""A client's side of SASL: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER.

Strategy: a mechanism is a generator: it yields the frames that the client sends, and is
sent those of the server. It ends when the server has said all; SCRAM ends only for a
server that knows the verifier of the password as well.
Source: RFC 4616, RFC 5802, RFC 7628; KIP-255 for extensions.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .faults import LoginRefused

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MECHANISMS = ("PLAIN", *HASHES, "OAUTHBEARER")
MAX_ITERATIONS = 1_000_000
"""A server that asks for more would only hold the application up."""
_NO_CHANNEL_BINDING = "n,,"
_FIRST_CLIENT_FRAME_DONE = b"\x01"

Frames = Generator[bytes, bytes, None]
"""Yields frames to the server, is sent those of the server."""
OauthCallback = Callable[[str | None], Any]
"""confluent-kafka's oauth_cb: config, None for none, to (token, ends at, principal,
extensions)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Who a client is to a cluster."""

    mechanism: str
    start: Callable[[], Frames] = field(repr=False)
    """Makes the client's side of one login."""
    prepare: Callable[[float], None] | None = field(default=None, repr=False)
    """Called before each login: gets what it needs, such as a token, and may wait for
    it, so many seconds for each part of an answer. Raises: Refused, OSError. None where
    all is there."""
    forget: Callable[[], None] | None = field(default=None, repr=False)
    """Drops what prepare has got, since the peer has refused it; None as there."""


def log_in_by_plain(username: str, password: str) -> Frames:
    """Yield the one frame of PLAIN."""
    yield b"\0" + username.encode() + b"\0" + password.encode()


def log_in_by_oauth(callback: OauthCallback, config: str | None) -> Frames:
    """Log in by a token that the application gives.

    Raises: LoginRefused, naming what is wrong with the callback's answer.
    """
    try:
        token, extensions = _ask_for_token(callback, config)
    except Exception as error:  # noqa: BLE001 - the application's own function
        raise LoginRefused(f"oauth_cb failed ({type(error).__name__})") from None
    yield from log_in_by_token(token, extensions)


def log_in_by_token(token: str, extensions: Mapping[str, str]) -> Frames:
    """Yield the frame of OAUTHBEARER; a refusal is answered as RFC 7628 has it."""
    pairs = "".join(f"{name}={value}\x01" for name, value in extensions.items())
    frame = f"{_NO_CHANNEL_BINDING}\x01auth=Bearer {token}\x01{pairs}\x01"
    refusal = yield frame.encode()
    if refusal:
        yield _FIRST_CLIENT_FRAME_DONE


def _ask_for_token(
    callback: OauthCallback, config: str | None
) -> tuple[str, Mapping[str, str]]:
    answer = callback(config)
    token = answer[0]
    if not isinstance(token, str):
        raise TypeError("no token")
    has_extensions = len(answer) > 3  # noqa: PLR2004 - token, end, principal, extensions
    return token, (answer[3] or {}) if has_extensions else {}


def log_in_by_scram(
    mechanism: str, username: str, password: str, *, nonce: str
) -> Frames:
    """Yield the two frames of SCRAM.

    Args:
        mechanism: One of HASHES.
        password: As it is. RFC 5802 asks for SASLprep, which neither librdkafka nor
            Kafka's brokers and clients do.
        nonce: Random printable ASCII without a comma, new for each login.
    Raises: LoginRefused when the server is not one that knows the password.
    """
    hash_name = HASHES[mechanism]
    name = username.replace("=", "=3D").replace(",", "=2C")
    first_bare = f"n={name},r={nonce}"
    answer = yield (_NO_CHANNEL_BINDING + first_bare).encode()
    server_first = answer.decode(errors="replace")
    server_nonce, salt, iterations = _read_challenge(mechanism, nonce, server_first)
    salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
    channel = base64.b64encode(_NO_CHANNEL_BINDING.encode()).decode()
    without_proof = f"c={channel},r={server_nonce}"
    signed = f"{first_bare},{server_first},{without_proof}".encode()
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    stored_key = hashlib.new(hash_name, client_key).digest()
    signature = hmac.digest(stored_key, signed, hash_name)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    final = f"{without_proof},p={base64.b64encode(proof).decode()}"
    server_final = _parse((yield final.encode()).decode(errors="replace"))
    server_key = hmac.digest(salted, b"Server Key", hash_name)
    expected = base64.b64encode(hmac.digest(server_key, signed, hash_name)).decode()
    if not hmac.compare_digest(server_final.get("v", "").encode(), expected.encode()):
        raise LoginRefused(f"{mechanism}: the server does not know the password")


def _read_challenge(
    mechanism: str, nonce: str, server_first: str
) -> tuple[str, bytes, int]:
    """Return nonce, salt and iterations. Raises: LoginRefused."""
    fields = _parse(server_first)
    try:
        server_nonce, salt = fields["r"], base64.b64decode(fields["s"], validate=True)
        iterations = int(fields["i"])
    except (KeyError, ValueError, binascii.Error):
        raise LoginRefused(f"{mechanism}: the server's answer is malformed") from None
    if not server_nonce.startswith(nonce) or server_nonce == nonce:
        raise LoginRefused(f"{mechanism}: the server's nonce is not ours")
    if not 0 < iterations <= MAX_ITERATIONS:
        raise LoginRefused(f"{mechanism}: the server asks for {iterations} iterations")
    return server_nonce, salt, iterations


def _parse(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)
