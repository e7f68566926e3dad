"""Which keys of a client's configuration are sensitive: the one definition.

Strategy: rules in order, the first that matches decides. What only looks different is
no way around them: rules that hide a key see it as it was sent and in plain form,
rules that allow it and the catalogs see it as it was sent alone. So a key in disguise
is a custom one at least. Patterns are RE2's, hence linear in the key's length.
No files here: rules and catalogs come in as texts. pipelines/clients/ holds a link to
this file, so that clients leave out what the bridge would.
Source: KIP-1324, "Sensitive Configuration".
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

CONFIG_TYPE_NAMES = (
    "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD",
)  # fmt: skip
"""ConfigDef.Type of Apache Kafka, by ordinal."""
REDACT, DROP, ALLOW = "redact", "drop", "allow"
ACTIONS = (REDACT, DROP, ALLOW)
NO_NAME = "(no name)"
"""Stands for a key that does not look like one."""

Catalog = Mapping[str, frozenset[str]]
"""Key to the type names that releases of one software give it."""

_MAX_NAME_LENGTH = 128
_NAME = re.compile(r"[A-Za-z0-9]{1,32}(?:[._-][A-Za-z0-9]{1,32})*")
_MAX_PATTERN_MEMORY = 1 << 20
_SEPARATORS = str.maketrans("_-", "..")
_MARK_OR_INVISIBLE = frozenset({"Mn", "Me", "Cc", "Cf", "Zs", "Zl", "Zp"})


class InvalidRule(ValueError):
    """Raised when a rule cannot be used; the text names the rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveKeyRule:
    """One rule as its file states it; an empty condition matches nothing."""

    name: str
    action: str
    """One of ACTIONS."""
    config_types: tuple[str, ...] = ()
    """Names of ConfigDef.Type, as sent or as catalogued."""
    keys: tuple[str, ...] = ()
    key_prefixes: tuple[str, ...] = ()
    key_infixes: tuple[str, ...] = ()
    key_suffixes: tuple[str, ...] = ()
    key_patterns: tuple[str, ...] = ()
    """RE2; the whole key must match."""
    is_custom: bool = False
    """Keys that the catalog of the client's software does not have."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happens to an entry."""

    rule: str
    """Name of the rule that matched; empty where none did."""
    action: str
    """One of ACTIONS."""


