"""The ledger: one row per accepted push."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables import CLIENT_PUSHES

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


def select_client_pushes(pushes: DataFrame) -> DataFrame:
    """End a chain: the columns of client_pushes."""
    return pushes.withColumns(
        {
            "event_date": F.to_date("received_at"),
            "body_bytes": F.octet_length("body"),
        }
    ).select(*CLIENT_PUSHES.column_names)
