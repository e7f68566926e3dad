"""Texts that clients chose, made fit to be looked at.

A page never runs them: templates escape, the page's own script writes text nodes. But
they could hide one another: by marks that turn the direction of writing, by what cannot
be seen, by length. What is changed here is named by a digest as well, so that two
clients that look alike still have two names.
"""

import hashlib
from datetime import UTC, date, datetime

LONGEST_TEXT = 200
"""Characters of a cell; client ids may have 32,767, attributes of metrics more."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_DIGEST_BYTES = 4
_HIDDEN = "\N{EN DASH}"
"""A null among values; alone it stays null, and the page draws it so."""


def show_text(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text in one line, without what cannot be seen, and not too long."""
    if len(text) <= longest and text.isprintable():
        return text
    shown = "".join(
        one if one.isprintable() else _REPLACEMENT for one in text[:longest]
    )
    digest = hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()
    return f"{shown}{'…' if len(text) > longest else ''} #{digest}"


def show(value: object) -> object:
    """Return what a cell says: numbers as they are, all else as a text; null: null."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if abs(value) < float("inf") else None
        case datetime():
            return show_time(value)
        case date():
            return value.isoformat()
        case list() | tuple():
            told = (_HIDDEN if one is None else str(show(one)) for one in value)
            return show_text(", ".join(told))
        case _:
            return show_text(str(value))


def show_time(moment: datetime) -> str:
    """Return a time in UTC, to the second."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def name_client_id(client_id: str | None) -> str:
    """Return a client id as a name that can be seen."""
    if client_id is None:
        return "(no client id)"
    return client_id or "(empty client id)"
