"""Which rows may go, as DataFrames of the tables."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

INSTANCE = "client_instance_id"
_POSITION = ("topic", "partition")


def select_newest(rows: DataFrame) -> DataFrame:
    """Return the newest offset of each topic and partition."""
    return rows.groupBy(*_POSITION).agg(F.max("offset").alias("offset"))


def count_by_date(rows: DataFrame, column: str, stays: str) -> DataFrame:
    """Return day, rows, and going, the number of those that do not stay.

    Args:
        column: The date.
        stays: SQL that is true of rows that do.
    """
    day = F.col(column).cast("string").alias("day")
    going = F.count_if(~F.expr(stays)).alias("going")
    return rows.groupBy(day).agg(F.count("*").alias("rows"), going)


def select_ended(states: DataFrame, oldest: str) -> DataFrame:
    """Return the client instances with telemetry that ended before a moment.

    An instance of which only future timestamps are known stays: its bridge's clock is
    wrong.

    Args:
        states: From client_states.states_query; instances expire after the retention.
        oldest: The moment, as SQL.
    Returns: client_instance_id.
    """
    ended = f"state = 'terminated' AND terminated_at < {oldest}"
    return (
        states.where("known_by = 'telemetry'")
        .where(f"({ended}) OR (state = 'expired' AND last_seen IS NOT NULL)")
        .select(INSTANCE)
    )


def filter_ended(rows: DataFrame, ended: DataFrame) -> DataFrame:
    """Return the keys of rows whose client instances have ended, once each."""
    return rows.join(ended.distinct(), INSTANCE, "left_semi").select(INSTANCE)
