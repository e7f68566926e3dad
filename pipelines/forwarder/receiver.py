"""One receiver over HTTP, and what its answers mean.

Source: OpenTelemetry Protocol specification, "OTLP/HTTP Response"; Prometheus
Remote-Write 1.0 specification, "Retries and backoff".
"""

import base64
import http.client
import random
import re
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from pipelines.errors import InvalidSetting
from pipelines.settings.forward_settings import ForwardSettings
from pipelines.settings.secret_references import SecretReader

from .targets import Target

OUR_FAULT = frozenset({400, 413, 422})
"""What a receiver says of data that it will never take; all else is tried again."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
LONGEST_ASKED_S = 300.0
_OK, _AFTER_OK = 200, 300
_PORTS = {"http": 80, "https": 443}
_BROKEN = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""Raised where the receiver has closed a connection; RemoteDisconnected is one."""
_MAX_ANSWER = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one request."""

    status: int
    """0 without an answer."""
    rejected: int = 0
    """Points of a partial success that the receiver did not take."""
    retry_after_s: float | None = None

    @property
    def is_taken(self) -> bool:
        """Whether the receiver has said yes, in full or in part."""
        return _OK <= self.status < _AFTER_OK

    @property
    def is_refused(self) -> bool:
        """Whether these bytes will never be taken."""
        return self.status in OUR_FAULT


def read_answer(
    status: int, headers: Mapping[str, str], rejected: int, now_s: float
) -> Answer:
    """Read an answer.

    Args:
        rejected: Points that its body rejects.
        now_s: Seconds since 1970.
    """
    retry_after_s = _read_wait(
        {name.lower(): text for name, text in headers.items()}.get("retry-after"), now_s
    )
    return Answer(status=status, rejected=rejected, retry_after_s=retry_after_s)


def _read_wait(text: str | None, now_s: float) -> float | None:
    if text is None:
        return None
    try:
        wait_s = float(text) if text.strip().isdigit() else _until(text, now_s)
    except (TypeError, ValueError):
        return None
    return min(max(wait_s, 0.0), LONGEST_ASKED_S)


def _until(text: str, now_s: float) -> float:
    return parsedate_to_datetime(text).timestamp() - now_s


def pause_s(attempt: int, answer: Answer) -> float:
    """Return how long to wait before the next attempt; the first one is 0."""
    if answer.retry_after_s is not None:
        return answer.retry_after_s
    longest = min(FIRST_PAUSE_S * 2.0 ** min(attempt, 10), LONGEST_PAUSE_S)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load


def read_login(forward: ForwardSettings, secrets: SecretReader) -> dict[str, str]:
    """Return the header that logs in; none without a login.

    Raises: InvalidSetting, UnresolvedSecret; neither has a secret in its text.
    """
    has_password = forward.password is not None
    if forward.bearer_token is not None and (forward.username or has_password):
        raise InvalidSetting(
            "forward.bearer_token and forward.username: a receiver takes one of them"
        )
    if bool(forward.username) != has_password:
        raise InvalidSetting("forward.username and forward.password go together")
    if forward.password is not None:
        if ":" in forward.username:
            raise InvalidSetting("forward.username: has no colon in HTTP's basic login")
        told = f"{forward.username}:{secrets.read(forward.password)}"
        return {"Authorization": f"Basic {base64.b64encode(told.encode()).decode()}"}
    if forward.bearer_token is None:
        return {}
    token = secrets.read(forward.bearer_token)
    # http.client would refuse it with a fault that has the token in its text.
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise InvalidSetting(
            "forward.bearer_token: the secret is empty, or has a character that no "
            "token has, such as a blank or a line's end"
        )
    return {"Authorization": f"Bearer {token}"}


class Receiver:
    """A connection that is kept, and made anew where it broke."""

    def __init__(
        self, forward: ForwardSettings, secrets: SecretReader, target: Target
    ) -> None:
        """Check what settings say; nothing is connected yet.

        Args:
            target: Protocol of the receiver.
        Raises: InvalidSetting, UnresolvedSecret.
        """
        host, port, self._path = _read_endpoint(forward.endpoint)
        scheme = urlsplit(forward.endpoint).scheme
        self.address = f"{scheme}://{host}:{port or _PORTS[scheme]}"
        """Scheme, host and port, for logs; a path or a query may hold a secret."""
        self._target = target
        self._headers = {
            "Content-Type": "application/x-protobuf",
            "User-Agent": "kafka-clientele",
            **target.headers,
            **read_login(forward, secrets),
        }
        timeout_s = forward.timeout_ms / 1000
        self._link = (
            http.client.HTTPSConnection(
                host, port, timeout=timeout_s, context=_trust(forward.ssl_ca_location)
            )
            if forward.endpoint.startswith("https:")
            else http.client.HTTPConnection(host, port, timeout=timeout_s)
        )

    def post(self, body: bytes) -> Answer:
        """Send one request; status 0 where no answer came."""
        packed = self._target.pack(body)
        try:
            answer = self._ask(packed)
            told = answer.read(_MAX_ANSWER)
            if answer.read(1):
                self._link.close()
        except (OSError, http.client.HTTPException):
            self._link.close()
            return Answer(status=0)
        rejected = self._target.count_rejected(answer.status, told)
        return read_answer(answer.status, dict(answer.headers), rejected, time.time())

    def _ask(self, packed: bytes) -> http.client.HTTPResponse:
        """Send one request; connect again where a kept connection has been closed.

        Receivers close idle connections, so this is no failure of the receiver.
        """
        is_kept = self._link.sock is not None
        try:
            self._link.request("POST", self._path, packed, self._headers)
            return self._link.getresponse()
        except _BROKEN:
            self._link.close()
            if not is_kept:
                raise
        self._link.request("POST", self._path, packed, self._headers)
        return self._link.getresponse()

    def close(self) -> None:
        """Close the connection."""
        self._link.close()


def _read_endpoint(endpoint: str) -> tuple[str, int | None, str]:
    expected = (
        "forward.endpoint: expects the receiver's URL, such as "
        "http://127.0.0.1:4318/v1/metrics; say it in a file of conf/, or by --set"
    )
    try:
        url = urlsplit(endpoint)
        port = url.port
    except ValueError:
        raise InvalidSetting(expected) from None
    is_plain = re.fullmatch(r"[\x21-\x7e]+", endpoint) is not None
    if url.scheme not in {"http", "https"} or not url.hostname or not is_plain:
        raise InvalidSetting(expected)
    if url.username is not None or url.password is not None:
        raise InvalidSetting(
            "forward.endpoint: has a login in it, which would stand in logs of others; "
            "use forward.username and forward.password"
        )
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    return url.hostname, port, path


def _trust(ca_location: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_location or None)
    except OSError as error:
        is_text = isinstance(error, ssl.SSLError)
        why = "no certificate in PEM" if is_text else error.strerror
        raise InvalidSetting(
            f"forward.ssl_ca_location: {ca_location} cannot be used ({why})"
        ) from None
