r"""Selector patterns: java.util.regex as far as Python's re means the same.

Brokers compile patterns with java.util.regex. Accepted here is what has one meaning in
both: literals and escaped punctuation, `.`, `\d \D \w \W \s \S \b \B \A \z`,
`\t \n \r \f`, `\xhh`, `\uhhhh`, classes `[...]` and `[^...]` without `[` or `&&`
inside, groups `(...)`, `(?:...)`, `(?<name>...)`, `(?!...)`, `(?<!...)`, `(?>...)`,
`(?i)` at the start, `|`, `^`, `$`, and the quantifiers `? * + {n}` with their lazy and
possessive forms. Letters, digits and case are ASCII, as Java has them by default.
Anything else is refused when the subscription is read, never matched differently.
A selector cannot hold `,` or `=`, so neither can a pattern.
Source: KIP-714; Kafka, ClientMetricsConfigs.java; java.util.regex.Pattern.
"""

import re
import warnings

# One alternative per construct; what none of them takes is not in both languages.
_TOKEN = re.compile(
    r"""
    \\[dDwWsSbAztnrf]             # classes, anchors and control characters
    | \\x[0-9a-fA-F]{2} | \\u[0-9a-fA-F]{4}
    | \\[^a-zA-Z0-9\s]            # escaped punctuation
    | \[\^?\]?(?:[^\[\]\\&~|-]|[&~|-](?![&~|-])|\\(?:[dDwWsStnrf]|x[0-9a-fA-F]{2}
        |u[0-9a-fA-F]{4}|[^a-zA-Z0-9\s]))*\]
    | \(\?(?:<[a-zA-Z][a-zA-Z0-9]*>|[:!>]|<!) | \((?!\?)
    | \{[0-9]+\}
    | [^\\\[({]                   # literals and operators
    """,
    re.VERBOSE | re.DOTALL,
)
_IGNORE_CASE = "(?i)"
# Java's dot stops at all of its line terminators, Python's at a line feed only.
_DOT = "[^\n\r\u0085\u2028\u2029]"
_END_OF_INPUT = {r"\z": r"\Z", ".": _DOT}
_NAMED_GROUP = "(?<"
_NOT_NAMES = ("(?<!", "(?<=")


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile one selector pattern; use with fullmatch.

    Raises: ValueError when Python and Java do not read it alike, or not at all.
    """
    is_ignoring_case = text.startswith(_IGNORE_CASE)
    rest = text[len(_IGNORE_CASE) :] if is_ignoring_case else text
    flags = re.ASCII | (re.IGNORECASE if is_ignoring_case else re.NOFLAG)
    with warnings.catch_warnings():
        # A warning of re means that a later Python will read the pattern differently.
        warnings.simplefilter("error")
        try:
            return re.compile(_translate(rest), flags)
        except (re.error, Warning, OverflowError, RecursionError) as error:
            raise ValueError(str(error)) from None


def _translate(text: str) -> str:
    translated = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise ValueError(f"unsupported syntax at character {position + 1}")
        translated.append(_to_python(token[0]))
        position = token.end()
    return "".join(translated)


def _to_python(token: str) -> str:
    if token.startswith(_NAMED_GROUP) and not token.startswith(_NOT_NAMES):
        return token.replace(_NAMED_GROUP, "(?P<", 1)
    return _END_OF_INPUT.get(token, token)
