"""One rule for sensitive entries: as its file states it, and ready to be asked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .config_key_names import plain_form
from .linear_patterns import (
    InvalidPattern,
    compile_joined,
    compile_pattern,
    compile_value_pattern,
    join_value_patterns,
)
from .typed_values import PLAIN_TYPES, is_plainly_typed

CONFIG_TYPE_NAMES = (
    "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD",
)  # fmt: skip
"""ConfigDef.Type of Apache Kafka, by ordinal."""
REDACT, DROP, ALLOW = "redact", "drop", "allow"
ACTIONS = (REDACT, DROP, ALLOW)
PLACEHOLDER = "<>"
"""Stands where something ordinary stood: neither a value nor the end of a command."""


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
    """Keys that no catalog for the client's software has."""
    value_patterns: tuple[str, ...] = ()
    """RE2, found in the value. Where there are any, the rule is about values, and its
    other conditions, if any, say for which keys."""
    value_needs: tuple[str, ...] = ()
    """RE2, each of which must be found as well."""
    value_exceptions: tuple[str, ...] = ()
    """RE2; what they match is taken for PLACEHOLDER before the rest is looked for."""
    value_group: str = ""
    """Rules of one group are searched for together."""
    value_types: tuple[str, ...] = ()
    """Declared types of which the value must be. For rules that allow."""
    value_items: tuple[str, ...] = ()
    """Texts that a comma-separated value may consist of. For rules that allow."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happens to an entry."""

    rule: str
    """Name of the rule that matched; empty where none did."""
    action: str
    """One of ACTIONS."""


