"""How long a table keeps older versions, and the files of those that it no longer does.

Both are properties of the table, so that VACUUM, time travel and Delta's own clean-up
of its log agree, whoever asks.
"""

import re
from collections.abc import Mapping

from pyspark.sql import SparkSession

from pipelines.tables.contract import quote_text

from .erase import LISTING_TASKS, TASKS_PER_CORE
from .session_settings import session_settings

FILES_PROPERTY = "delta.deletedFileRetentionDuration"
LOG_PROPERTY = "delta.logRetentionDuration"
TRANSACTIONS_PROPERTY = "delta.setTransactionRetentionDuration"
"""What makes a table forget which micro-batches it has; nobody of ours sets it."""
DEFAULT_HOURS: Mapping[str, int] = {FILES_PROPERTY: 168, LOG_PROPERTY: 720}
"""Delta's own."""
_HOURS = {"week": 168, "day": 24, "hour": 1}
_PART = re.compile(r"(\d+)\s+(week|day|hour)s?")


def read_properties(spark: SparkSession, table: str) -> dict[str, str]:
    """Return the properties of a table."""
    rows = spark.sql(f"SHOW TBLPROPERTIES {table}").collect()
    return {row["key"]: row["value"] for row in rows}


def set_properties(
    spark: SparkSession, table: str, properties: Mapping[str, str]
) -> None:
    """Set properties of a table.

    Raises: One of retry.CONFLICTS where somebody else commits meanwhile.
    """
    stated = ", ".join(
        f"{quote_text(name)} = {quote_text(value)}"
        for name, value in properties.items()
    )
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({stated})")


def parse_hours(interval: str) -> int | None:
    """Return the whole hours of an interval as Delta has it, `interval 1 week 2 days`.

    Nulls: None where it has other parts.
    """
    text = interval.lower().removeprefix("interval").strip()
    if _PART.sub("", text).strip():
        return None
    return sum(int(count) * _HOURS[unit] for count, unit in _PART.findall(text))


def is_shorter(name: str, told: str | None, hours: int) -> bool:
    """Say whether a table keeps less than it is to; what its owner says more of stays.

    Args:
        name: FILES_PROPERTY or LOG_PROPERTY.
        told: Its value; null where it is not set: then Delta's own counts.
        hours: What it is to keep.
    """
    if told is None:
        return hours != DEFAULT_HOURS[name]
    now = parse_hours(told)
    return now is not None and now < hours


def find_kept_hours(properties: Mapping[str, str], hours: int) -> int:
    """Return how long VACUUM leaves files: as it is told, or as the table says more."""
    told = properties.get(FILES_PROPERTY)
    return max(hours, (parse_hours(told) or 0) if told else 0)


def format_hours(hours: int) -> str:
    """Return an interval as Delta has it."""
    return f"interval {hours} hours"


def list_garbage(spark: SparkSession, table: str) -> list[str]:
    """Return what VACUUM would delete: paths of files, as far as Delta names them."""
    with session_settings(spark, _few_tasks(spark)):
        rows = spark.sql(f"VACUUM {table} DRY RUN").collect()
    return [str(row[0]) for row in rows]


def vacuum(spark: SparkSession, table: str) -> None:
    """Delete files that no version needs which the table promises to keep."""
    with session_settings(spark, _few_tasks(spark)):
        spark.sql(f"VACUUM {table}").collect()


def _few_tasks(spark: SparkSession) -> dict[str, str]:
    # Spark's own default of 10,000 listing tasks takes minutes on two cores.
    return {LISTING_TASKS: str(TASKS_PER_CORE * spark.sparkContext.defaultParallelism)}
