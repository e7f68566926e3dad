"""Client-metrics subscriptions: their properties, read and checked.

Properties, checks and error codes are those of Kafka's CLIENT_METRICS resources.
Source: Kafka, ClientMetricsConfigs.java, ConfigDef.java; KIP-714.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kio.schema.errors import ErrorCode

from pipelines.errors import InvalidSetting
from pipelines.settings.records import SubscriptionSettings
from udfs.subscriptions.java_patterns import MatchPattern, UnsupportedPattern
from udfs.subscriptions.selectors import split_selector, trim

DEFAULT_PUSH_INTERVAL_MS = 300_000
"""Kafka's default, and the longest interval that a client is ever told."""
MIN_INTERVAL_MS = 100
MAX_INTERVAL_MS = 3_600_000
_MAX_INT32 = 2**31 - 1
# Java's \s: ASCII only.
_LIST_SEPARATOR = re.compile(r"\s*,\s*", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]+")

METRICS_KEY = "metrics"
INTERVAL_KEY = "interval.ms"
MATCH_KEY = "match"


class InvalidRule(ValueError):
    """Raised when a subscription cannot be used; holds the code that Kafka answers."""

    def __init__(
        self, error_code: ErrorCode, message: str, *, fault: str | None = None
    ) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.fault = fault or error_code.name
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


def parse_subscription(name: str, properties: Mapping[str, str]) -> Subscription:
    """Read the properties of one resource.

    Nulls: A property that is not set has Kafka's default.
    Raises: InvalidRule with INVALID_REQUEST(42) or INVALID_CONFIG(40).
    """
    _check_name(name)
    for key in properties:
        if key not in {METRICS_KEY, INTERVAL_KEY, MATCH_KEY}:
            raise InvalidRule(
                ErrorCode.invalid_request,
                f"Unknown client metrics configuration: {key}",
            )
    interval = properties.get(INTERVAL_KEY)
    return make_subscription(
        name,
        metrics=_parse_list(properties.get(METRICS_KEY, "")),
        interval_ms=DEFAULT_PUSH_INTERVAL_MS
        if interval is None
        else _parse_interval(interval),
        match=_parse_list(properties.get(MATCH_KEY, "")),
    )


def make_subscription(
    name: str, *, metrics: Sequence[str], interval_ms: int, match: Sequence[str]
) -> Subscription:
    """Check the values of one resource.

    Raises: InvalidRule with INVALID_REQUEST(42) or INVALID_CONFIG(40).
    """
    _check_name(name)
    if not MIN_INTERVAL_MS <= interval_ms <= MAX_INTERVAL_MS:
        raise InvalidRule(
            ErrorCode.invalid_request,
            f"Invalid value {interval_ms} for {INTERVAL_KEY}, interval must be between "
            f"{MIN_INTERVAL_MS} and {MAX_INTERVAL_MS} (1 hour)",
        )
    return Subscription(
        name=name,
        metrics=tuple(metrics),
        interval_ms=interval_ms,
        match=dict(_parse_selector(item) for item in match),
    )


def load_subscriptions(settings: Iterable[SubscriptionSettings]) -> list[Subscription]:
    """Check the subscriptions of conf/.

    Raises: InvalidSetting, naming the subscription.
    """
    loaded: dict[str, Subscription] = {}
    for one in settings:
        place = f"subscriptions: {one.name or '(no name)'}"
        if one.name in loaded:
            raise InvalidSetting(f"{place}: the name stands there twice")
        for item in (*one.metrics, *one.match):
            if "," in item:
                raise InvalidSetting(
                    f"{place}: {item!r} holds a comma, which separates items in Kafka"
                )
        try:
            loaded[one.name] = make_subscription(
                one.name,
                metrics=[trim(item) for item in one.metrics],
                interval_ms=one.interval_ms,
                match=[trim(item) for item in one.match],
            )
        except InvalidRule as error:
            raise InvalidSetting(f"{place}: {error}") from None
    return list(loaded.values())


def _check_name(name: str) -> None:
    if not name:
        raise InvalidRule(ErrorCode.invalid_request, "Subscription name can't be empty")


def _parse_list(text: str) -> list[str]:
    trimmed = trim(text)
    return _LIST_SEPARATOR.split(trimmed) if trimmed else []


def _parse_interval(text: str) -> int:
    trimmed = trim(text)
    is_integer = _INTEGER.fullmatch(trimmed) is not None
    if not is_integer or not -_MAX_INT32 - 1 <= int(trimmed) <= _MAX_INT32:
        raise InvalidRule(
            ErrorCode.invalid_config,
            f"Invalid value {text} for configuration {INTERVAL_KEY}: "
            f"Not a number of type INT",
        )
    return int(trimmed)


def _parse_selector(item: str) -> tuple[str, MatchPattern]:
    message = f"Illegal client matching pattern: {item}"
    try:
        name, pattern = split_selector(item)
        return name, MatchPattern(pattern)
    except UnsupportedPattern as error:
        fault = f"{error} is not supported by the bridge"
        raise InvalidRule(
            ErrorCode.invalid_config, f"{message} ({fault})", fault=fault
        ) from None
    except ValueError:
        raise InvalidRule(ErrorCode.invalid_config, message) from None
