r"""Java's regular expressions in RE2's syntax, or a clear no.

Brokers compile selector patterns with java.util.regex. Here each construct is read,
checked to mean the same in RE2, and written anew; characters come out as code points,
so RE2 never sees one that it could take for an operator. Taken are literals and
escaped punctuation, `.`, `\d \D \w \W \s \S \b \B \A \z`, `\t \n \r \f`, `\xhh`,
`\uhhhh`, classes `[...]` and `[^...]`, groups `(...)`, `(?:...)`, `(?<name>...)`,
`(?i)` at the start, `|`, `^`, `$` where nothing follows it, and `? * + {n}` with their
lazy forms. Letters, digits, case and word boundaries are ASCII, as Java has them by
default (boundaries since 19). Refused is what needs backtracking (lookaround, atomic
groups, possessive quantifiers, back references) and what the two would read
differently.
Source: java.util.regex.Pattern (JDK 17); google/re2 wiki, Syntax.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .java_characters import (
    SHORTHANDS,
    UnsupportedPattern,
    code_point_of,
    escape,
    explain,
    write_range,
    write_set,
)

MAX_REPETITION = 1_000
"""RE2's own limit of `{n}`."""
_TOKEN = re.compile(
    r"""
      (?P<anchor>\\[bBAz])
    | (?P<shorthand>\\[dDwWsS])
    | (?P<char>\\[tnrf] | \\x[0-9a-fA-F]{2} | \\u[0-9a-fA-F]{4} | \\[^a-zA-Z0-9\s])
    | (?P<set>\[\^?\]?+(?:[^\[\]\\]|\\.)*\])
    | (?P<group>\((?:\?:|\?<[a-zA-Z][a-zA-Z0-9]*>|(?!\?)))
    | (?P<close>\))
    | (?P<repeat>[?*+]|\{[0-9]+\})
    | (?P<dot>\.)
    | (?P<begin>\^)
    | (?P<end>\$)
    | (?P<either>\|)
    | (?P<literal>[^\\\[({])
    """,
    re.VERBOSE | re.DOTALL,
)
_IGNORE_CASE = "(?i)"
# Java's dot stops at all of its line terminators.
_DOT = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_REPEATABLE = frozenset({"shorthand", "char", "set", "close", "dot", "literal"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """A pattern for RE2, and what every text that it matches begins with."""

    re2_text: str
    prefix: str
    is_literal: bool
    """Whether the prefix is the only text that matches."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def translate(pattern: str) -> Translation:
    """Write a pattern of java.util.regex in RE2's syntax.

    Raises: UnsupportedPattern when Java may take it, ValueError when nobody does.
    """
    is_ignoring_case = pattern.startswith(_IGNORE_CASE)
    tokens = list(_split(pattern.removeprefix(_IGNORE_CASE)))
    _check_repetitions(tokens)
    _check_ends(tokens)
    _check_names(tokens)
    prefix = "" if is_ignoring_case else _find_prefix(tokens)
    return Translation(
        re2_text="".join(_write(one, is_ignoring_case) for one in tokens),
        prefix=prefix,
        is_literal=not is_ignoring_case and len(prefix) == len(tokens),
    )


def _split(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None or found.lastgroup is None:
            raise explain(text, position)
        yield _Token(found.lastgroup, found[0])
        position = found.end()


def _check_repetitions(tokens: list[_Token]) -> None:
    """Let a quantifier stand behind what can be repeated, and a `?` behind that."""
    before = ""
    for token in tokens:
        kind = token.kind
        if kind == "repeat" and before not in _REPEATABLE:
            if before == "repeat" and token.text == "?":
                kind = "lazy"
            elif before == "repeat" and token.text == "+":
                raise UnsupportedPattern("a possessive quantifier")
            else:
                raise UnsupportedPattern(f"a quantifier {token.text} behind nothing")
        if token.text.startswith("{") and int(token.text[1:-1]) > MAX_REPETITION:
            raise UnsupportedPattern(f"a repetition above {MAX_REPETITION}")
        before = kind


def _check_ends(tokens: list[_Token]) -> None:
    """Refuse `$` where something follows: Java lets it stand before a last newline."""
    for index, token in enumerate(tokens):
        if token.kind == "end" and not _is_last(tokens[index + 1 :]):
            raise UnsupportedPattern("a $ with something behind it")


def _is_last(following: list[_Token]) -> bool:
    depth = 0
    is_in_other_branch = False
    for token in following:
        if token.kind == "close":
            is_in_other_branch = is_in_other_branch and depth > 0
            depth = max(depth - 1, 0)
        elif token.kind == "either" and depth == 0:
            is_in_other_branch = True
        elif not is_in_other_branch:
            return False
        elif token.kind == "group":
            depth += 1
    return True


def _check_names(tokens: list[_Token]) -> None:
    names = [one.text for one in tokens if one.text.startswith("(?<")]
    if len(names) != len(set(names)):
        raise ValueError("two groups of one name")


def _find_prefix(tokens: list[_Token]) -> str:
    if any(one.kind == "either" for one in tokens):
        return ""
    prefix = ""
    for token in tokens:
        if token.kind == "repeat":
            return prefix[:-1]
        if token.kind not in {"literal", "char"}:
            return prefix
        prefix += chr(code_point_of(token.text))
    return prefix


def _write(token: _Token, is_ignoring_case: bool) -> str:  # noqa: FBT001 - the one flag
    if token.kind in {"literal", "char"}:
        code_point = code_point_of(token.text)
        if not is_ignoring_case:
            return escape(code_point)
        return f"[{write_range(code_point, code_point, is_ignoring_case=True)}]"
    if token.kind == "shorthand":
        return f"[{SHORTHANDS[token.text]}]"
    if token.kind == "set":
        return write_set(token.text, is_ignoring_case=is_ignoring_case)
    if token.kind == "group":
        return "(?:"
    return {"dot": _DOT, "end": r"\z", "begin": r"\A"}.get(token.kind, token.text)
