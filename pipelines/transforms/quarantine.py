"""Records that could not be used, with the reason and where they came from."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables import QUARANTINE

DECODED = "ok"
"""decode_status of a push whose body was read."""
FIRST_DATE, LAST_DATE = "1970-01-01", "9999-12-31"
"""A producer chooses the timestamp of a record; the folder of a date must be one."""


def filter_quarantined(pushes: DataFrame) -> DataFrame:
    """Keep records with a fault of the envelope or of the body.

    Args:
        pushes: All envelopes, decode results beside the usable ones.
    """
    return pushes.where(is_quarantined())


def is_quarantined() -> Column:
    """Return the condition of filter_quarantined."""
    return F.col("envelope_fault").isNotNull() | (F.col("decode_status") != DECODED)


def with_reason(pushes: DataFrame) -> DataFrame:
    """Name what is wrong: the envelope's fault, else the decoder's."""
    return pushes.withColumns(
        {
            "reason": F.coalesce("envelope_fault", "decode_status"),
            "detail": F.coalesce("envelope_detail", "detail"),
        }
    )


def select_quarantine(pushes: DataFrame, source_job: str) -> DataFrame:
    """End a chain: the columns of quarantine."""
    date = F.to_date("kafka_timestamp")
    first, last = F.lit(FIRST_DATE).cast("date"), F.lit(LAST_DATE).cast("date")
    return pushes.withColumns(
        {
            "event_date": F.greatest(F.least(date, last), first),
            "source_job": F.lit(source_job),
        }
    ).select(*QUARANTINE.column_names)
