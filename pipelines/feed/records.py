"""Records of the cluster's feed, its errors, and what is counted.

Source: docs/reference/topics.md.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

Header = tuple[str, bytes]


class FeedRecord(NamedTuple):
    """One record of the topic."""

    key: str
    value: bytes
    headers: tuple[Header, ...]

    def text(self, name: str) -> str | None:
        """Return a header; None where it is missing."""
        found = next((value for key, value in self.headers if key == name), None)
        return None if found is None else found.decode(errors="replace")

    def number(self, name: str) -> int | None:
        """Return a header that is a whole number; None where it is none."""
        text = self.text(name)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None


def make_record(
    key: str, value: bytes, headers: Iterable[tuple[str, str | int | None]]
) -> FeedRecord:
    """Make a record of texts and numbers; a header that is None is left out."""
    return FeedRecord(
        key,
        value,
        tuple((name, str(one).encode()) for name, one in headers if one is not None),
    )


class LostLead(Exception):
    """Raised when another one feeds now, or what was written may not stand."""


class LeadRefused(Exception):
    """Raised when Kafka does not let this one feed; says which right is missing."""


@dataclass(slots=True)
class FeedCounters:
    """What one bridge's feed has done since the start."""

    is_feeding: bool = False
    """Whether this bridge is the one that feeds, now."""
    elections: int = 0
    """Times that it became the one."""
    published: Counter[str] = field(default_factory=Counter)
    """Records by type; those of full sets as well."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """Records of the metadata log that are never published, by type."""
    withheld_values: int = 0
    """Values that were taken out before they were published."""
    full_sets: int = 0
    looks: int = 0
    """Looks at the brokers, or answers of a controller."""
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By what was asked for, and what came of it: refused, unreachable, missing."""
