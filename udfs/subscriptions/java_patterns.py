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
differently: when the subscription is read, so that no text takes more than linear time
later. A selector cannot hold `,` or `=`, so neither can a pattern.
Source: java.util.regex.Pattern (JDK 17); google/re2 wiki, Syntax; KIP-714 (it names
RE2/J); Kafka, ClientMetricsConfigs.java.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import re2

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
