"""Characters and classes of Java's regular expressions in RE2's syntax.

Source: java.util.regex.Pattern (JDK 17); google/re2 wiki, Syntax.
"""

import re
from collections.abc import Iterator

_SET_ITEM = re.compile(
    r"""
      \\[dDwWsStnrf] | \\x[0-9a-fA-F]{2} | \\u[0-9a-fA-F]{4} | \\[^a-zA-Z0-9\s]
    | [^\\]
    """,
    re.VERBOSE | re.DOTALL,
)
# Java's \s has the vertical tab, RE2's has not.
SHORTHANDS = {
    r"\d": "[:digit:]",
    r"\D": "[:^digit:]",
    r"\w": "[:word:]",
    r"\W": "[:^word:]",
    r"\s": "[:space:]",
    r"\S": "[:^space:]",
}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SURROGATES = range(0xD800, 0xE000)
_CASE_DISTANCE = ord("a") - ord("A")
_CASES = (
    (ord("A"), ord("Z"), _CASE_DISTANCE),
    (ord("a"), ord("z"), -_CASE_DISTANCE),
)


# What Java reads and RE2 does not; the first that fits says why.
_UNSUPPORTED = (
    (re.compile(r"\(\?<?[=!]"), "lookaround"),
    (re.compile(r"\(\?>"), "an atomic group"),
    (re.compile(r"\(\?[a-zA-Z-]+[:)]"), "a flag other than (?i) at the start"),
    (re.compile(r"\\(?:[1-9]|k<)"), "a back reference"),
    (re.compile(r"\\[pPQERXGZhHvVNaec0]"), "an escape that RE2 reads differently"),
    (re.compile(r"\[[^\]]*\["), "a class inside a class"),
)


class UnsupportedPattern(ValueError):
    """Raised for a pattern that Java may take; says what is not taken here."""


def explain(text: str, position: int) -> ValueError:
    """Return the error for what no token fits."""
    for form, name in _UNSUPPORTED:
        if form.match(text, position):
            return UnsupportedPattern(f"{name} at character {position + 1}")
    return ValueError(f"unknown syntax at character {position + 1}")


def write_set(text: str, *, is_ignoring_case: bool) -> str:
    """Write a class, brackets included."""
    body = text[1:-1]
    is_negated = body.startswith("^")
    body = body[is_negated:]
    if not body:
        raise ValueError("an empty class")
    if "&&" in body:
        raise UnsupportedPattern("an intersection of classes")
    written = "".join(
        item
        if isinstance(item, str)
        else write_range(*item, is_ignoring_case=is_ignoring_case)
        for item in _read_set(body)
    )
    return f"[{'^' if is_negated else ''}{written}]"


def _read_set(body: str) -> Iterator[str | tuple[int, int]]:
    """Yield what a class is made of: RE2's names of classes, and ranges."""
    items = _split_set(body)
    last = len(items) - 1
    index = 0
    while index <= last:
        item, is_range = items[index], index + 1 < last and items[index + 1] == "-"
        if item in SHORTHANDS and not is_range:
            yield SHORTHANDS[item]
            index += 1
            continue
        end = items[index + 2] if is_range else item
        index += 3 if is_range else 1
        is_joined = is_range and index < last and items[index] == "-"
        if is_joined or item in SHORTHANDS or end in SHORTHANDS:
            raise UnsupportedPattern("a - in a class that is neither end nor range")
        low, high = code_point_of(item), code_point_of(end)
        if low > high:
            raise ValueError("a range that goes backwards")
        yield low, high


def _split_set(body: str) -> list[str]:
    items: list[str] = []
    position = 0
    while position < len(body):
        found = _SET_ITEM.match(body, position)
        if found is None:
            raise explain(body, position)
        items.append(found[0])
        position = found.end()
    return items


def write_range(low: int, high: int, *, is_ignoring_case: bool) -> str:
    """Write the inside of a class that holds these code points, both ends included."""
    ranges = [(low, high)]
    if is_ignoring_case:
        for first, last, distance in _CASES:
            start, stop = max(low, first), min(high, last)
            if start <= stop:
                ranges.append((start + distance, stop + distance))
    return "".join(f"{escape(start)}-{escape(stop)}" for start, stop in ranges)


def code_point_of(text: str) -> int:
    """Return the character that a literal or an escape stands for."""
    if not text.startswith("\\"):
        return ord(text)
    if text[1] in "xu":
        code_point = int.from_bytes(bytes.fromhex(text[2:]))
        if code_point in _SURROGATES:
            raise UnsupportedPattern("half of a surrogate pair")
        return code_point
    return ord(_CONTROLS.get(text[1], text[1]))


def escape(code_point: int) -> str:
    """Write a character so that RE2 sees no operator in it."""
    return rf"\x{{{code_point:X}}}"
