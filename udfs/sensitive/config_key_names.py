"""Keys of client configurations as they are compared, and as they may be shown."""

import re
import unicodedata

KEYS_SOFTWARE = "apache-kafka-java"
"""Whose catalogs know the keys that requests show, and client.id: rules judge them as
keys of it, whatever the client's own software is."""
NO_NAME = "(no name)"
"""Stands for a key that does not look like one."""

_MAX_NAME_LENGTH = 128
_NAME = re.compile(r"[A-Za-z0-9]{1,32}(?:[._-][A-Za-z0-9]{1,32})*")
_SEPARATORS = str.maketrans("_-", "..")
_MARK_OR_INVISIBLE = frozenset({"Mn", "Me", "Cc", "Cf", "Zs", "Zl", "Zp"})


def plain_form(key: str) -> str:
    """Take from a key what only makes it look different.

    Args:
        key: As it was sent.
    Returns: Compatibility forms, case and accents folded (NFKD, case folding), white
        space, control and invisible characters gone, `_` and `-` as `.`.
    Source: Unicode Standard Annex 15.
    """
    if key.isascii() and key.isprintable():
        return key.replace(" ", "").lower().translate(_SEPARATORS)
    if not key.isascii():
        # To sort a long run of marks takes NFKD the square of its length.
        bare = "".join(c for c in key if not unicodedata.combining(c))
        folded = unicodedata.normalize("NFKD", bare).casefold()
        key = unicodedata.normalize("NFKD", folded)
    visible = (c for c in key if unicodedata.category(c) not in _MARK_OR_INVISIBLE)
    return "".join(visible).lower().translate(_SEPARATORS)


def show_key(key: str) -> str:
    """Return a key as it may be written and told.

    A text that does not look like a key may be a value that stands in the wrong place.

    Args:
        key: As it was sent.
    Returns: The key itself where it is up to 128 characters in words of up to 32 ASCII
        letters and digits, joined by `.`, `_` or `-`; otherwise NO_NAME.
    """
    is_name = len(key) <= _MAX_NAME_LENGTH and _NAME.fullmatch(key) is not None
    return key if is_name else NO_NAME
