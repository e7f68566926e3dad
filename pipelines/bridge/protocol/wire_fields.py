"""What readers of configurations have in common; nothing is reserved for a length."""

from .cursor import Cursor

Seen = dict[str, str]
"""Config key to value, as texts."""
UUID_BYTES = 16


def read_string(cursor: Cursor, *, is_compact: bool) -> str | None:
    """Return a string of the older or the compact form; None for null."""
    return cursor.read_compact_string() if is_compact else cursor.read_legacy_string()


def read_count(cursor: Cursor, *, is_compact: bool) -> int:
    """Return how many items are claimed; none for null. Nothing is made of it."""
    count = cursor.read_uvarint() - 1 if is_compact else cursor.read_int32()
    return max(count, 0)


def skip_topic(cursor: Cursor, *, has_id: bool, is_compact: bool) -> None:
    """Pass over the name of a topic, or its id."""
    if has_id:
        cursor.skip(UUID_BYTES)
    else:
        read_string(cursor, is_compact=is_compact)


def note(seen: Seen, key: str, text: str | None) -> None:
    """Take a value that is there."""
    if text is not None:
        seen[key] = text
