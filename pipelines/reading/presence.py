"""When client instances were active: how many came and went in each step of a time."""

from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

BEFORE = -1
"""Step of what happened before the time."""


def step_of(column: str, start: datetime, step_ms: int) -> Column:
    """Return the step that a moment is in: 0 begins at start."""
    since_ms = F.unix_millis(column) - F.lit(int(start.timestamp() * 1_000))
    return F.floor(since_ms / F.lit(step_ms)).cast("int")


def count_arrivals(
    known_instances: DataFrame, by: Column, *, start: datetime, step_ms: int
) -> DataFrame:
    """Return how the number of active instances with telemetry changed over time.

    Args:
        known_instances: The view, or part of it.
        by: Name of the group that an instance belongs to.
    Returns: who (the group), step (BEFORE for all that happened before the start) and
        number: arrivals less departures. An instance leaves after the last step in
        which it was active.
    """
    told = known_instances.where(F.col("known_by") == "telemetry")
    before = F.lit(BEFORE)
    came = told.select(
        by.alias("who"),
        F.greatest(before, step_of("first_seen", start, step_ms)).alias("step"),
        F.lit(1).alias("number"),
    )
    left = told.where(F.col("ended_at").isNotNull()).select(
        by.alias("who"),
        (F.greatest(before, step_of("ended_at", start, step_ms)) + 1).alias("step"),
        F.lit(-1).alias("number"),
    )
    return came.union(left).groupBy("who", "step").agg(F.sum("number").alias("number"))
