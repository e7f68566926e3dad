"""Texts that others choose, as they may be repeated: bounded, and none like another.

A longer text is written as its beginning and a hash of the whole,
`<beginning>...(sha256:<32 hex digits>, <its size> bytes)`, where the digits are the
first half of SHA-256. What is added is ASCII, and no character is cut in two. A text
that ends like that itself is written so as well, whatever its size: nobody can take
the place of another's.
"""

import hashlib
import re

SHORT_CHARACTERS = 52
"""Of a text that is no stand-in for sure; it takes four times as many bytes at most."""
_HASH_DIGITS = 32
_END = " bytes)"
_STAND_IN = re.compile(r".*\.\.\.\(sha256:[0-9a-f]{32}, [0-9]+ bytes\)", re.DOTALL)


def bound_text(text: str, max_bytes: int) -> str:
    """Return a text as it is, or a stand-in for one that is too long.

    Args:
        text: As it was said; nothing that a rule hides, for a hash confirms a guess.
        max_bytes: Most bytes of UTF-8; 0 leaves nothing of a longer text but its hash.
    Shape: A stand-in has max_bytes at most, or its hash and size alone.
    Raises: UnicodeEncodeError for half of a surrogate pair.
    """
    is_stand_in = text.endswith(_END) and _STAND_IN.fullmatch(text) is not None
    if text.isascii() and len(text) <= max_bytes and not is_stand_in:
        return text
    encoded = text.encode()
    if len(encoded) <= max_bytes and not is_stand_in:
        return text
    digits = hashlib.sha256(encoded).hexdigest()[:_HASH_DIGITS]
    end = f"...(sha256:{digits}, {len(encoded)}{_END}"
    room = max(max_bytes - len(end), 0)
    return encoded[:room].decode(errors="ignore") + end
