"""Whether numbers fit on a linear axis: one definition for all pictures."""

import statistics
from collections.abc import Iterable

_SKEWED = 30
"""Largest value, in medians, from which on a linear axis hides all others."""


def is_skewed(numbers: Iterable[float]) -> bool:
    """Return whether the largest number hides all others on a linear axis."""
    known = [one for one in numbers if one > 0]
    return len(known) > 1 and max(known) > _SKEWED * statistics.median(known)
