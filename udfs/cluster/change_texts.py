"""What a record has changed, in one readable line; never a hidden value."""

from collections.abc import Sequence

NOT_SET = "\0"
"""In the place of a value: there is none. No value of Kafka's is that."""
HIDDEN = "(hidden)"
NULL = "null"
_MAX_SHOWN = 5
_MAX_LENGTH = 200


def show_value(value: str | None) -> str:
    """Return a value in one line, and not more than a line holds."""
    if value is None:
        return NULL
    text = " ".join(value.split("\n"))
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"


def is_cut(text: str) -> bool:
    """Return whether show_value has left out the end of a value."""
    return len(text) == _MAX_LENGTH and text.endswith("…")


def show_number(number: float) -> str:
    """Return a number as people write it: 1048576, 12.5."""
    return repr(number).removesuffix(".0")


def tell_change(name: str, before: str, after: str) -> str:
    """Say what a value was and is; NOT_SET where there is none."""
    if before == NOT_SET:
        return f"{name} set to {after}"
    if after == NOT_SET:
        return f"{name} {before} removed"
    return f"{name} {before} -> {after}"


def tell_some(texts: Sequence[str]) -> str:
    """Return the first ones, and how many more there are."""
    shown = ", ".join(texts[:_MAX_SHOWN])
    more = len(texts) - _MAX_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
