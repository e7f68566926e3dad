"""Selectors that match no client that there can be: said, and never refused.

Only what is certain is said: of a pattern, the plain text that each match begins with,
and alternatives that are an id with dashes.
Source: KIP-714, whose own example has the id of a client instance with dashes, while
brokers compare the 22 characters that they print.
"""

import re
import uuid
from collections.abc import Mapping

from pipelines.bridge.core.client_identity import address_text, uuid_text
from udfs.subscriptions.java_patterns import MatchPattern

_ID = "client_instance_id"
_ID_LENGTH = 22
_WHY_NO_ID = f"ids of client instances are {_ID_LENGTH} characters of base64url"
_ID_BEGINNING = re.compile(r"[A-Za-z0-9_-]{0,22}")
_PORT_BEGINNING = re.compile(r"(?:[1-9][0-9]{0,4})?")
_MAX_PORT = 65_535
_DASHED_ID = re.compile(
    r"(?i)\^?([0-9a-f]{8}(?:\\?-?[0-9a-f]{4}){3}\\?-?[0-9a-f]{12})\$?"
)
_OUTER = re.compile(
    r"(?:\(\?i\))?\^?(?:\((?:\?:|\?<[A-Za-z0-9]+>)?(?P<group>[^()]*)\)\$?|(?P<bare>.*))",
    re.DOTALL,
)
_PIECE = re.compile(r"(?P<skipped>\\.|\[\^?\]?(?:[^\]\\]|\\.)*\])|[|()]", re.DOTALL)


def find_unmatchable(match: Mapping[str, MatchPattern]) -> list[str]:
    """Say which selectors of a subscription never match.

    Args:
        match: Selector to pattern.
    Returns: A sentence for each, without the pattern; none where all may match.
    """
    said = (
        (name, reason(match[name]))
        for name, reason in _REASONS.items()
        if name in match
    )
    found = [f"its selector {name} never matches: {why}" for name, why in said if why]
    pattern = match.get(_ID)
    if pattern is not None and not _why_no_id(pattern):
        dashed = (_read_dashed(one) for one in _split_alternatives(pattern.pattern))
        found += [
            f"an alternative of its selector {_ID} never matches: {_why_dashed(one)}"
            for one in dict.fromkeys(dashed)
            if one is not None
        ]
    return found


def _split_alternatives(pattern: str) -> list[str]:
    """Return what the `|` of a pattern part, without an outer group."""
    outer = _OUTER.fullmatch(pattern)
    text = pattern if outer is None else outer["group"] or outer["bare"] or ""
    ends, depth = [-1], 0
    for found in _PIECE.finditer(text):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if found[0] == "|" and depth == 0:
            ends.append(found.start())
    following = [*ends[1:], len(text)]
    return [text[one + 1 : end] for one, end in zip(ends, following, strict=True)]


def _read_dashed(alternative: str) -> uuid.UUID | None:
    found = _DASHED_ID.fullmatch(alternative)
    return None if found is None else uuid.UUID(found[1].replace("\\", ""))


def _why_dashed(given: uuid.UUID) -> str:
    return f"{_WHY_NO_ID}; this one is {uuid_text(given)}"


def _why_no_id(pattern: MatchPattern) -> str:
    dashed = [_read_dashed(one) for one in _split_alternatives(pattern.pattern)]
    if dashed[0] is not None and None not in dashed:
        return _why_dashed(dashed[0])
    beginning = pattern.prefix
    is_id = _ID_BEGINNING.fullmatch(beginning) is not None
    if is_id and not (pattern.is_literal and len(beginning) != _ID_LENGTH):
        return ""
    given = _read_dashed(beginning)
    return _WHY_NO_ID if given is None else _why_dashed(given)


def _why_no_port(pattern: MatchPattern) -> str:
    beginning = pattern.prefix
    is_port = _PORT_BEGINNING.fullmatch(beginning) is not None
    if is_port and int(beginning or "0") <= _MAX_PORT:
        return "a port is a number" if pattern.is_literal and not beginning else ""
    return f"ports are numbers from 1 to {_MAX_PORT}"


def _why_no_address(pattern: MatchPattern) -> str:
    if not pattern.is_literal:
        return ""
    given = pattern.prefix
    written = address_text(given)
    if written != given:
        return f"addresses are as Java prints them, this one as {written}"
    is_address = given.count(".") == 3 or ":" in given  # noqa: PLR2004 - IPv4
    return "" if is_address else "addresses are numbers, not names"


_REASONS = {
    _ID: _why_no_id,
    "client_source_address": _why_no_address,
    "client_source_port": _why_no_port,
}
