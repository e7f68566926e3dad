"""The properties of a CLIENT_METRICS resource, read and checked.

Properties, checks and error codes are those of Kafka's CLIENT_METRICS resources.
Source: Kafka, ClientMetricsConfigs.java, ConfigDef.java; KIP-714.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .java_patterns import MatchPattern, UnsupportedPattern

DEFAULT_PUSH_INTERVAL_MS = 300_000
"""Kafka's default, and the longest interval that a client is ever told."""
MIN_INTERVAL_MS = 100
MAX_INTERVAL_MS = 3_600_000
INVALID_REQUEST = "invalid_request"
INVALID_CONFIG = "invalid_config"
"""Kafka's names of the codes that it answers, as kio writes them."""
_MAX_INT32 = 2**31 - 1
_SELECTOR_PARTS = 2
# Java's trim() and \s: ASCII only.
_JAVA_TRIM = "".join(chr(code) for code in range(33))
_LIST_SEPARATOR = re.compile(r"\s*,\s*", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]+")

METRICS_KEY = "metrics"
INTERVAL_KEY = "interval.ms"
MATCH_KEY = "match"

SELECTORS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""What a selector can look at."""


class InvalidProperties(ValueError):
    """Raised when a subscription cannot be used; says what Kafka answers."""

    def __init__(
        self, error_name: str, message: str, *, fault: str | None = None
    ) -> None:
        super().__init__(message)
        self.error_name = error_name
        self.fault = fault or error_name
        """What is wrong, without any value; fit for a log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """One CLIENT_METRICS resource."""

    name: str
    metrics: tuple[str, ...]
    """Metric name prefixes in the order given; `*` alone is all metrics."""
    interval_ms: int
    match: Mapping[str, MatchPattern]
    """Selector to pattern; all must match the whole value."""


def parse_properties(name: str, properties: Mapping[str, str]) -> Subscription:
    """Read the properties of one resource.

    Nulls: A property that is not set has Kafka's default.
    Raises: InvalidProperties, as INVALID_REQUEST or INVALID_CONFIG.
    """
    check_name(name)
    for key in properties:
        if key not in {METRICS_KEY, INTERVAL_KEY, MATCH_KEY}:
            raise InvalidProperties(
                INVALID_REQUEST, f"Unknown client metrics configuration: {key}"
            )
    interval = properties.get(INTERVAL_KEY)
    return check_subscription(
        name,
        metrics=parse_list(properties.get(METRICS_KEY, "")),
        interval_ms=DEFAULT_PUSH_INTERVAL_MS
        if interval is None
        else parse_interval(interval),
        match=parse_list(properties.get(MATCH_KEY, "")),
    )


def check_subscription(
    name: str, *, metrics: Sequence[str], interval_ms: int, match: Sequence[str]
) -> Subscription:
    """Check the values of one resource.

    Raises: InvalidProperties, as INVALID_REQUEST or INVALID_CONFIG.
    """
    check_name(name)
    if not MIN_INTERVAL_MS <= interval_ms <= MAX_INTERVAL_MS:
        raise InvalidProperties(
            INVALID_REQUEST,
            f"Invalid value {interval_ms} for {INTERVAL_KEY}, interval must be between "
            f"{MIN_INTERVAL_MS} and {MAX_INTERVAL_MS} (1 hour)",
        )
    return Subscription(
        name=name,
        metrics=tuple(metrics),
        interval_ms=interval_ms,
        match=dict(parse_selector(item) for item in match),
    )


def check_name(name: str) -> None:
    """Refuse an empty name."""
    if not name:
        raise InvalidProperties(INVALID_REQUEST, "Subscription name can't be empty")


def trim(text: str) -> str:
    """Return a text without the blanks that Java takes away."""
    return text.strip(_JAVA_TRIM)


def parse_list(text: str) -> list[str]:
    """Return the items of a LIST, empty ones among them."""
    trimmed = trim(text)
    return _LIST_SEPARATOR.split(trimmed) if trimmed else []


def parse_interval(text: str) -> int:
    """Return the number of an INT, whatever its range."""
    trimmed = trim(text)
    is_integer = _INTEGER.fullmatch(trimmed) is not None
    if not is_integer or not -_MAX_INT32 - 1 <= int(trimmed) <= _MAX_INT32:
        raise InvalidProperties(
            INVALID_CONFIG,
            f"Invalid value {text} for configuration {INTERVAL_KEY}: "
            f"Not a number of type INT",
        )
    return int(trimmed)


def split_selector(item: str) -> tuple[str, str]:
    """Return selector and pattern, whatever they are.

    Raises: InvalidProperties where they are not two.
    """
    # Java's split() drops empty texts at the end.
    parts = item.rstrip("=").split("=")
    if len(parts) != _SELECTOR_PARTS or trim(parts[0]) not in SELECTORS:
        message = f"Illegal client matching pattern: {item}"
        raise InvalidProperties(INVALID_CONFIG, message)
    return trim(parts[0]), trim(parts[1])


def parse_selector(item: str) -> tuple[str, MatchPattern]:
    """Return a selector and its pattern, compiled."""
    selector, pattern = split_selector(item)
    message = f"Illegal client matching pattern: {item}"
    try:
        return selector, MatchPattern(pattern)
    except UnsupportedPattern as error:
        fault = f"{error} is not supported by the bridge"
        raise InvalidProperties(
            INVALID_CONFIG, f"{message} ({fault})", fault=fault
        ) from None
    except ValueError:
        raise InvalidProperties(INVALID_CONFIG, message) from None
