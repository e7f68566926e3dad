"""Selectors of subscriptions: what they can look at, and whom they let through.

One meaning for the bridge, which asks clients, and for readers, who say whom it asks.
Source: Kafka, ClientMetricsConfigs.java; KIP-714.
"""

import functools
from collections.abc import Mapping

from .java_patterns import MatchPattern

SELECTORS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""What a selector can look at."""
_PARTS = 2
# Java's trim(): ASCII only.
_JAVA_TRIM = "".join(chr(code) for code in range(33))
_KNOWN_PATTERNS = 1_000


def trim(text: str) -> str:
    """Return a text without what Java trims."""
    return text.strip(_JAVA_TRIM)


def split_selector(item: str) -> tuple[str, str]:
    """Return name and pattern of an item of `match`.

    Raises: ValueError where it is no selector; the pattern is not looked at.
    """
    # Java's split() drops empty texts at the end.
    parts = item.rstrip("=").split("=")
    if len(parts) != _PARTS or trim(parts[0]) not in SELECTORS:
        raise ValueError("no selector")
    return trim(parts[0]), trim(parts[1])


def matches_all(
    patterns: Mapping[str, str], attributes: Mapping[str, str | None]
) -> bool:
    """Say whether a client is one that a subscription is for.

    Args:
        patterns: Selector to pattern, as Java reads it; empty: it is for everybody.
        attributes: Selector to what the client has.
    Nulls: An attribute that the client does not have matches no pattern.
    Errors: A pattern that cannot be used, and a selector that is none, match nobody:
        the bridge passes over such a subscription.
    """
    return all(
        _matches(pattern, attributes.get(name)) for name, pattern in patterns.items()
    )


def _matches(pattern: str, text: str | None) -> bool:
    compiled = _compile(pattern)
    return text is not None and compiled is not None and compiled.matches(text)


@functools.lru_cache(maxsize=_KNOWN_PATTERNS)
def _compile(pattern: str) -> MatchPattern | None:
    try:
        return MatchPattern(pattern)
    except ValueError:
        return None
