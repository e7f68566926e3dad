"""Headers of records that name what a bridge hid in them, never its values.

`redacted_keys` names keys for people, by commas, each once, then `and N more` if there
was no room for all. It is empty if nothing was hidden, and jobs do not read it.
`redactions` exists if something was hidden: JSON of version 1, keys by action and rule:
`{"v":1,"redacted":{"password-type":["ssl.key.password"]},"dropped":{"gone":["x",""]}}`.
A key that may not be shown is the empty text in it, once for each entry. Version 2 is
the same with `"more":N`, which counts what there was no room for; any empty value of
that record may have been hidden.
Source: docs/reference/topics.md.
"""

import json
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from .config_key_names import NO_NAME

KEYS_HEADER, REDACTIONS_HEADER = "redacted_keys", "redactions"
REDACTED, DROPPED = "redacted", "dropped"
"""What became of an entry: it lost its value, or is gone."""
MAX_NAMES_BYTES, MAX_REDACTIONS_BYTES = 1_500, 4_500
"""Of either header, but for the count of what is left out."""
_VERSION, _FIRST_VERSION, _VERSION_WITH_COUNT = "v", 1, 2
_KEY_MARKS, _RULE_MARKS = len('"",'), len(':[],"redacted":{},')
"""Around a key, and around the keys of a rule, at most."""
_NO_KEY = ""
_COUNT = "more"
_MOST = 10**9 - 1
_SEPARATOR = ","
_encode = json.JSONEncoder(separators=(",", ":")).encode


class Violation(NamedTuple):
    """One sensitive entry of a push."""

    key: str
    """The key, or NO_NAME for what does not look like one."""
    rule: str
    """Rule that matched."""
    action: str
    """REDACTED or DROPPED."""


class RedactedKeys(NamedTuple):
    """Content of the header `redactions`."""

    violations: tuple[Violation, ...]
    """Keys and rules as they stand there: anybody may have written them."""
    redacted: frozenset[str]
    """Keys whose entries lost their values."""
    more: int
    """How many more there were than the header names."""


def make_redaction_headers(
    violations: Collection[Violation], max_names_bytes: int = MAX_NAMES_BYTES
) -> list[tuple[str, bytes]]:
    """Return the headers of a record.

    Args:
        violations: Violations whose keys may be shown.
        max_names_bytes: Room for the names of KEYS_HEADER, which REDACTIONS_HEADER
            names again; MAX_NAMES_BYTES at most.
    Returns: Both, or KEYS_HEADER alone, empty, for no violations.
    Shape: What has no room in either is counted there.
    """
    names = list(dict.fromkeys(violation.key for violation in violations))
    headers = [(KEYS_HEADER, _join_names(names, min(max_names_bytes, MAX_NAMES_BYTES)))]
    if violations:
        headers.append((REDACTIONS_HEADER, write_redactions(violations)))
    return headers


def _join_names(names: list[str], max_bytes: int) -> bytes:
    joined = _SEPARATOR.join(names).encode()
    if len(joined) <= max_bytes:
        return joined
    # Behind the last comma that there is room for.
    count = joined[: max_bytes + 1].count(_SEPARATOR.encode())
    more = f"and {len(names) - count} more"
    return _SEPARATOR.join([*names[:count], more]).encode()


def write_redactions(violations: Iterable[Violation]) -> bytes:
    """Return the header `redactions`; empty for no violations.

    Args:
        violations: Violations whose keys may be shown.
    Shape: A key stands once for each action and rule, NO_NAME each time. So what keys
        take is less than the entries in their request did. What does not fit into
        MAX_REDACTIONS_BYTES is counted.
    """
    named: dict[str, dict[str, list[str]]] = {}
    known = set()
    room, more = MAX_REDACTIONS_BYTES, 0
    for violation in violations:
        key, rule, action = violation
        if key == NO_NAME:
            key = _NO_KEY
        elif violation in known:
            continue
        else:
            known.add(violation)
        rules = named.get(action, {})
        room -= len(key) + _KEY_MARKS
        if rule not in rules:
            room -= len(_encode(rule)) + _RULE_MARKS
        if room < 0:
            more += 1
            continue
        named.setdefault(action, rules).setdefault(rule, []).append(key)
    if not (named or more):
        return b""
    if not more:
        return _encode({_VERSION: _FIRST_VERSION, **named}).encode()
    count = {_COUNT: min(more, _MOST)}
    return _encode({_VERSION: _VERSION_WITH_COUNT, **named, **count}).encode()


@lru_cache(maxsize=256)
def read_redactions(header: str) -> RedactedKeys | None:
    """Read the header `redactions`.

    Returns: Its content; None for a text that is not JSON of either version.
    """
    try:
        said = json.loads(header)
        more = _count(said.pop(_COUNT)) if _COUNT in said else 0
        violations = tuple(
            Violation(_text(key) or NO_NAME, _text(rule) or NO_NAME, action)
            for action in (REDACTED, DROPPED)
            for rule, keys in said.pop(action, {}).items()
            for key in _list(keys)
        )
    except (AttributeError, RecursionError, TypeError, ValueError):
        return None
    if said != {_VERSION: _VERSION_WITH_COUNT if more else _FIRST_VERSION}:
        return None
    redacted = (one.key for one in violations if one.action == REDACTED)
    return RedactedKeys(violations, frozenset(redacted), more)


def _count(said: object) -> int:
    """Return what is a count.

    Raises: TypeError, ValueError.
    """
    if not isinstance(said, int) or isinstance(said, bool):
        raise TypeError("no count")
    if not 1 <= said <= _MOST:
        raise ValueError("no count")
    return said


def _list(said: object) -> list[object]:
    """Return what is a list.

    Raises: TypeError.
    """
    if not isinstance(said, list):
        raise TypeError("no list")
    return said


def _text(said: object) -> str:
    """Return a text that Arrow takes: one without half of a surrogate pair.

    Raises: TypeError, ValueError.
    """
    if not isinstance(said, str):
        raise TypeError("no text")
    said.encode()
    return said
