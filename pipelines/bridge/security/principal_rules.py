r"""Rules that make a principal of a certificate's subject, in Kafka's words.

`RULE:pattern/replacement/`, with L or U behind it for lower or upper case, or
`DEFAULT`; several with commas between, the first that matches the whole subject wins.
Patterns are what RE2 and Java both read: no lookaround, no back-reference; they match
in linear time. In a replacement `$1` is a group, `\` makes the next character plain.
Source: Kafka, ssl.principal.mapping.rules, SslPrincipalMapper.java; KIP-371.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import re2

from .principal_names import is_principal_name

_RULE = "RULE:"
_DEFAULT = "DEFAULT"
_CASES: dict[str, Callable[[str], str]] = {"": str, "L": str.lower, "U": str.upper}
_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_PATTERN_MEMORY_BYTES = 1 << 20


class InvalidRule(ValueError):
    """Raised when a text is no list of rules; names the place, for the operator."""


class InvalidName(ValueError):
    """Raised when rules make a name that no principal may have; without the name."""


class NoMatchingRule(ValueError):
    """Raised when no rule matches a subject; without the subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalRule:
    """One rule; a rule without a pattern is DEFAULT."""

    pattern: Any = None
    """Compiled by RE2."""
    replacement: tuple[str | int, ...] = ()
    """Texts and numbers of groups."""
    change_case: Callable[[str], str] = str

    def apply(self, subject: str) -> str | None:
        """Return the name, or None when the pattern does not match all of the subject.

        Every place where the pattern matches is replaced, as Java's replaceAll does.
        """
        if self.pattern is None:
            return subject
        if self.pattern.fullmatch(subject) is None:
            return None
        return self.change_case(str(self.pattern.sub(self._expand, subject)))

    def _expand(self, match: Any) -> str:  # noqa: ANN401 - re2 has no types
        return "".join(
            part if isinstance(part, str) else match.group(part) or ""
            for part in self.replacement
        )


class PrincipalRules:
    """The rules of one listener."""

    def __init__(self, text: str) -> None:
        """Read Kafka's text form.

        Raises: InvalidRule.
        """
        self._rules = tuple(_parse_rules(text))

    def find_name(self, subject: str) -> str:
        """Return what the first matching rule makes of a subject.

        Raises: NoMatchingRule, InvalidName.
        """
        for rule in self._rules:
            name = rule.apply(subject)
            if name is not None:
                if not is_principal_name(name):
                    raise InvalidName("a subject that names no principal")
                return name
        raise NoMatchingRule(f"none of {len(self._rules)} principal mapping rules")


class _Part(NamedTuple):
    text: str
    end: int


def _parse_rules(text: str) -> list[PrincipalRule]:
    rules, place = [], 0
    while place < len(text):
        if text[place].isspace() or text[place] == ",":
            place += 1
        elif text.startswith(_RULE, place):
            rule, place = _parse_rule(text, place)
            rules.append(rule)
        else:
            end = text.find(",", place)
            end = len(text) if end < 0 else end
            if text[place:end].strip() != _DEFAULT:
                raise InvalidRule(f"no rule at character {place + 1}")
            rules.append(PrincipalRule())
            place = end
    return rules


def _parse_rule(text: str, start: int) -> tuple[PrincipalRule, int]:
    pattern = _read_part(text, start + len(_RULE))
    replacement = _read_part(text, pattern.end)
    end = text.find(",", replacement.end)
    end = len(text) if end < 0 else end
    case = text[replacement.end : end].strip()
    if case not in _CASES:
        raise InvalidRule(
            f"the rule at character {start + 1} ends with neither L nor U"
        )
    compiled = _compile(pattern.text, start)
    rule = PrincipalRule(
        pattern=compiled,
        replacement=_parse_replacement(replacement.text, compiled.groups, start),
        change_case=_CASES[case],
    )
    return rule, end


def _read_part(text: str, start: int) -> _Part:
    """Read up to the next slash that has no backslash before it."""
    place = start
    while place < len(text) and text[place] != "/":
        place += 2 if text[place] == "\\" else 1
    if place >= len(text):
        raise InvalidRule(f"the part at character {start + 1} ends without a slash")
    return _Part(text[start:place], place + 1)


@functools.cache
def _options() -> Any:  # noqa: ANN401 - re2 has no types
    options = re2.Options()
    # It would print the pattern to the standard error stream.
    options.log_errors = False
    options.max_mem = _PATTERN_MEMORY_BYTES
    return options


def _compile(pattern: str, start: int) -> Any:  # noqa: ANN401 - re2 has no types
    try:
        return re2.compile(pattern, _options())
    except re2.error as error:
        reason = error.args[0] if error.args else "unknown"
        reason = (
            reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
        )
        raise InvalidRule(
            f"the pattern of the rule at character {start + 1}: {reason}"
        ) from None


def _parse_replacement(text: str, groups: int, start: int) -> tuple[str | int, ...]:
    parts: list[str | int] = []
    place = 0
    while place < len(text):
        digits = _DIGITS.match(text, place + 1) if text[place] == "$" else None
        if text[place] == "\\":
            parts.append(text[place + 1 : place + 2])
            place += 2
        elif digits is not None:
            number, place = _read_group(text, place + 1, groups)
            parts.append(number)
        elif text[place] == "$":
            raise InvalidRule(
                f"the rule at character {start + 1} has a $ without a group's number"
            )
        else:
            parts.append(text[place])
            place += 1
    return tuple(parts)


def _read_group(text: str, place: int, groups: int) -> tuple[str | int, int]:
    """Read as many digits as there are groups for; too high a number is plain text."""
    number, end = int(text[place]), place + 1
    if number > groups:
        if not groups:
            raise InvalidRule(f"${number} is used, and the pattern has no group")
        return f"${number}", end
    while end < len(text) and text[end] in "0123456789":
        longer = 10 * number + int(text[end])
        if longer > groups:
            break
        number, end = longer, end + 1
    return number, end
