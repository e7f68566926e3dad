"""From what holds now to rows of client_findings that are other than they were.

The row itself says what two evaluations in a row need: one that held at the former
evaluation was last seen then; one that held once ends where it was seen.
"""

from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.findings import CLIENT_FINDINGS

KEY = CLIENT_FINDINGS.merge_key
_TIMES = ("since", "until", "last_seen")
_IS_HELD, _IS_UNJUDGED = "is_held", "is_unjudged"


def select_changed(
    findings: DataFrame,
    table: DataFrame,
    unjudged: DataFrame,
    *,
    now: datetime,
    before: datetime | None,
) -> DataFrame:
    """Return the rows that change, whole.

    Args:
        findings: What holds now; the contract's columns but for its times.
        table: client_findings.
        unjudged: KEY of those of which the rule could not be asked.
        now: The moment of this evaluation; knows its zone.
        before: That of the former one; null: there was none.
    Returns: The contract's columns.
    Shape: A row for each that holds, and for each that closes.
    """
    held = findings.withColumn(_IS_HELD, F.lit(True)).alias("new")
    known = table.withColumn("is_known", F.lit(True)).alias("old")
    unasked = unjudged.withColumn(_IS_UNJUDGED, F.lit(True))
    both = (
        held.join(known, [*KEY], "full")
        .join(unasked, [*KEY], "left")
        .where(F.col(f"new.{_IS_HELD}") | _is_over(before))
    )
    is_held = F.coalesce(F.col(f"new.{_IS_HELD}"), F.lit(False))
    texts = [
        F.when(is_held, F.col(f"new.{name}"))
        .otherwise(F.col(f"old.{name}"))
        .alias(name)
        for name in CLIENT_FINDINGS.column_names
        if name not in {*KEY, *_TIMES}
    ]
    rows = both.select(*KEY, *texts, *_tell_times(is_held, now, before))
    return rows.select(*CLIENT_FINDINGS.column_names)


def _was_seen(before: datetime | None) -> Column:
    """Return whether a row held at the former evaluation."""
    moment = F.lit(before).cast("timestamp")
    return F.coalesce(F.col("old.last_seen") >= moment, F.lit(False))


def _is_open() -> Column:
    return F.col("old.is_known") & F.col("old.until").isNull()


def _is_over(before: datetime | None) -> Column:
    """Return whether an open row fails now, and failed at the former evaluation."""
    return (
        F.coalesce(_is_open(), F.lit(False))
        & F.col(_IS_UNJUDGED).isNull()
        & ~_was_seen(before)
        & F.lit(before is not None)
    )


def _tell_times(
    is_held: Column, now: datetime, before: datetime | None
) -> tuple[Column, Column, Column]:
    """Return since, until and last_seen.

    What holds for the first time is a row that ends where it begins. What has an end
    and has held since then, at the former evaluation, is open.
    """
    moment, old = F.lit(now).cast("timestamp"), {n: F.col(f"old.{n}") for n in _TIMES}
    is_open = F.coalesce(_is_open(), F.lit(False))
    is_pending = _was_seen(before) & F.coalesce(
        old["last_seen"] >= old["until"], F.lit(False)
    )
    # A time that was closed stays to be read until the finding is open again.
    was_closed = F.coalesce(old["since"] < old["until"], F.lit(False))
    opens = is_open | is_pending
    since = (
        F.when(~is_held | is_open, old["since"])
        .when(is_pending, old["last_seen"])
        .when(was_closed, old["since"])
        .otherwise(moment)
    )
    until = (
        F.when(~is_held, F.lit(before).cast("timestamp"))
        .when(opens, F.lit(None))
        .when(was_closed, old["until"])
        .otherwise(moment)
    )
    last_seen = F.when(is_held, moment).otherwise(old["last_seen"])
    return since.alias("since"), until.alias("until"), last_seen.alias("last_seen")
