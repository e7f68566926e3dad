"""Client-metrics subscriptions of conf/ and of clusters, with the codes of refusals.

What their properties mean, `udfs.subscriptions.properties` says.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from kio.schema.errors import ErrorCode

from pipelines.errors import InvalidSetting
from pipelines.settings.records import SubscriptionSettings
from udfs.subscriptions import properties as kafka
from udfs.subscriptions.properties import Subscription

__all__ = [
    "InvalidRule",
    "Subscription",
    "load_subscriptions",
    "make_subscription",
    "parse_subscription",
]


class InvalidRule(ValueError):
    """Raised when a subscription cannot be used; holds the code that Kafka answers."""

    def __init__(self, error_code: ErrorCode, message: str, *, fault: str) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.fault = fault
        """What is wrong, without any value; fit for a log."""


def parse_subscription(name: str, properties: Mapping[str, str]) -> Subscription:
    """Read the properties of one resource.

    Nulls: A property that is not set has Kafka's default.
    Raises: InvalidRule with INVALID_REQUEST(42) or INVALID_CONFIG(40).
    """
    with _refusing():
        return kafka.parse_properties(name, properties)


def make_subscription(
    name: str, *, metrics: Sequence[str], interval_ms: int, match: Sequence[str]
) -> Subscription:
    """Check the values of one resource.

    Raises: InvalidRule with INVALID_REQUEST(42) or INVALID_CONFIG(40).
    """
    with _refusing():
        return kafka.check_subscription(
            name, metrics=metrics, interval_ms=interval_ms, match=match
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
                metrics=[kafka.trim(item) for item in one.metrics],
                interval_ms=one.interval_ms,
                match=[kafka.trim(item) for item in one.match],
            )
        except InvalidRule as error:
            raise InvalidSetting(f"{place}: {error}") from None
    return list(loaded.values())


@contextmanager
def _refusing() -> Iterator[None]:
    """Say with Kafka's code what a block refuses."""
    try:
        yield
    except kafka.InvalidProperties as error:
        code = ErrorCode[error.error_name]
        raise InvalidRule(code, str(error), fault=error.fault) from None
