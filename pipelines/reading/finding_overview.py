"""Findings of all clients, as reports show them. Reads only."""

from datetime import UTC, datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit


def read_evaluated_at(finding_runs: DataFrame) -> datetime | None:
    """Return when the rules were evaluated last; null: never."""
    (newest,) = finding_runs.agg(F.unix_millis(F.max("evaluated_at"))).collect()[0]
    return None if newest is None else datetime.fromtimestamp(newest / 1_000, UTC)
