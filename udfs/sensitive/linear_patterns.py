r"""Regular expressions that take linear time, for keys and for values: RE2's.

Value patterns are found anywhere in a value, and `^` and `$` are the ends of its lines.
So a pattern that is found in one of several values is found in all of them, joined by
line feeds, and one search says of a whole push that it holds nothing.
What would break that (`\A`, `\z`, `(?-m)`), or the joining of patterns (`\Q`), is
refused. Arrow searches its columns by RE2, too.
Source: RE2, "Syntax".
"""

import re
from collections.abc import Iterable
from typing import Any

ANY_LINE = "(?m)"
_MAX_PATTERN_MEMORY = 1 << 20
_MAX_JOINED_MEMORY = 1 << 23
_NOT_IN_VALUES = re.compile(r"(?<!\\)(?:\\\\)*(\\[AzQ]|\(\?[A-Za-z]*-[A-Za-z]*m)")


class InvalidPattern(ValueError):
    """Raised when a pattern cannot be used; the text says why."""


def compile_pattern(pattern: str, *, max_mem: int = _MAX_PATTERN_MEMORY) -> Any:  # noqa: ANN401 - RE2 has no types
    """Return RE2's pattern.

    Args:
        pattern: In RE2's syntax.
        max_mem: Bytes that its program may take.
    Returns: What can match and search.
    Raises: InvalidPattern.
    """
    # Applications use this file without RE2: the rules that they get have no patterns.
    import re2  # noqa: PLC0415

    options = re2.Options()
    options.log_errors = False
    options.max_mem = max_mem
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise InvalidPattern(error.args[0].decode(errors="replace")) from None


def compile_value_pattern(pattern: str) -> Any:  # noqa: ANN401 - RE2 has no types
    """Return RE2's pattern for values, to be searched for.

    Args:
        pattern: In RE2's syntax.
    Returns: What can search.
    Raises: InvalidPattern.
    """
    if refused := _NOT_IN_VALUES.search(pattern):
        raise InvalidPattern(f"{refused[1]} cannot be used here; ^ and $ can")
    return compile_pattern(f"{ANY_LINE}(?:{pattern})")


def join_value_patterns(patterns: Iterable[str]) -> str:
    """Return the pattern that is found where one of these is.

    Args:
        patterns: Such as compile_value_pattern takes.
    Returns: The pattern as text; empty for none.
    """
    joined = "|".join(f"(?:{one})" for one in patterns)
    return f"{ANY_LINE}(?:{joined})" if joined else ""


def compile_joined(pattern: str) -> Any:  # noqa: ANN401 - RE2 has no types
    """Return RE2's pattern of what join_value_patterns made.

    Args:
        pattern: As many patterns as all rules have.
    Returns: What can search.
    Raises: InvalidPattern.
    """
    return compile_pattern(pattern, max_mem=_MAX_JOINED_MEMORY)
