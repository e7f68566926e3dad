"""Which entries of a client's configuration are sensitive: the one definition.

Strategy: rules in order, the first that matches decides. What only looks different is
no way around them: rules that hide a key see it as it was sent and in plain form,
rules that allow it and the catalogs see it as it was sent alone. So a key in disguise
is a custom one at least.
Rules with value types or items allow an entry only with its value; without the value
the next rules decide. Keys that the software's own catalog lacks are looked up in the
catalog of ANY_SOFTWARE.
Rules with value patterns are asked after the others, of what those allow: no rule for
keys lets a value pass that looks like a secret. They see values, too, as they were sent
and in plain form. Patterns are RE2's, hence linear.
No files here: rules and catalogs come in as texts. pipelines/clients/ holds links to
this file and to those that it needs, so that clients leave out what the bridge would.
Source: KIP-1324, "Sensitive Configuration".
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from .config_key_names import NO_NAME, plain_form, show_key
from .hiding_searches import HidingSearch, make_hiding_searches
from .linear_patterns import InvalidPattern, compile_joined
from .plain_values import plain_value
from .sensitive_key_rules import (
    ALLOW,
    CONFIG_TYPE_NAMES,
    ORDINARY,
    CompiledRule,
    InvalidRule,
    SensitiveKeyRule,
    Verdict,
    compile_rule,
)

Catalog = Mapping[str, frozenset[str]]
"""Key to the type names that releases of one software give it."""
ANY_SOFTWARE = "*"
"""Name of the catalog for keys that the catalog of a client's software lacks."""
_SAMPLE_SECRET = "000000"  # noqa: S105 - of no secret


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict and what led to it."""

    verdict: Verdict
    reason: str
    """The condition of the rule that held, in words; never a value."""


class _Compiled(NamedTuple):
    """What rules need to judge; it never changes."""

    key_rules: tuple[CompiledRule, ...]
    value_rules: tuple[CompiledRule, ...]
    hiding_searches: tuple[HidingSearch, ...]
    hiding: tuple[tuple[Any, tuple[str, ...]], ...]


class SensitiveKeyRules:
    """Rules ready to judge entries; made by compile_rules."""

    def __init__(
        self, rules: Iterable[SensitiveKeyRule], catalogs: Mapping[str, Catalog]
    ) -> None:
        self._made_from = (tuple(rules), catalogs)
        self.names = frozenset(rule.name for rule in self._made_from[0])
        """Of the rules."""
        compiled = _compile_once(self._made_from[0])
        self._key_rules = compiled.key_rules
        self._value_rules = compiled.value_rules
        self.hiding_searches = compiled.hiding_searches
        """Where none finds anything in a value or in its plain form, no rule hides the
        value."""
        self._hiding = compiled.hiding
        self._catalogs = catalogs
        # Only what the catalogs know is remembered: clients cannot make it grow.
        self._known: dict[tuple[str, str, str], Verdict] = {}
        self._shown: dict[str, str] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # RE2's patterns cannot be pickled, and Spark ships rules to its workers.
        return SensitiveKeyRules, self._made_from

    def catalogued_types(self, key: str, software_name: str) -> frozenset[str] | None:
        """Return the types that catalogs give a key of some software.

        Nulls: None if neither the software's own catalog nor that of ANY_SOFTWARE has
            the key.
        """
        own = self._catalogs.get(software_name, {}).get(key)
        return self._catalogs.get(ANY_SOFTWARE, {}).get(key) if own is None else own

    def judge(
        self, key: str, type_name: str, software_name: str, value: str | None = None
    ) -> Verdict:
        """Decide one entry by all but what its value looks like.

        Args:
            key: As it was sent.
            type_name: One of CONFIG_TYPE_NAMES, or any other text for a type unknown.
            software_name: client_software_name of the client.
            value: As it was sent. Without it, rules with value types or items are
                skipped.
        Returns: The verdict of the first rule that matches, or ORDINARY. Of a key that
            no catalog has and that would be allowed, what judge_value says of the key
            as a value, where that hides it.
        """
        if software_name not in self._catalogs:
            software_name = ANY_SOFTWARE
        place = (software_name, key, type_name)
        known = self._known.get(place)
        if known is not None:
            return known
        catalogued = self.catalogued_types(key, software_name)
        is_custom = catalogued is None
        verdict, is_final = ORDINARY, True
        for rule in self._rules_for(key, type_name, catalogued):
            if not rule.depends_on_value:
                verdict = rule.verdict
                break
            is_final = False
            if value is not None and rule.fits(value, type_name):
                verdict = rule.verdict
                break
        if is_custom and verdict.action == ALLOW and self.may_hide((key,)):
            # No rule for keys lets a secret pass that stands where a key should.
            found = self.judge_value(key, key, type_name, software_name)
            verdict = verdict if found.action == ALLOW else found
        if is_final and not is_custom and type_name in CONFIG_TYPE_NAMES:
            self._known[place] = verdict
        return verdict

    def rules_on_value(
        self, key: str, type_name: str, software_name: str
    ) -> tuple[CompiledRule, ...]:
        """Return the rules that allow an entry only if its value fits them.

        Args:
            key: As it was sent.
            type_name: As in judge.
            software_name: As in judge.
        Returns: In their order. If the value fits none of them, judge says the same
            with and without it.
        """
        catalogued = self.catalogued_types(key, software_name)
        found = []
        for rule in self._rules_for(key, type_name, catalogued):
            if not rule.depends_on_value:
                break
            found.append(rule)
        return tuple(found)

    def may_allow(self, key: str, type_name: str, software_name: str) -> bool:
        """Return whether judge allows an entry, at least with some of its values."""
        return self.judge(key, type_name, software_name).action == ALLOW or bool(
            self.rules_on_value(key, type_name, software_name)
        )

    def _rules_for(
        self, key: str, type_name: str, catalogued: frozenset[str] | None
    ) -> Iterator[CompiledRule]:
        """Yield the rules for keys whose conditions for keys and types hold."""
        plain, is_custom = plain_form(key), catalogued is None
        sent_type = type_name.upper()
        types = {sent_type, *(catalogued or ())}
        for rule in self._key_rules:
            if not rule.takes(key, plain, types, is_custom=is_custom):
                continue
            if rule.value_types and sent_type not in rule.value_types:
                continue
            if rule.value_types and rule.is_custom and self._names_secret(key):
                continue
            yield rule

    def _names_secret(self, key: str) -> bool:
        """Return whether a key does not look like one, or like that of a secret."""
        return show_key(key) == NO_NAME or self.may_hide((f"{key}={_SAMPLE_SECRET}",))

    def may_hide(self, values: Iterable[str]) -> bool:
        """Return whether one of these values may be hidden for what it looks like.

        Each hiding search once for all, and once more where their plain form is
        another: where this is false, judge_entry says no more than judge.
        """
        if not self._hiding:
            return False
        joined = "\n".join(values)
        if self._finds_in(joined):
            return True
        plain = plain_value(joined)
        return plain != joined and self._finds_in(plain)

    def find_hiding(self, values: Sequence[str]) -> list[int]:
        """Find which of these values something may hide as they were sent.

        Args:
            values: At least one.
        Returns: Indices, in order. No other value has what a hiding search finds in
            it; some of these may have it only together with the next one, so that
            may_hide has the last word.
        """
        joined = "\n".join(values)
        starts = list(accumulate((len(one) + 1 for one in values), initial=0))
        places = set()
        for pattern, texts in self._hiding:
            if not all(text in joined for text in texts):
                continue
            begin = 0
            while begin <= len(joined) and (found := pattern.search(joined, begin)):
                place = bisect_right(starts, found.start()) - 1
                places.add(place)
                begin = starts[place + 1]
        return sorted(places)

    def _finds_in(self, joined: str) -> bool:
        # Each search of a text would encode it anew; and any() takes as long as one.
        encoded = joined.encode()
        for pattern, texts in self._hiding:
            if texts and not all(text in joined for text in texts):
                continue
            if pattern.search(encoded) is not None:
                return True
        return False

    def show_key(self, key: str) -> str:
        """Return a key as it may be written and told.

        Args:
            key: As it was sent.
        Returns: What show_key of config_key_names says; NO_NAME as well for a key that
            would be hidden if it were a value.
        """
        shown = self._shown.get(key)
        if shown is None:
            shown = NO_NAME if self.may_hide((key,)) else show_key(key)
            if any(key in one for one in self._catalogs.values()):
                self._shown[key] = shown
        return shown

    def judge_entry(
        self, key: str, value: str, type_name: str, software_name: str
    ) -> Verdict:
        """Decide one entry.

        Args:
            key: As it was sent.
            value: As it was sent.
            type_name: As in judge.
            software_name: As in judge.
        Returns: The verdict of judge where that hides the key; then that of the first
            rule that finds something in the value, or what judge says.
        """
        verdict = self.judge(key, type_name, software_name, value)
        if verdict.action != ALLOW or not self.may_hide((value,)):
            return verdict
        found = self.judge_value(key, value, type_name, software_name)
        return verdict if found is ORDINARY else found

    def judge_value(
        self, key: str, value: str, type_name: str, software_name: str
    ) -> Verdict:
        """Decide one entry by what its value looks like alone.

        Args:
            key: As it was sent.
            value: As it was sent.
            type_name: As in judge.
            software_name: As in judge.
        Returns: The verdict of the first rule that finds something in the value, or
            ORDINARY. Where may_hide is false of the value, no verdict hides it.
        """
        catalogued = self.catalogued_types(key, software_name)
        plain_key, types = plain_form(key), {type_name.upper(), *(catalogued or ())}
        plain = plain_value(value)
        for rule in self._value_rules:
            is_for_key = rule.is_for_any_key or rule.takes(
                key, plain_key, types, is_custom=catalogued is None
            )
            if is_for_key and rule.finds_in(value, plain):
                return rule.verdict
        return ORDINARY

    def explain(
        self, key: str, value: str | None, type_name: str, software_name: str
    ) -> Explanation:
        """Return the verdict on an entry and its reason.

        Args:
            key: As it was sent.
            value: As it was sent; None for the verdict of judge without a value.
            type_name: As in judge.
            software_name: As in judge.
        Nulls: No rule, no reason.
        """
        verdict = (
            self.judge(key, type_name, software_name)
            if value is None
            else self.judge_entry(key, value, type_name, software_name)
        )
        rules = {one.verdict.rule: one for one in self._key_rules + self._value_rules}
        rule = rules.get(verdict.rule)
        if rule is None:
            return Explanation(verdict, "")
        catalogued = self.catalogued_types(key, software_name)
        types = {type_name.upper(), *(catalogued or ())}
        reason = rule.reason(key, plain_form(key), types, is_custom=catalogued is None)
        if rule.depends_on_value:
            reason = f"{reason}; {rule.value_condition}"
        if rule.value_pattern is not None:
            place = rule.finds_in(value or "", plain_value(value or "")) or "in the key"
            found = f"its patterns are found {place}"
            reason = f"{reason}; {found}" if reason else found
        return Explanation(verdict, reason)


@lru_cache(maxsize=4)
def _compile_once(rules: tuple[SensitiveKeyRule, ...]) -> _Compiled:
    """Compile rules; a worker of Spark gets the same ones with each of its tasks."""
    compiled = [compile_rule(rule) for rule in rules]
    searches = make_hiding_searches(rules)
    try:
        hiding = tuple((compile_joined(one.pattern), one.texts) for one in searches)
    except InvalidPattern as error:
        raise InvalidRule(f"value_patterns of all rules: {error}") from None
    return _Compiled(
        key_rules=tuple(one for one in compiled if one.value_pattern is None),
        value_rules=tuple(one for one in compiled if one.value_pattern is not None),
        hiding_searches=searches,
        hiding=hiding,
    )


def compile_rules(
    rules: Iterable[SensitiveKeyRule], catalogs: Mapping[str, Catalog]
) -> SensitiveKeyRules:
    """Make rules that can judge.

    Args:
        rules: In the order in which they are asked.
        catalogs: client_software_name, or ANY_SOFTWARE, to the keys that this software
            knows.
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
