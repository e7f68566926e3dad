"""Selector patterns: compiled by RE2, so that no text takes more than linear time.

What is taken is what Java's regular expressions and RE2 read alike; java_patterns.py
has the list. Anything else is refused when the subscription is read, never matched
differently. A selector cannot hold `,` or `=`, so neither can a pattern.
Source: KIP-714 (it names RE2/J); Kafka, ClientMetricsConfigs.java.
"""

import re2

from .java_characters import UnsupportedPattern
from .java_patterns import translate

MAX_PROGRAM_SIZE = 2_500
"""Instructions of RE2; the time for a text grows with their number."""


class MatchPattern:
    """One compiled pattern; equal patterns are equal."""

    __slots__ = ("_compiled", "is_literal", "pattern", "prefix")

    def __init__(self, pattern: str) -> None:
        """Compile a pattern of java.util.regex.

        Raises: UnsupportedPattern when Java may take it, ValueError when nobody does.
        """
        translation = translate(pattern)
        self.pattern = pattern
        """As it was given."""
        self.prefix = translation.prefix
        """What every text that it matches begins with."""
        self.is_literal = translation.is_literal
        """Whether the prefix is the only text that matches."""
        self._compiled = _compile(translation.re2_text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatchPattern) and self.pattern == other.pattern

    def __hash__(self) -> int:
        return hash(self.pattern)

    def matches(self, text: str) -> bool:
        """Say whether the whole text matches."""
        # Most patterns begin with plain text and most texts do not match: RE2 costs
        # some 20 times what this comparison does.
        if not text.startswith(self.prefix):
            return False
        if self.is_literal:
            return len(text) == len(self.prefix)
        return self._compiled.fullmatch(text) is not None


def _compile(re2_text: str) -> "re2._Regexp":
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        compiled = re2.compile(re2_text, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        if "repetition size" in reason or "too large" in reason:
            raise UnsupportedPattern("repetitions of repetitions") from None
        raise ValueError(reason.partition(":")[0]) from None
    if compiled.programsize > MAX_PROGRAM_SIZE:
        raise UnsupportedPattern(
            f"more than the {MAX_PROGRAM_SIZE} steps of a compiled pattern"
        )
    return compiled
