"""What a micro-batch holds: for progress, and for writes that can be skipped."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .offsets import Offsets, is_beyond
from .quarantine import is_quarantined


def count_batch(
    pushes: DataFrame, metrics_floors: Offsets, quarantine_floors: Offsets
) -> DataFrame:
    """Count the rows that a micro-batch has for each table.

    Args:
        pushes: All envelopes, decode results beside the usable ones.
        metrics_floors: Partition to the newest offset that client_metrics holds.
        quarantine_floors: The same for quarantine.
    Returns: One row: records, pushes, points, quarantined; int64, never null.
    """
    points = F.when(is_beyond(metrics_floors), F.col("point_count"))
    is_rejected = is_quarantined() & is_beyond(quarantine_floors)
    return pushes.agg(
        F.count("*").alias("records"),
        F.count_if(F.col("envelope_fault").isNull()).alias("pushes"),
        F.coalesce(F.sum(points), F.lit(0)).cast("bigint").alias("points"),
        F.count_if(is_rejected).alias("quarantined"),
    )
