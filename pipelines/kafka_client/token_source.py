"""The token of a client: fetched when there is none, and again before it ends.

Strategy: blocking, by the standard library's own HTTP client; a link that has a loop
asks in a thread. One question at a time, whoever wants the token, and each has a bound
as a whole: an endpoint that trickles is left to a thread that nobody waits for. While a
token is good, an endpoint that is away is no fault: the next login asks again.
"""

import http.client
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from .faults import LoginRefused, NoToken, describe
from .login import Frames, log_in_by_token
from .oidc import (
    MAX_ANSWER_BYTES,
    REFRESH_SHARE,
    Credentials,
    Token,
    find_place,
    read_answer,
    write_body,
    write_headers,
)
from .tls import fault_of_tls

_LONGEST_WAIT_S = 10.0
"""For an answer."""


class TokenSource:
    """Tokens of one endpoint for one client; threads may share it."""

    def __init__(
        self,
        url: str,
        credentials: Credentials,
        *,
        extensions: dict[str, str],
        tls: ssl.SSLContext,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask nothing yet.

        Args:
            url: One that find_place has a place for.
            extensions: Sent to the broker beside each token.
            tls: For https.
            now_s: A clock that never steps back.
        """
        self._url, self._credentials = url, credentials
        self._place = find_place(url) or ""
        self._extensions = extensions
        self._now_s = now_s
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=tls), _NoRedirects
        )
        self._lock = threading.Lock()
        self._token: Token | None = None
        self._fetched_s = 0.0

    def prepare(self, timeout_s: float) -> None:
        """See that there is a token that can log in; may wait.

        Args:
            timeout_s: For the endpoint's answer.
        Raises: LoginRefused; NoToken where another attempt may do better.
        """
        timeout_s = min(timeout_s, _LONGEST_WAIT_S)
        try:
            with self._alone(timeout_s):
                if self._has_share_left(REFRESH_SHARE):
                    return
                asked_s = self._now_s()
                token = self._fetch_within(timeout_s)
                self._token, self._fetched_s = token, asked_s
        except (NoToken, LoginRefused):
            if not self._has_share_left(1.0):
                self._token = None
                raise

    def forget(self) -> None:
        """Fetch another token for the next login: the broker has refused this one."""
        self._token = None

    def log_in(self) -> Frames:
        """Begin a login with the token that prepare has seen to."""
        token = self._token
        if token is None:
            # Another login with it has been refused meanwhile.
            raise NoToken(f"the token of {self._place} was refused")
        return log_in_by_token(token.text, self._extensions)

    def _has_share_left(self, share: float) -> bool:
        token = self._token
        if token is None or token.lifetime_s is None:
            return False
        return self._now_s() - self._fetched_s < share * token.lifetime_s

    @contextmanager
    def _alone(self, timeout_s: float) -> Iterator[None]:
        if not self._lock.acquire(timeout=timeout_s):
            raise self._late()
        try:
            yield
        finally:
            self._lock.release()

    def _fetch_within(self, timeout_s: float) -> Token:
        """Fetch a token; what urllib bounds is each part of an answer alone."""
        fetched: Future[Token] = Future()

        def fetch() -> None:
            try:
                fetched.set_result(self._fetch(timeout_s))
            except Exception as error:  # noqa: BLE001 - raised where it is waited for
                fetched.set_exception(error)

        # Not of a pool, whose threads are waited for at the end of the program.
        threading.Thread(target=fetch, name="token", daemon=True).start()
        try:
            return fetched.result(timeout_s)
        except TimeoutError:
            raise self._late() from None

    def _late(self) -> NoToken:
        return NoToken(f"the token endpoint {self._place} does not answer (timed out)")

    def _fetch(self, timeout_s: float) -> Token:
        request = urllib.request.Request(  # noqa: S310 - find_place takes http and https alone
            self._url,
            data=write_body(self._credentials),
            headers=write_headers(self._credentials),
        )
        try:
            with self._opener.open(request, timeout=timeout_s) as answer:
                status, body = answer.status, answer.read(MAX_ANSWER_BYTES)
        except urllib.error.HTTPError as error:
            with error:
                status, body = error.code, self._read_refusal(error)
        except urllib.error.URLError as error:
            raise self._fault_of(error.reason) from None
        # ValueError: a redirect to what is no URL.
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._fault_of(error) from None
        return read_answer(self._place, status, body, time.time())

    def _read_refusal(self, error: urllib.error.HTTPError) -> bytes:
        try:
            return error.read(MAX_ANSWER_BYTES)
        except (OSError, http.client.HTTPException):
            return b""

    def _fault_of(self, reason: Any) -> NoToken | LoginRefused:  # noqa: ANN401 - urllib has a text or an exception here
        if isinstance(reason, ssl.SSLError):
            fault = fault_of_tls(reason)
            text = f"the token endpoint {self._place}: {fault}"
            return NoToken(text) if isinstance(fault, OSError) else LoginRefused(text)
        # An answer that is no HTTP is quoted by http.client: only its name is told.
        why = describe(reason) if isinstance(reason, OSError) else "no HTTP"
        return NoToken(f"the token endpoint {self._place} does not answer ({why})")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Sends the secret nowhere else."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing; the answer is a refusal."""
