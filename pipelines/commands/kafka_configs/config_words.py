"""Configs among words, and numbers, as Kafka's tool reads and prints them.

Source: Kafka 4.3, ConfigCommand.scala; java.lang.Double (JDK 17), java.lang.String.
"""

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from pipelines.commands.java.properties import parse_properties

from .options import Misuse

_OUTSIDE_BRACKETS = r"(?=[^\]]*(?:\[|$))"
_COMMA = re.compile(f",{_OUTSIDE_BRACKETS}")
_EQUALS = re.compile(rf"\s*=\s*{_OUTSIDE_BRACKETS}", re.ASCII)
_KEY = re.compile(r"[a-zA-Z0-9._-]*")
_BLANKS = "".join(map(chr, range(ord(" ") + 1)))
"""What trim takes off in Java."""
_PAIR = 2

_DECIMAL = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<word>NaN|Infinity)|"
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?)"
)
_HEXADECIMAL = re.compile(
    r"(?P<number>[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)"
    r"[pP][+-]?[0-9]+)[fFdD]?"
)
_SHORTEST_SCIENTIFIC = 1e7
_LONGEST_PLAIN = 1e-3
"""Between these two, Java prints a number without an exponent."""


def read_additions(words: str | None, path: str | None) -> dict[str, str]:
    """Read what is to be set.

    Args:
        words: `k1=v1,k2=[v2,v3]`; None where there are none.
        path: A file of properties in their place.
    Raises: Misuse, without any value.
    """
    found: dict[str, str] = {}
    if path is not None:
        found |= load_properties(path)
    if words is not None:
        found |= _parse(words)
    for key in found:
        if not _KEY.fullmatch(key):
            raise Misuse(f"Invalid character found for config key: {key}")
    return found


def load_properties(path: str) -> dict[str, str]:
    """Read a file of properties.

    Raises: Misuse, naming it.
    """
    try:
        return parse_properties(Path(path).read_text(encoding="latin-1"))
    except OSError as error:
        raise Misuse(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise Misuse(f"{path}: {error}") from None


def _parse(words: str) -> dict[str, str]:
    items = _COMMA.split(words)
    # Java's split leaves out what is empty at the end, where there is a comma at all.
    while len(items) > 1 and not items[-1]:
        items.pop()
    pairs = [_EQUALS.split(item) for item in items]
    if any(len(pair) != _PAIR for pair in pairs):
        raise Misuse(
            "requirement failed: Invalid entity config: all configs to be added must "
            'be in the format "key=val" or  "key=[val1,val2]" to group values which '
            "contain commas."
        )
    return {
        key.strip(_BLANKS): re.sub(r"[\[\]]", "", value).strip(_BLANKS)
        for key, value in pairs
    }


def read_numbers(values: Mapping[str, str]) -> dict[str, float]:
    """Read values of quotas.

    Raises: Misuse, naming key and value.
    """
    numbers = {}
    for key, text in values.items():
        number = read_double(text)
        if number is None:
            raise Misuse(f"Cannot parse quota configuration value for {key}: {text}")
        numbers[key] = number
    return numbers


def read_double(text: str) -> float | None:
    """Return what Java reads as a double, or None where it is none."""
    text = text.strip(_BLANKS)
    if found := _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(found["number"])
        except OverflowError:
            return -math.inf if text.startswith("-") else math.inf
    if found := _DECIMAL.fullmatch(text):
        return float(found["sign"] + (found["word"] or found["number"]))
    return None


def show_double(value: float) -> str:
    """Return a number as Java prints a double."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if not value or _LONGEST_PLAIN <= abs(value) < _SHORTEST_SCIENTIFIC:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)  # noqa: S101 - neither infinite nor no number
    first, *rest = map(str, digits)
    power = exponent + len(rest)
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{power}"
