"""Signed tokens (JWT) of OAUTHBEARER: whether one names a principal, and until when.

Strategy: PyJWT checks signature, issuer and audience; times are checked here, since the
clock is an argument. A token's header chooses among the keys that are known for an
allowed algorithm, and nothing else: no key or address in a token is ever used, and keys
that are shared secrets, or private, are refused. What comes back for a bad token:
InvalidToken, which names the rule and no value.
Source: RFC 7519; RFC 7517; RFC 8725.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt

from pipelines.bridge.security.principal_names import is_principal_name

_MS = 1_000
_LATEST_S = (2**63 - 1) // _MS
"""Brokers count milliseconds in 64 bits; so does the answer to a client."""
_CURVES = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}
_PRIVATE_MEMBERS = frozenset({"d", "p", "q", "k"})


class InvalidKeys(ValueError):
    """Raised when a text is no set of public keys; names places, not values."""


class InvalidToken(ValueError):
    """Raised when a token is not good for anything here."""


class UnknownKey(InvalidToken):
    """Raised when a token names a key that is not known; it may be a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """What a token must be."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    principal_claim: str
    clock_skew_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedToken:
    """What a good token says."""

    name: str
    expires_at_ms: int
    """Milliseconds since 1970-01-01T00:00:00Z; the clock skew is not in it."""


class TokenVerifier:
    """Checks tokens against one set of keys."""

    def __init__(self, keys: str | bytes, rules: TokenRules) -> None:
        """Read a JSON Web Key Set.

        Raises: InvalidKeys.
        """
        self._rules = rules
        self._keys: dict[tuple[str, str], jwt.PyJWK] = {}
        self._by_algorithm: dict[str, list[jwt.PyJWK]] = {}
        for number, key in enumerate(_parse_key_set(keys), 1):
            self._add(key, number)
        if not self._keys and not self._by_algorithm:
            raise InvalidKeys("holds no key for the algorithms that are allowed")

    def verify(self, token: str, *, now_ms: int) -> VerifiedToken:
        """Return what a good token says.

        Units: now_ms is in milliseconds since 1970-01-01T00:00:00Z.
        Raises: InvalidToken, UnknownKey.
        """
        rules = self._rules
        try:
            claims = jwt.decode(
                token,
                self._find_key(token),
                algorithms=rules.algorithms,
                audience=rules.audience,
                issuer=rules.issuer,
                options={
                    "require": ["exp", "iss", "aud", rules.principal_claim],
                    "enforce_minimum_key_length": True,
                    # The clock is ours.
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            if isinstance(error, InvalidToken):
                raise
            raise InvalidToken(type(error).__name__) from None
        expires_at_ms = _read_time_ms(claims, "exp")
        if expires_at_ms + rules.clock_skew_ms <= now_ms:
            raise InvalidToken("expired")
        if claims.get("nbf") is not None and (
            _read_time_ms(claims, "nbf") - rules.clock_skew_ms > now_ms
        ):
            raise InvalidToken("not valid yet")
        if claims.get("iat") is not None:
            _read_time_ms(claims, "iat")
        name = claims[rules.principal_claim]
        if not isinstance(name, str) or not is_principal_name(name):
            raise InvalidToken("the principal's claim is no name")
        return VerifiedToken(name=name, expires_at_ms=expires_at_ms)

    def _add(self, key: Mapping[str, Any], number: int) -> None:
        if not _PRIVATE_MEMBERS.isdisjoint(key):
            raise InvalidKeys(f"key {number} is private or a shared secret")
        if key.get("use", "sig") != "sig":
            return
        for algorithm in _list_algorithms(key, self._rules.algorithms):
            try:
                made = jwt.PyJWK(dict(key), algorithm)
            except (jwt.PyJWTError, ValueError, TypeError):
                raise InvalidKeys(f"key {number} is no key for {algorithm}") from None
            if made.Algorithm.check_key_length(made.key):
                raise InvalidKeys(f"key {number} is too short for {algorithm}")
            self._by_algorithm.setdefault(algorithm, []).append(made)
            if isinstance(key.get("kid"), str):
                self._keys[key["kid"], algorithm] = made

    def _find_key(self, token: str) -> jwt.PyJWK:
        header = jwt.get_unverified_header(token)
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in self._rules.algorithms:
            raise InvalidToken("signature of an algorithm that is not allowed")
        if key_id is None:
            keys = self._by_algorithm.get(algorithm, [])
            if len(keys) != 1:
                raise InvalidToken("no key id, and not one key for its algorithm")
            return keys[0]
        if not isinstance(key_id, str) or (key_id, algorithm) not in self._keys:
            raise UnknownKey("unknown key id")
        return self._keys[key_id, algorithm]


def _parse_key_set(text: str | bytes) -> Sequence[Mapping[str, Any]]:
    try:
        keys = json.loads(text)["keys"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InvalidKeys("is no JSON Web Key Set") from None
    if not isinstance(keys, list) or not all(isinstance(one, dict) for one in keys):
        raise InvalidKeys("is no JSON Web Key Set")
    return keys


def _list_algorithms(key: Mapping[str, Any], allowed: Sequence[str]) -> list[str]:
    """Return the allowed algorithms that a key is for."""
    kind, curve, stated = key.get("kty"), key.get("crv"), key.get("alg")
    possible = {
        "RSA": [one for one in allowed if one[:2] in {"RS", "PS"}],
        "EC": [one for one in allowed if one == _CURVES.get(str(curve))],
        "OKP": [one for one in allowed if one == "EdDSA" and curve == "Ed25519"],
    }.get(str(kind), [])
    return [one for one in possible if stated in {None, one}]


def _read_time_ms(claims: Mapping[str, Any], name: str) -> int:
    value = claims[name]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Also of an integer that no float can hold; of NaN this is false.
    if not is_number or not -_LATEST_S <= value <= _LATEST_S:
        raise InvalidToken(f"{name} is no time")
    return int(value * _MS)
