"""The kernel of selectors as a function of SQL; its meaning stands there."""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql.functions import udf
from pyspark.sql.types import BooleanType

from udfs.subscriptions.properties import SELECTORS
from udfs.subscriptions.selectors import matches_all


def make_matching_function() -> Callable[..., Column]:
    """Return a function of a map (selector to pattern), and what a client has of each.

    Nulls: A map that is null is for everybody, as an empty one.
    Shape: As many texts behind the map as there are SELECTORS, in their order.
    """

    def matches(patterns: dict[str, str] | None, *attributes: str | None) -> bool:
        known = dict(zip(SELECTORS, attributes, strict=True))
        return matches_all(patterns or {}, known)

    return udf(matches, BooleanType(), useArrow=False)
