"""A token of an OIDC token endpoint: what is asked, and what the answer means.

Strategy: the client-credentials grant, with id and secret in the header, as librdkafka
and the Java client ask it. A refusal of the client is final; all else may be better the
next time. What comes back when an answer is bad: NoToken, and nothing of its text, for
a proxy or an issuer may say anything in it.
Source: RFC 6749, 4.4 and 5; RFC 6750, 2.1; RFC 7519, 4.1.4 (exp).
"""

import base64
import binascii
import json
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from .faults import LoginRefused, NoToken

MAX_ANSWER_BYTES = 1 << 20
REFRESH_SHARE = 0.8
"""Of a token's life, after which another one is wanted; that of the other clients."""
_OK = 200
_REFUSALS = {
    "invalid_client",
    "invalid_grant",
    "invalid_request",
    "invalid_scope",
    "unauthorized_client",
    "unsupported_grant_type",
}
"""Errors that the issuer has for what the client is or asks."""
_PASSING = {408, 425, 429}
"""HTTP's own words for: later. So is every 5xx."""
_SERVER_ERRORS = 500
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_JWT_PARTS = 3
_LONGEST_S = 1e15
"""What JSON has beyond is no time; nor is its NaN."""
_EXTENSION = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[\x21-\x7E \t\r\n]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Who a client is to an issuer."""

    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What logs in."""

    text: str = field(repr=False)
    lifetime_s: float | None
    """From now; None where neither issuer nor token says it."""


def find_place(url: str) -> str | None:
    """Return an endpoint's address without what may be secret; None of what is none."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    is_usable = parts.scheme in {"http", "https"} and parts.hostname
    if not is_usable or "@" in parts.netloc or not url.isascii():
        return None
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    return f"{parts.scheme}://{host}{'' if port is None else f':{port}'}{parts.path}"


def parse_extensions(text: str) -> dict[str, str] | None:
    """Return SASL extensions of name=value,name=value; None of what is none.

    Source: RFC 7628, 3.1; `auth` is taken by the token.
    """
    pairs = {}
    for one in filter(None, text.split(",")):
        name, separator, value = one.partition("=")
        is_usable = _EXTENSION.fullmatch(name) and _EXTENSION_VALUE.fullmatch(value)
        if not separator or not is_usable or name == "auth":
            return None
        pairs[name] = value
    return pairs


def write_headers(credentials: Credentials) -> dict[str, str]:
    """Return the headers of a request; they hold the secret."""
    pair = f"{credentials.client_id}:{credentials.client_secret}".encode()
    return {
        "Authorization": f"Basic {base64.b64encode(pair).decode()}",
        "Accept": "application/json",
        "Content-Type": "application/x-www-form-urlencoded",
        "Connection": "close",
    }


def write_body(credentials: Credentials) -> bytes:
    """Return the form of a request."""
    form = {"grant_type": "client_credentials"}
    if credentials.scope:
        form["scope"] = credentials.scope
    return urllib.parse.urlencode(form).encode()


def read_answer(place: str, status: int, body: bytes, now_unix_s: float) -> Token:
    """Return the token of an answer.

    Args:
        place: The endpoint, as find_place names it.
        status: HTTP's.
        body: Cut at MAX_ANSWER_BYTES, and then no answer any more.
        now_unix_s: Against which a token's own end is taken.
    Raises: LoginRefused; NoToken where another attempt may do better.
    """
    said = _parse_object(body)
    if status != _OK:
        raise _refusal(place, status, said)
    text = said.get("access_token")
    if not isinstance(text, str) or not _TOKEN.fullmatch(text):
        raise NoToken(f"the token endpoint {place} answers without a token")
    lifetime_s = _find_lifetime(said, text, now_unix_s)
    if lifetime_s is not None and lifetime_s <= 0:
        raise NoToken(
            f"the token endpoint {place} gives a token whose time is over: "
            f"compare the clocks"
        )
    return Token(text=text, lifetime_s=lifetime_s)


def _refusal(
    place: str, status: int, said: Mapping[str, Any]
) -> LoginRefused | NoToken:
    error = said.get("error")
    # An object, where a gateway before the issuer speaks.
    if isinstance(error, str) and error in _REFUSALS:
        return LoginRefused(
            f"the token endpoint {place} refuses the client ({error}): check its id, "
            f"its secret and its scope"
        )
    text = f"the token endpoint {place} answers with HTTP {status}"
    if status in _PASSING or status >= _SERVER_ERRORS:
        return NoToken(text)
    return LoginRefused(f"{text}: check its URL, and the client's id and secret")


def _find_lifetime(
    said: Mapping[str, Any], token: str, now_unix_s: float
) -> float | None:
    told = said.get("expires_in")
    if _is_number(told):
        return float(told)
    ends_s = _parse_claims(token).get("exp")
    return float(ends_s) - now_unix_s if _is_number(ends_s) else None


def _is_number(value: object) -> TypeGuard[float]:
    """Say whether a value is a number of seconds; JSON's may have any size."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= _LONGEST_S


def _parse_claims(token: str) -> Mapping[str, Any]:
    """Return what a JWT says, unchecked: its reader is the broker."""
    parts = token.split(".")
    if len(parts) != _JWT_PARTS:
        return {}
    try:
        return _parse_object(base64.urlsafe_b64decode(parts[1] + "=="))
    except (binascii.Error, ValueError):
        return {}


def _parse_object(text: bytes) -> Mapping[str, Any]:
    """Return a JSON object; an empty one where there is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
