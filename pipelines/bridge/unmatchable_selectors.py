"""Selectors that match no client that there can be: said, and never refused.

Only what is certain is said: of a pattern, the plain text that each match begins with.
Source: KIP-714, whose own example has the id of a client instance with dashes, while
brokers compare the 22 characters that they print.
"""

import re
import uuid
from collections.abc import Mapping

from .client_identity import address_text, uuid_text
from .match_patterns import MatchPattern

_ID_LENGTH = 22
_ID_BEGINNING = re.compile(r"[A-Za-z0-9_-]{0,22}")
_PORT_BEGINNING = re.compile(r"(?:[1-9][0-9]{0,4})?")
_MAX_PORT = 65_535


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
    return [f"its selector {name} never matches: {why}" for name, why in said if why]


def _why_no_id(pattern: MatchPattern) -> str:
    beginning = pattern.prefix
    is_id = _ID_BEGINNING.fullmatch(beginning) is not None
    if is_id and not (pattern.is_literal and len(beginning) != _ID_LENGTH):
        return ""
    why = f"ids of client instances are {_ID_LENGTH} characters of base64url"
    try:
        given = uuid.UUID(beginning)
    except ValueError:
        return why
    return f"{why}; this one is {uuid_text(given)}"


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
    "client_instance_id": _why_no_id,
    "client_source_address": _why_no_address,
    "client_source_port": _why_no_port,
}
