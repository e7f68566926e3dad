"""How long a table keeps older versions, and the files of those that it no longer does.

Both are properties of the table, so that VACUUM, time travel and Delta's own clean-up
of its log agree, whoever asks.
"""

import math
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
_HOURS = {
    "week": 168, "day": 24, "hour": 1, "minute": 1 / 60, "second": 1 / 3_600,
    "millisecond": 1 / 3.6e6, "microsecond": 1 / 3.6e9,
}  # fmt: skip
_PART = re.compile(rf"(-?\d+(?:\.\d+)?)\s+({'|'.join(_HOURS)})s?\b")


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


def parse_hours(interval: str) -> float | None:
    """Return the hours of an interval as Delta has it, `interval 1 week 2 days`.

    Nulls: None where it has other parts.
    """
    text = interval.lower().removeprefix("interval").strip()
    if not text or _PART.sub("", text).strip():
        return None
    return sum(float(count) * _HOURS[unit] for count, unit in _PART.findall(text))


def plan_retention(
    properties: Mapping[str, str], *, vacuum_hours: int, log_hours: int
) -> dict[str, str]:
    """Return the properties by which a table keeps what it is to; none if it does.

    What its owner says more of stays. They come together or not at all: Delta compares
    the log with the files, and looks at those of one statement alone. A log is kept as
    long as the files at least, or these were of no use.

    Args:
        properties: Of the table, from read_properties.
        vacuum_hours: How long files are kept that no version needs any more.
        log_hours: How long its log is.
    """
    told = {
        name: parse_hours(properties[name]) if name in properties else None
        for name in DEFAULT_HOURS
    }
    files = find_kept_hours(properties, vacuum_hours)
    log = max(log_hours, files, math.ceil(told[LOG_PROPERTY] or 0))
    wanted = {FILES_PROPERTY: files, LOG_PROPERTY: log}
    # What cannot be read is stated anew.
    now = {
        name: told[name] if name in properties else hours
        for name, hours in DEFAULT_HOURS.items()
    }
    is_said = bool(now.keys() & properties.keys())
    is_enough = all((now[name] or 0) >= hours for name, hours in wanted.items())
    if now == wanted or (is_said and is_enough):
        return {}
    return {
        # Its owner's words, where they say the same.
        name: properties[name] if told[name] == hours else f"interval {hours} hours"
        for name, hours in wanted.items()
    }


def find_kept_hours(properties: Mapping[str, str], hours: int) -> int:
    """Return how long VACUUM leaves files: as it is told, or as the table says more."""
    told = properties.get(FILES_PROPERTY)
    return max(hours, math.ceil((parse_hours(told) or 0) if told else 0))


def list_garbage(spark: SparkSession, table: str, hours: int) -> list[str]:
    """Return what VACUUM would delete: paths of files, as far as Delta names them."""
    with session_settings(spark, _few_tasks(spark)):
        rows = spark.sql(f"VACUUM {table} RETAIN {hours} HOURS DRY RUN").collect()
    return [str(row[0]) for row in rows]


def vacuum(spark: SparkSession, table: str, hours: int) -> None:
    """Delete files that no version of the last hours needs.

    Stated, so that no property that somebody sets meanwhile makes it less.
    """
    with session_settings(spark, _few_tasks(spark)):
        spark.sql(f"VACUUM {table} RETAIN {hours} HOURS").collect()


def _few_tasks(spark: SparkSession) -> dict[str, str]:
    # Spark's own default of 10,000 listing tasks takes minutes on two cores.
    return {LISTING_TASKS: str(TASKS_PER_CORE * spark.sparkContext.defaultParallelism)}
