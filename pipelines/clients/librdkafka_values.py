"""What librdkafka makes of the text of a value: the value that is in force.

Source: librdkafka 2.16, src/rdkafka_conf.c, rd_kafka_anyconf_set_prop. What it refuses
there is left as it is here, since no handle comes of it.
"""

import re

from .catalogs import Config

_WHITE_SPACE = " \t\n\v\f\r"
"""What isspace of C takes for it; other white space is text."""
_AS_GIVEN = {"client.rack", "group.protocol.type", "topic.blacklist"}
"""Of all other texts librdkafka takes the white space in front away."""
_TRUE, _FALSE = ("true", "t", "1"), ("false", "f", "0")
_INTEGER = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([0-9]+))")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LARGEST_LONG, _INT_SPAN, _INT_SIGN = 2**63 - 1, 2**32, 2**31


def as_text(value: object) -> str:
    """Return the text that librdkafka is given; lists as this library's own configs."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(str(item) for item in value)
    return str(value)


def read_value(config: Config, text: str) -> str:
    """Return the value in force in the form in which librdkafka prints it.

    Args:
        config: What is set.
        text: As given, not empty.
    """
    if config.name in _AS_GIVEN:
        return text
    trimmed = text.lstrip(_WHITE_SPACE)
    if config.words:
        return _find_word(config.words, trimmed)
    if config.type_name == "BOOLEAN":
        return _read_boolean(trimmed)
    if config.type_name == "INT":
        return _read_int(trimmed)
    if config.type_name == "DOUBLE":
        return _read_float(trimmed)
    return trimmed


def read_own_value(config: Config | None, text: str) -> str:
    """Return the value in force of what librdkafka does not know; None: nobody does."""
    trimmed = text.strip()
    if config is not None and config.type_name == "BOOLEAN":
        return _read_boolean(trimmed)
    is_number = trimmed.isascii() and trimmed.isdecimal()
    return str(int(trimmed)) if is_number else trimmed


def _find_word(words: tuple[str, ...], text: str) -> str:
    lowered = text.lower()
    return next((word for word in words if word.lower() == lowered), text)


def _read_boolean(text: str) -> str:
    lowered = text.lower()
    if lowered in _TRUE:
        return "true"
    return "false" if lowered in _FALSE else text


def _read_int(text: str) -> str:
    """Return what strtol reads, whatever stands behind it, as an int of 32 bits."""
    found = _INTEGER.match(text)
    if found is None:
        # acks has a word for a number.
        return text.lower()
    sign, hexadecimal, octal, decimal = found.groups()
    digits, base = decimal, 10
    if decimal is None:
        digits, base = (octal, 8) if hexadecimal is None else (hexadecimal, 16)
    number = min(int(digits, base), _LARGEST_LONG)
    number = -number if sign == "-" else number
    return str((number + _INT_SIGN) % _INT_SPAN - _INT_SIGN)


def _read_float(text: str) -> str:
    found = _FLOAT.match(text)
    if found is None:
        return text
    number = float(found[0])
    return str(int(number)) if number.is_integer() else f"{number:g}"
