"""The ledger: one row per accepted push."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.table_columns import COORDINATES, names

PUSH = [*names(COORDINATES), "push_id"]
"""What names a push: a topic that is made anew has all coordinates once more."""


def with_decode_results(envelopes: DataFrame, decoded: DataFrame) -> DataFrame:
    """Put what the decoder found beside each usable push, points excepted.

    Shape: One row per envelope; a push that the decoder lost has null columns, which
        client_pushes refuses.
    """
    # Bodies stay where they are: the results are some hundred bytes a push, so they
    # are sent to the bodies and no shuffle carries a body.
    results = F.broadcast(decoded.drop("points"))
    return envelopes.join(results, PUSH, "left")
