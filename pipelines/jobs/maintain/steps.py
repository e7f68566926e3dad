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


def select_ended(
    instances: DataFrame,
    pushes: DataFrame | None,
    configs: DataFrame | None,
    oldest: str,
    oldest_heard: str,
) -> DataFrame:
    """Return the client instances that have ended before a moment.

    One that has said so has ended then; of others the pushes tell. A client that has
    pushed its configuration since that moment is active, whatever its telemetry shows.

    Args:
        instances: The table client_instances.
        pushes: The table client_pushes; null where there is none: then nobody else is
            known to have ended.
        configs: The table client_configs; null if the table does not exist.
        oldest: The moment, as SQL has it.
        oldest_heard: The moment for those of whom nothing was heard; earlier where
            pushes are read late.
    Returns: client_instance_id.
    """
    if configs is not None:
        active = configs.where(f"received_at >= {oldest}").select(INSTANCE)
        instances = instances.join(active, INSTANCE, "left_anti")
    told = instances.where(f"terminated_at < {oldest}").select(INSTANCE)
    if pushes is None:
        return told
    silent = instances.where("terminated_at IS NULL").where(
        f"first_seen < {oldest_heard}"
    )
    heard = pushes.where(f"event_date >= DATE({oldest_heard})").where(
        f"received_at >= {oldest_heard}"
    )
    unheard = silent.select(INSTANCE).join(
        heard.select(INSTANCE), INSTANCE, "left_anti"
    )
    return told.unionByName(unheard)


def filter_ended(rows: DataFrame, ended: DataFrame) -> DataFrame:
    """Return the keys of rows whose client instances have ended, once each."""
    return rows.join(ended.distinct(), INSTANCE, "left_semi").select(INSTANCE)
