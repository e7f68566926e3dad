"""One connection from greeting to answers; no I/O.

Strategy: a session makes frames of requests and finds answers in the bytes that come,
one request at a time, none larger than it may be. What is said on a connection is a
conversation: a generator that yields requests and is sent the bodies of their answers.
Either link holds any conversation, so each is written once.
Source: KIP-35; KIP-152; KIP-368; KIP-511.
"""

import struct
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

from .faults import (
    RETRIABLE_ERROR_CODES,
    UNSUPPORTED_VERSION,
    LoginRefused,
    Refused,
    name_error,
)
from .login import Login
from .messages import (
    API_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Node,
    Request,
    Served,
    api_versions,
    metadata,
    oldest_api_versions,
    read_api_versions,
    read_metadata,
    read_oldest_api_versions,
    read_sasl_authenticate,
    read_sasl_handshake,
    sasl_authenticate,
    sasl_handshake,
    write_frame,
)
from .primitives import Cursor, MalformedBytes

_SIZE = struct.Struct(">i")
_ID_BYTES = 4

Answer = TypeVar("Answer")
Conversation = Generator[Request, bytes, Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """What a client says about itself."""

    client_id: str
    name: str
    version: str


class Session:
    """What is owed and known on one connection."""

    def __init__(self, client_id: str, *, max_answer_bytes: int) -> None:
        self.is_waiting = False
        """Whether a request is not answered."""
        self._client_id = client_id
        self._max_answer_bytes = max_answer_bytes
        self._correlation_id = 0
        self._has_tags = False
        self._buffer = bytearray()

    def send(self, request: Request) -> bytes:
        """Return what has to be written; the request before must have been answered."""
        if self.is_waiting:
            raise RuntimeError("a request is sent before the last one is answered")
        self._correlation_id += 1
        self._has_tags = request.is_flexible and request.api_key != API_VERSIONS
        frame = write_frame(request, self._correlation_id, self._client_id)
        self.is_waiting = True
        return frame

    def receive(self, data: bytes) -> bytes | None:
        """Take bytes as they came; return the answer's body once it is whole.

        Raises: MalformedBytes, as soon as the size is known to be unusable; the
            connection is of no use after it.
        """
        self._buffer += data
        if len(self._buffer) < _SIZE.size:
            return None
        (size,) = _SIZE.unpack_from(self._buffer)
        if not _ID_BYTES <= size <= self._max_answer_bytes:
            raise MalformedBytes(f"answer of {size} bytes")
        missing = _SIZE.size + size - len(self._buffer)
        if missing > 0:
            return None
        (correlation_id,) = _SIZE.unpack_from(self._buffer, _SIZE.size)
        if missing or not self.is_waiting or correlation_id != self._correlation_id:
            raise MalformedBytes("answer that nothing has asked for")
        cursor = Cursor(bytes(self._buffer), _SIZE.size + _ID_BYTES)
        self._buffer.clear()
        if self._has_tags:
            cursor.skip_tagged_fields()
        self.is_waiting = False
        return cursor.take(cursor.remaining_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeted:
    """What is known once a connection may be used."""

    served: Served
    session_lifetime_ms: int = 0
    """As log_in returns it."""


def greet(software: Software, login: Login | None) -> Conversation[Greeted]:
    """Ask what a node serves, in the oldest version where it is old, and log in.

    Raises: Refused, LoginRefused, MalformedBytes.
    """
    served = yield from ask_versions(software)
    if served is None:
        served = yield from ask_oldest_versions()
    if login is None:
        return Greeted(served=served)
    if SASL_HANDSHAKE not in served:
        raise LoginRefused("the listener has no SASL")
    lifetime_ms = yield from log_in(login, served)
    return Greeted(served=served, session_lifetime_ms=lifetime_ms)


def ask_versions(software: Software) -> Conversation[Served | None]:
    """Ask what a node serves; None of one that is too old for the question.

    Raises: Refused, MalformedBytes.
    """
    body = yield api_versions(software.name, software.version)
    error_code, served = read_api_versions(body)
    if error_code == UNSUPPORTED_VERSION:
        return None
    check_versions(error_code)
    return served


def ask_oldest_versions() -> Conversation[Served]:
    """Ask the same in a way that every node knows.

    Raises: Refused, MalformedBytes.
    """
    error_code, served = read_oldest_api_versions((yield oldest_api_versions()))
    check_versions(error_code)
    return served


def check_versions(error_code: int) -> None:
    """Check an answer to ApiVersions.

    Raises: Refused; MalformedBytes where another attempt may do better.
    """
    if not error_code:
        return
    text = f"ApiVersions is answered with {name_error(error_code)}"
    if error_code in RETRIABLE_ERROR_CODES:
        raise MalformedBytes(text)
    raise Refused(text)


def log_in(login: Login, served: Served) -> Conversation[int]:
    """Authenticate, for the first time on a connection or again.

    Args:
        login: Prepared.
    Returns: Milliseconds after which the peer wants it again; 0 for never.
    Raises: LoginRefused.
    """
    body = yield sasl_handshake(login.mechanism)
    error_code, mechanisms = read_sasl_handshake(body)
    if error_code:
        raise LoginRefused(
            f"the listener does not take {login.mechanism} ({name_error(error_code)})",
            f"it has {', '.join(mechanisms)}",
        )
    steps = login.start()
    frame = next(steps)
    # The first version that tells how long a session is.
    api_version = int(1 in served.get(SASL_AUTHENTICATE, ()))
    while True:
        body = yield sasl_authenticate(frame, api_version)
        answer = read_sasl_authenticate(body, api_version)
        if answer.error_code:
            if login.forget is not None:
                login.forget()
            name = name_error(answer.error_code)
            raise LoginRefused(
                f"SaslAuthenticate is answered with {name}", answer.error_message
            )
        try:
            frame = steps.send(answer.frame)
        except StopIteration:
            return answer.session_lifetime_ms


def list_nodes() -> Conversation[list[Node]]:
    """Ask which nodes there are."""
    return read_metadata((yield metadata()))