ORDINARY = Verdict("", ALLOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    verdict: Verdict
    types: frozenset[str]
    keys: frozenset[str]
    prefixes: tuple[str, ...]
    infixes: tuple[str, ...]
    suffixes: tuple[str, ...]
    patterns: tuple[Any, ...]
    is_custom: bool

    def matches(self, key: str) -> bool:
        return (
            key in self.keys
            or key.startswith(self.prefixes)
            or key.endswith(self.suffixes)
            or any(infix in key for infix in self.infixes)
            or any(pattern.fullmatch(key) for pattern in self.patterns)
        )


class SensitiveKeyRules:
    """Rules ready to judge keys; made by compile_rules."""

    def __init__(
        self, rules: Iterable[SensitiveKeyRule], catalogs: Mapping[str, Catalog]
    ) -> None:
        self._made_from = (tuple(rules), catalogs)
        self._rules = tuple(_compile(rule) for rule in self._made_from[0])
        self._catalogs = catalogs
        # Only what the catalogs know is remembered: clients cannot make it grow.
        self._known: dict[tuple[str, str, str], Verdict] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # RE2's patterns cannot be pickled, and Spark ships rules to its workers.
        return SensitiveKeyRules, self._made_from

    def judge(self, key: str, type_name: str, software_name: str) -> Verdict:
        """Decide one entry.

        Args:
            key: As it was sent.
            type_name: One of CONFIG_TYPE_NAMES, or any other text for a type unknown.
            software_name: client_software_name of the client.
        Returns: The verdict of the first rule that matches, or ORDINARY.
        """
        place = (software_name, key, type_name)
        known = self._known.get(place)
        if known is not None:
            return known
        types = self._catalogs.get(software_name, {}).get(key)
        verdict = self._decide(key, {type_name.upper(), *(types or ())}, types is None)
        if types is not None and type_name in CONFIG_TYPE_NAMES:
            self._known[place] = verdict
        return verdict

    def _decide(self, key: str, types: set[str], is_custom: bool) -> Verdict:  # noqa: FBT001 - private, and named at its only call
        plain = plain_form(key)
        for rule in self._rules:
            is_hiding = rule.verdict.action != ALLOW
            if (
                (rule.is_custom and is_custom)
                or not rule.types.isdisjoint(types)
                or rule.matches(key)
                or (is_hiding and rule.matches(plain))
            ):
                return rule.verdict
        return ORDINARY


def compile_rules(
    rules: Iterable[SensitiveKeyRule], catalogs: Mapping[str, Catalog]
) -> SensitiveKeyRules:
    """Make rules that can judge.

    Args:
        rules: In the order in which they are asked.
        catalogs: client_software_name to the keys that this software knows.
    Returns: The same rules, compiled.
    Raises: InvalidRule for a rule without a condition, with an action, type or pattern
        that does not exist, or with a name that another has.
    """
    made = tuple(rules)
    names = [rule.name for rule in made]
    for rule in made:
        if not rule.name or names.count(rule.name) > 1:
            raise InvalidRule(
                f"rule {rule.name!r}: a name must be there, and only once"
            )
    return SensitiveKeyRules(made, catalogs)


def plain_form(key: str) -> str:
    """Take from a key what only makes it look different.

    Args:
        key: As it was sent.
    Returns: Compatibility forms, case and accents folded (NFKD, case folding), white
        space, control and invisible characters gone, `_` and `-` as `.`.
    Source: Unicode Standard Annex 15.
    """
    if key.isascii() and key.isprintable():
        return key.replace(" ", "").lower().translate(_SEPARATORS)
    if not key.isascii():
        folded = unicodedata.normalize("NFKD", key).casefold()
        key = unicodedata.normalize("NFKD", folded)
    visible = (c for c in key if unicodedata.category(c) not in _MARK_OR_INVISIBLE)
    return "".join(visible).lower().translate(_SEPARATORS)


def show_key(key: str) -> str:
    """Return a key as it may be written and told.

    A text that does not look like a key may be a value that stands in the wrong place.

    Args:
        key: As it was sent.
    Returns: The key itself where it is up to 128 characters in words of up to 32 ASCII
        letters and digits, joined by `.`, `_` or `-`; otherwise NO_NAME.
    """
    is_name = len(key) <= _MAX_NAME_LENGTH and _NAME.fullmatch(key) is not None
    return key if is_name else NO_NAME


def _compile(rule: SensitiveKeyRule) -> _Rule:
    place = f"rule {rule.name!r}"
    if rule.action not in ACTIONS:
        raise InvalidRule(f"{place}: action must be one of {', '.join(ACTIONS)}")
    if unknown := set(rule.config_types) - set(CONFIG_TYPE_NAMES):
        raise InvalidRule(f"{place}: unknown config_types {', '.join(sorted(unknown))}")
    texts = (rule.keys, rule.key_prefixes, rule.key_infixes, rule.key_suffixes)
    if "" in (one for group in texts for one in group):
        raise InvalidRule(f"{place}: an empty text would match every key")
    if not (any(texts) or rule.config_types or rule.key_patterns or rule.is_custom):
        raise InvalidRule(f"{place}: has no condition")
    fold = _as_sent if rule.action == ALLOW else _with_plain_form
    return _Rule(
        verdict=Verdict(rule.name, rule.action),
        types=frozenset(rule.config_types),
        keys=frozenset(fold(rule.keys)),
        prefixes=fold(rule.key_prefixes),
        infixes=fold(rule.key_infixes),
        suffixes=fold(rule.key_suffixes),
        patterns=tuple(_compile_pattern(one, place) for one in rule.key_patterns),
        is_custom=rule.is_custom,
    )


def _as_sent(texts: tuple[str, ...]) -> tuple[str, ...]:
    return texts


def _with_plain_form(texts: tuple[str, ...]) -> tuple[str, ...]:
    both = dict.fromkeys([*texts, *(plain_form(text) for text in texts)])
    return tuple(text for text in both if text)


def _compile_pattern(pattern: str, place: str) -> Any:  # noqa: ANN401 - RE2 has no types
    # Applications use this file without RE2: the rules that they get have no patterns.
    import re2  # noqa: PLC0415

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_PATTERN_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise InvalidRule(f"{place}: key_patterns: {reason}") from None
