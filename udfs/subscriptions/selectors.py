"""Selectors of subscriptions: whom they let through.

One meaning for the bridge, which asks clients, and for readers, who say whom it asks.
Source: Kafka, ClientMetricsConfigs.java; KIP-714.
"""

import functools
from collections.abc import Mapping

from .java_patterns import MatchPattern

_KNOWN_PATTERNS = 1_000


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
