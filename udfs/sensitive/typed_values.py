"""Values of client configurations by their types, as Java's clients parse them.

Strategy: one text at a time and the standard library only, since pipelines/clients/
links to this file; udfs/configs/value_columns does the same for columns. A text that is
not of its type is INVALID and raises nothing.
Source: org.apache.kafka.common.config.ConfigDef.parseType, Apache Kafka 4.3.1;
Integer.parseInt, Double.parseDouble and String.trim of Java 17.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

INT16, INT32, INT64 = 16, 32, 64
TEXT_TYPES = frozenset({"STRING", "CLASS"})
"""Types whose value is the text itself, without white space around it."""
SECRET_TYPES = frozenset({"PASSWORD"})
"""Types whose value is never looked at."""

PLAIN_TYPES = frozenset({"BOOLEAN", "INT", "SHORT", "LONG", "DOUBLE"})
"""Types of numbers and booleans."""

_LONGEST_NUMBER = len("-2.2250738585072014E-308")
_JAVA_TRIMS = "".join(map(chr, range(0x21)))
_JAVA_WHITE_SPACE = " \t\n\x0b\f\r"
_BOOLEANS = {"true": True, "false": False}
_LONG_S = "\N{LATIN SMALL LETTER LONG S}"
_LAST_UTF_16_UNIT = "\uffff"
_MAX_DIGITS = 19
_SIGNS = ("+", "-")
# Each piece can begin in one way only, so that no text makes them go back.
_DECIMAL = re.compile(
    r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?([fFdD]?)"
)
_HEX = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)"
    r"[pP][+-]?[0-9]+([fFdD]?)"
)
_NOT_FINITE = {
    sign + name: float(sign + name)
    for sign in ("", *_SIGNS)
    for name in ("NaN", "Infinity")
}


class Invalid(Enum):
    """What a text is that does not fit its type."""

    INVALID = "invalid_value"


INVALID: Final = Invalid.INVALID

Typed = bool | int | float | str | tuple[str, ...] | None


def parse_value(type_name: str, text: str) -> Typed | Invalid:
    """Return a value as its type has it.

    Args:
        type_name: One of CONFIG_TYPE_NAMES, or any other text for a type unknown.
        text: As it was sent.
    Returns: bool, int (INT, SHORT, LONG), float, tuple of items (LIST), the trimmed
        text (STRING, CLASS), or the text itself (a type unknown).
    Nulls: A PASSWORD is None, whatever it is.
    Errors: INVALID where Java refuses the text. Whether a CLASS exists is not asked.
    """
    if type_name in SECRET_TYPES:
        return None
    if type_name in TEXT_TYPES:
        return java_trim(text)
    parse = PARSERS.get(type_name)
    return text if parse is None else parse(java_trim(text))


def is_plainly_typed(type_name: str, text: str) -> bool:
    """Return whether a text is a number or boolean that cannot hide anything else.

    Args:
        type_name: As in parse_value.
        text: As it was sent.
    Returns: True for the text of one of PLAIN_TYPES in ASCII, without hexadecimal
        digits, and no longer than the longest number that Java writes.
    """
    trimmed = java_trim(text)
    return (
        type_name in PLAIN_TYPES
        and len(text) <= _LONGEST_NUMBER
        and text.isascii()
        and _HEX.fullmatch(trimmed) is None
        and PARSERS[type_name](trimmed) is not INVALID
    )


def is_same_value(type_name: str, text: str, other: str) -> bool:
    """Return whether two texts are the same value of a type.

    Args:
        type_name: As in parse_value.
        text: One of them.
    Returns: True for equal texts; else whether Java's values are equal, so that NaN is
        NaN and 0.0 is not -0.0. Nothing is the same as a text that is INVALID.
    """
    if text == other:
        return True
    value = parse_value(type_name, text)
    is_nothing = value is None or value is INVALID
    return not is_nothing and repr(value) == repr(parse_value(type_name, other))


def java_trim(text: str) -> str:
    """Return what String.trim does.

    Returns: The text without characters up to U+0020 at its ends.
    """
    return text.strip(_JAVA_TRIMS)


def _parse_boolean(text: str) -> bool | Invalid:
    # To Java, a long s is an s in another case.
    return _BOOLEANS.get(text.replace(_LONG_S, "s").lower(), INVALID)


def _parse_integer(bits: int) -> Callable[[str], int | Invalid]:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def parse(text: str) -> int | Invalid:
        digits = text[1:] if text.startswith(_SIGNS) else text
        # Java takes the digits of every script, but one UTF-16 unit at a time.
        if not digits.isdecimal() or max(digits) > _LAST_UTF_16_UNIT:
            return INVALID
        if not digits.isascii():
            digits = "".join(str(unicodedata.decimal(one)) for one in digits)
        digits = digits.lstrip("0") or "0"
        if len(digits) > _MAX_DIGITS:
            return INVALID
        value = -int(digits) if text.startswith("-") else int(digits)
        return value if low <= value <= high else INVALID

    return parse


def _parse_double(text: str) -> float | Invalid:
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    if found := _DECIMAL.fullmatch(text):
        return float(text[: found.start(1)])
    if found := _HEX.fullmatch(text):
        try:
            return float.fromhex(text[: found.start(1)])
        except OverflowError:
            return float("-inf" if text.startswith("-") else "inf")
    return INVALID


def _parse_list(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    return tuple(item.strip(_JAVA_WHITE_SPACE) for item in text.split(","))


PARSERS: Mapping[str, Callable[[str], Typed | Invalid]] = {
    "BOOLEAN": _parse_boolean,
    "INT": _parse_integer(INT32),
    "SHORT": _parse_integer(INT16),
    "LONG": _parse_integer(INT64),
    "DOUBLE": _parse_double,
    "LIST": _parse_list,
}
"""How the trimmed text of each other type is parsed."""
