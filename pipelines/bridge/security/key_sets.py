"""Where the keys that sign tokens come from: a file, or a URL.

A URL is https, or http on this machine; it leads nowhere else, and its answer is
bounded in size and time.
"""

import http.client
import ssl
import time
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

MAX_KEY_SET_BYTES = 1_048_576
TIMEOUT_S = 10.0
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_READ_BYTES = 65_536


class UnreadableKeys(ValueError):
    """Raised when a key set cannot be had; names the place and the reason."""


def is_url(location: str) -> bool:
    """Say whether a location is an address of the network, not a file."""
    return "://" in location


def load_key_set(location: str, ca_location: str) -> bytes:
    """Return the bytes of a key set.

    Args:
        location: A file, or a URL.
        ca_location: Authorities of an https URL; empty for the host's.
    Raises: UnreadableKeys.
    """
    if is_url(location):
        return _fetch(urlsplit(location), ca_location)
    try:
        with Path(location).open("rb") as file:
            data = file.read(MAX_KEY_SET_BYTES + 1)
    except OSError as error:
        raise UnreadableKeys(f"{location} cannot be read ({error.strerror})") from None
    return _check_size(data, location)


def _check_size(data: bytes, location: str) -> bytes:
    if len(data) > MAX_KEY_SET_BYTES:
        raise UnreadableKeys(f"{location} holds more than {MAX_KEY_SET_BYTES} bytes")
    return data


def _connect(url: SplitResult, ca_location: str) -> http.client.HTTPConnection:
    try:
        host, port = url.hostname or "", url.port
    except ValueError:
        raise UnreadableKeys("the URL has no usable port") from None
    if url.scheme == "https":
        context = ssl.create_default_context(cafile=ca_location or None)
        return http.client.HTTPSConnection(
            host, port, timeout=TIMEOUT_S, context=context
        )
    if url.scheme == "http" and host in _LOOPBACK:
        return http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    raise UnreadableKeys("the URL must be https, or http on this machine")


def _fetch(url: SplitResult, ca_location: str) -> bytes:
    place = f"{url.scheme}://{url.hostname}{url.path}"
    path = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
    end_s = time.monotonic() + TIMEOUT_S
    try:
        connection = _connect(url, ca_location)
    except OSError as error:
        raise UnreadableKeys(
            f"authentication.oauth_jwks_ca_location cannot be used "
            f"({error.strerror or type(error).__name__})"
        ) from None
    try:
        connection.request("GET", path, headers={"Accept": "application/json"})
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            # No redirection is followed: it could lead to anyone's keys.
            raise UnreadableKeys(f"{place} answers {answer.status}")
        data = b""
        while len(data) <= MAX_KEY_SET_BYTES and time.monotonic() < end_s:
            part = answer.read1(_READ_BYTES)
            if not part:
                return _check_size(data, place)
            data += part
        _check_size(data, place)
        raise UnreadableKeys(f"{place} is too slow")
    except (OSError, http.client.HTTPException) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UnreadableKeys(
            f"{place} does not answer ({reason or type(error).__name__})"
        ) from None
    finally:
        connection.close()
