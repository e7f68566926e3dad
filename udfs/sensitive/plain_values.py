r"""Values as they are searched for secrets once more: without escapes and disguises.

Strategy: what writes a character in another way (`%3D`, `\u003d`, `\=`, `&quot;`) is
undone, several times, for texts stand in texts; what only stands for its own escape
(`%2525253D`) is undone however deep it is. Then each character becomes what it looks
like: compatibility forms folded, marks and invisible characters gone, letters of other
scripts as the ASCII that they are taken for.
Every step looks at the characters of one line alone, so the plain form of values joined
by line feeds is their plain forms, joined: one search for all stays possible.
Source: RFC 3986, section 2.1; RFC 8259, section 7; Unicode Standard Annex 15; Unicode
Technical Standard 39.
"""

import html
import re
import unicodedata

from .confusable_letters import CONFUSABLE_LETTERS

MAY_DIFFER = r"[%&\\\x00-\x08\x0b\x0e-\x1f\x7f-\x{10FFFF}]"
"""RE2's: where it is not found in a value, the value is its own plain form."""

_MAX_TIMES = 8
_NESTED_ENTITY = re.compile(r"&(?:amp;)+(?=[#A-Za-z])")
_NESTED_PERCENT = re.compile(r"%(?:25)+(?=[0-9A-Fa-f]{2})")
_PERCENT_UNIT = re.compile(r"%u(?=[0-9A-Fa-f]{4})")
# No entity is longer than what html knows; digits are bounded as int() bounds them.
_ENTITY = re.compile(
    r"&(?:#0{0,8}[0-9]{1,7}(?:;|(?![0-9]))"
    r"|#[xX]0{0,8}[0-9A-Fa-f]{1,6}(?:;|(?![0-9A-Fa-f]))|[A-Za-z][A-Za-z0-9]{1,31};)"
)
# Each begins with a literal, which Python searches for at once.
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*")
_BACKSLASH = re.compile(
    r"\\\\*(?:(?P<units>u[0-9A-Fa-f]{4}(?:\\+u[0-9A-Fa-f]{4})*)"
    r"|(?:x(?P<byte>[0-9A-Fa-f]{2})|u\{0{0,8}(?P<point>[0-9A-Fa-f]{1,6})\}"
    r"|U00(?P<long>[0-9A-Fa-f]{6}))|(?P<octal>[0-3][0-7]{2})|(?P<other>.))"
)
_NOT_HEX = re.compile(r"[\\u]+")
_WHITE_SPACE = {"n": "\n", "r": "\n", "t": " "}
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_LOOKS = {
    "Mn": "", "Me": "", "Cf": "", "Cc": " ", "Zs": " ", "Zl": " ", "Zp": " ",
    "Pd": "-", "Pi": '"', "Pf": '"',
}  # fmt: skip
"""What characters of these categories look like."""
_CONTROLS = dict.fromkeys((*range(1, 9), 11, *range(14, 32), 127), " ") | {0: None}
"""A text in UTF-16 that is read as another has a NUL beside each letter."""
_FILLERS_AND_MINUS = str.maketrans({"\u115f": "", "\u1160": "", "\u2212": "-"})


def plain_value(value: str) -> str:
    """Take from a value what only makes it look different.

    Args:
        value: As it was sent.
    Returns: The value without escapes (percent, backslash, HTML) and in compatibility
        forms (NFKD), without marks and invisible characters, look-alikes of other
        scripts as ASCII; case is kept. Dashes are `-`, quotation marks `"`, white space
        beyond ASCII and control characters but those of lines and tabs are blanks, NUL
        is nothing.
    Shape: Of values joined by line feeds, their plain forms joined by line feeds.
    """
    if _is_plain(value):
        return value
    for _ in range(_MAX_TIMES):
        before = value
        if "&" in value:
            value = _NESTED_ENTITY.sub("&", value)
            value = _ENTITY.sub(lambda found: html.unescape(found[0]), value)
        if "%" in value:
            value = _NESTED_PERCENT.sub("%", value)
            value = _PERCENT.sub(_undo_percent, _PERCENT_UNIT.sub(r"\\u", value))
        if "\\" in value:
            value = _BACKSLASH.sub(_undo_backslash, value)
        if value == before:
            break
    value = value.translate(_CONTROLS)
    if value.isascii():
        return value
    # Marks go first: to sort a long run of them takes NFKD the square of its length.
    bare = _NOT_ASCII.sub(_take_looks, value)
    folded = unicodedata.normalize("NFKD", bare).translate(_FILLERS_AND_MINUS)
    return _NOT_ASCII.sub(_take_looks, folded.translate(CONFUSABLE_LETTERS))


def _is_plain(value: str) -> bool:
    """Return at once whether a value is surely its own plain form, as most are."""
    is_bare = "%" not in value and "\\" not in value and "&" not in value
    return is_bare and value.isascii() and value.replace("\n", "").isprintable()


def _undo_percent(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("%", "")).decode(errors="replace")


def _undo_backslash(found: re.Match[str]) -> str:
    if units := found["units"]:
        # As UTF-16, so that pairs of surrogates are one character, and none is alone.
        digits = _NOT_HEX.sub("", units)
        return bytes.fromhex(digits).decode("utf-16-be", errors="replace")
    if octal := found["octal"]:
        return chr(int(octal, 8))
    if digits := found["byte"] or found["point"] or found["long"]:
        return _character(int(digits, 16))
    return _WHITE_SPACE.get(found["other"], found["other"])


def _character(number: int) -> str:
    try:
        return chr(number).encode().decode()
    except ValueError:  # beyond Unicode, or half of a pair
        return "\ufffd"


def _take_looks(found: re.Match[str]) -> str:
    return "".join(
        "" if unicodedata.combining(one) else _LOOKS.get(unicodedata.category(one), one)
        for one in found[0]
    )
