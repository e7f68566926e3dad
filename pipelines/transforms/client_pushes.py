"""The ledger: one row per accepted push."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

COORDINATES = ["topic", "partition", "offset"]


def with_decode_results(envelopes: DataFrame, decoded: DataFrame) -> DataFrame:
    """Put what the decoder found beside each usable push, points excepted.

    Shape: One row per envelope; a push that the decoder lost has null columns, which
        client_pushes refuses.
    """
    # Bodies stay where they are: the results are some hundred bytes a push, so they
    # are sent to the bodies and no shuffle carries a body.
    results = F.broadcast(decoded.drop("points"))
    return envelopes.join(results, COORDINATES, "left")