ORDINARY = Verdict("", ALLOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledRule:
    """One rule, ready to be asked."""

    verdict: Verdict
    types: frozenset[str]
    keys: frozenset[str]
    prefixes: tuple[str, ...]
    infixes: tuple[str, ...]
    suffixes: tuple[str, ...]
    patterns: tuple[Any, ...]
    is_custom: bool
    is_for_any_key: bool
    value_pattern: Any
    value_needs: tuple[Any, ...]
    value_exceptions: Any
    value_types: frozenset[str]
    value_items: frozenset[str]

    @property
    def depends_on_value(self) -> bool:
        """Whether the rule also needs a value of certain types or items."""
        return bool(self.value_types or self.value_items)

    @property
    def value_condition(self) -> str:
        """The condition that fits checks, in words; never a value."""
        if self.value_items:
            return "value_items has every item of the value"
        return "the value is of its declared type, which value_types has"

    def fits(self, value: str, type_name: str) -> bool:
        """Return whether a value is of its declared type, or has only known items.

        Args:
            value: As it was sent.
            type_name: As it was sent; one of value_types if the rule has any.
        """
        if self.value_types:
            return is_plainly_typed(type_name.upper(), value)
        # Java writes the default of partition.assignment.strategy as `class <name>`.
        items = (text.strip(" ").removeprefix("class ") for text in value.split(","))
        return self.value_items.issuperset(items)

    def takes(self, key: str, plain: str, types: set[str], *, is_custom: bool) -> bool:
        """Return whether a condition about keys and types holds.

        Args:
            key: As it was sent.
            plain: The same in plain form; rules that allow do not look at it.
            types: As sent, in capitals, and as catalogued.
            is_custom: Whether the catalog of the client's software lacks the key.
        """
        return (
            (self.is_custom and is_custom)
            or not self.types.isdisjoint(types)
            or self._matches(key)
            or (self.verdict.action != ALLOW and self._matches(plain))
        )

    def reason(self, key: str, plain: str, types: set[str], *, is_custom: bool) -> str:
        """Return the first condition that `takes` finds true, in words; or nothing."""
        reasons = [f"config_types has {one}" for one in sorted(self.types & types)]
        is_hiding = self.verdict.action != ALLOW
        forms = ({plain: ", in plain form"} if is_hiding else {}) | {key: ""}
        for form, how in sorted(forms.items(), key=lambda one: one[1]):
            reasons += [f"keys has it{how}"] if form in self.keys else []
            for name, texts, holds in (
                ("key_prefixes", self.prefixes, form.startswith),
                ("key_suffixes", self.suffixes, form.endswith),
                ("key_infixes", self.infixes, form.__contains__),
            ):
                reasons += [f"{name} has {one!r}{how}" for one in texts if holds(one)]
            reasons += [
                f"key_patterns has {one.pattern!r}{how}"
                for one in self.patterns
                if one.fullmatch(form)
            ]
        if self.is_custom and is_custom:
            reasons.append("is_custom: no catalog has the key")
        return next(iter(reasons), "")

    def finds_in(self, value: str, plain: str) -> str:
        """Return in which form the conditions about values hold; or nothing.

        Args:
            value: As it was sent.
            plain: The same in plain form; rules that allow do not look at it.
        """
        if self._finds(value):
            return "in the value"
        is_hiding = self.verdict.action != ALLOW
        if is_hiding and plain != value and self._finds(plain):
            return "in the value's plain form"
        return ""

    def _finds(self, value: str) -> bool:
        if self.value_exceptions is not None:
            value = self.value_exceptions.sub(PLACEHOLDER, value)
        return self.value_pattern.search(value) is not None and all(
            one.search(value) is not None for one in self.value_needs
        )

    def _matches(self, key: str) -> bool:
        return (
            key in self.keys
            or key.startswith(self.prefixes)
            or key.endswith(self.suffixes)
            or any(infix in key for infix in self.infixes)
            or any(pattern.fullmatch(key) for pattern in self.patterns)
        )


def compile_rule(rule: SensitiveKeyRule) -> CompiledRule:
    """Make one rule that can judge.

    Args:
        rule: As its file states it.
    Returns: The same, compiled.
    Raises: InvalidRule, as compile_rules.
    """
    place = f"rule {rule.name!r}"
    _check(rule, place)
    fold = _as_sent if rule.action == ALLOW else _with_plain_form
    return CompiledRule(
        verdict=Verdict(rule.name, rule.action),
        types=frozenset(rule.config_types),
        keys=frozenset(fold(rule.keys)),
        prefixes=fold(rule.key_prefixes),
        infixes=fold(rule.key_infixes),
        suffixes=fold(rule.key_suffixes),
        patterns=_compile_all(compile_pattern, rule, "key_patterns"),
        is_custom=rule.is_custom,
        is_for_any_key=not _has_key_condition(rule),
        value_pattern=_compile_value_patterns(rule, "value_patterns"),
        value_needs=_compile_all(compile_value_pattern, rule, "value_needs"),
        value_exceptions=_compile_value_patterns(rule, "value_exceptions"),
        value_types=frozenset(rule.value_types),
        value_items=frozenset(rule.value_items),
    )


def _check(rule: SensitiveKeyRule, place: str) -> None:
    if rule.action not in ACTIONS:
        raise InvalidRule(f"{place}: action must be one of {', '.join(ACTIONS)}")
    if unknown := set(rule.config_types) - set(CONFIG_TYPE_NAMES):
        raise InvalidRule(f"{place}: unknown config_types {', '.join(sorted(unknown))}")
    texts = (rule.keys, rule.key_prefixes, rule.key_infixes, rule.key_suffixes)
    if "" in (one for group in texts for one in group):
        raise InvalidRule(f"{place}: an empty text would match every key")
    if not (_has_key_condition(rule) or rule.value_patterns):
        raise InvalidRule(f"{place}: has no condition")
    for field in ("value_needs", "value_exceptions", "value_group"):
        if getattr(rule, field) and not rule.value_patterns:
            raise InvalidRule(f"{place}: {field} stand beside value_patterns only")
    if rule.value_types or rule.value_items:
        _check_fitting(rule, place)


def _check_fitting(rule: SensitiveKeyRule, place: str) -> None:
    if rule.value_types and rule.value_items:
        raise InvalidRule(f"{place}: value_types and value_items exclude each other")
    if unknown := set(rule.value_types) - PLAIN_TYPES:
        raise InvalidRule(f"{place}: value_types cannot be {sorted(unknown)}")
    if rule.action != ALLOW or rule.value_patterns or not _has_key_condition(rule):
        raise InvalidRule(
            f"{place}: value_types and value_items need a condition for keys, "
            f"action {ALLOW} and no value_patterns"
        )


def _has_key_condition(rule: SensitiveKeyRule) -> bool:
    texts = (rule.keys, rule.key_prefixes, rule.key_infixes, rule.key_suffixes)
    return bool(any(texts) or rule.config_types or rule.key_patterns or rule.is_custom)


def _as_sent(texts: tuple[str, ...]) -> tuple[str, ...]:
    return texts


def _with_plain_form(texts: tuple[str, ...]) -> tuple[str, ...]:
    both = dict.fromkeys([*texts, *(plain_form(text) for text in texts)])
    return tuple(text for text in both if text)


def _compile_value_patterns(rule: SensitiveKeyRule, field: str) -> Any:  # noqa: ANN401 - RE2 has no types
    """Return one pattern for all of a field, or None where it has none."""
    if not _compile_all(compile_value_pattern, rule, field):
        return None
    try:
        # One search for all: Python's part of a search is longer than RE2's.
        return compile_joined(join_value_patterns(getattr(rule, field)))
    except InvalidPattern as error:
        raise InvalidRule(f"rule {rule.name!r}: {field}: {error}") from None


def _compile_all(
    compile_one: Callable[[str], Any], rule: SensitiveKeyRule, field: str
) -> tuple[Any, ...]:
    try:
        return tuple(compile_one(pattern) for pattern in getattr(rule, field))
    except InvalidPattern as error:
        raise InvalidRule(f"rule {rule.name!r}: {field}: {error}") from None
