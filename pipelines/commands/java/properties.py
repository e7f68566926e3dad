"""Reads a .properties file as Java does.

Source: java.util.Properties.load (JDK 17).
"""

import re
from collections.abc import Iterator

_BLANKS = " \t\f"
_KEY_END = "=: \t\f"
_LINE_END = re.compile(r"\r\n|[\r\n]")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNICODE = re.compile(r"u([0-9a-fA-F]{4})")
_UNICODE_LENGTH = 5


def parse_properties(text: str) -> dict[str, str]:
    """Return the properties; a key that stands there twice has its last value.

    Raises: ValueError for a broken backslash-u escape, naming its line only.
    """
    properties = {}
    for number, line in _join_lines(text):
        key, rest = _split_key(line)
        try:
            properties[_unescape(key)] = _unescape(rest)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return properties


def _join_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield logical lines, comments left out, with the number of their first line."""
    logical, first = "", 0
    for number, natural in enumerate(_LINE_END.split(text), 1):
        line = natural.lstrip(_BLANKS)
        if not logical:
            if not line or line[0] in "#!":
                continue
            first = number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            # Not empty, so that an empty line behind it ends it.
            logical = logical + line[:-1] or " "
            continue
        yield first, (logical + line).lstrip(_BLANKS)
        logical = ""
    if logical:
        yield first, logical.lstrip(_BLANKS)


def _split_key(line: str) -> tuple[str, str]:
    end = 0
    while end < len(line) and line[end] not in _KEY_END:
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(_BLANKS)
    if rest[:1] in {"=", ":"}:
        rest = rest[1:].lstrip(_BLANKS)
    return line[:end], rest


def _unescape(text: str) -> str:
    result, position = [], 0
    while position < len(text):
        if text[position] != "\\":
            result.append(text[position])
            position += 1
            continue
        escaped = text[position + 1 : position + 1 + _UNICODE_LENGTH]
        if escaped.startswith("u"):
            found = _UNICODE.fullmatch(escaped)
            if found is None:
                raise ValueError("a \\u that is not followed by four hex digits")
            result.append(chr(int(found[1], 16)))
            position += 1 + _UNICODE_LENGTH
        else:
            result.append(_ESCAPES.get(escaped[:1], escaped[:1]))
            position += 2
    # Java writes characters outside the basic plane as two escapes.
    return "".join(result).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
