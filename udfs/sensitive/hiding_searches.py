"""The few searches that say of many values that no rule hides any of them.

A search over joined values costs as much as one over a single value, so rules share
searches as far as that does not make them slow.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .linear_patterns import join_value_patterns
from .sensitive_key_rules import ALLOW, SensitiveKeyRule

_PLAIN_TEXT = re.compile(r"[A-Za-z0-9@:=/_ -]+")
"""Patterns that match themselves alone."""


@dataclass(frozen=True, slots=True)
class HidingSearch:
    """One search that says of values that nothing in them is hidden."""

    pattern: str
    """RE2's."""
    texts: tuple[str, ...] = ()
    """Without all of them nothing is hidden; they are looked for first, as that takes
    next to nothing."""


def make_hiding_searches(
    rules: Iterable[SensitiveKeyRule],
) -> tuple[HidingSearch, ...]:
    """Join what hides values, but for what would make one search slow.

    Patterns of rules with value_needs count characters from many places at once: they
    multiply with all others, where each alone takes next to nothing. So do those of
    different value_groups. Rules of one group that need the same are one search.

    Args:
        rules: As their file states them.
    Returns: Where none finds anything in a value or in its plain form, no rule hides
        the value.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    alone: list[HidingSearch] = []
    for rule in rules:
        if rule.action == ALLOW:
            continue
        texts = tuple(one for one in rule.value_needs if _PLAIN_TEXT.fullmatch(one))
        if rule.value_needs and not rule.value_group:
            alone.append(HidingSearch(join_value_patterns(rule.value_patterns), texts))
        else:
            place = (rule.value_group, texts)
            groups.setdefault(place, []).extend(rule.value_patterns)
    joined = (
        HidingSearch(join_value_patterns(patterns), texts)
        for (_, texts), patterns in groups.items()
    )
    return tuple(one for one in (*joined, *alone) if one.pattern)
