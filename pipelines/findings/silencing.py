"""Silences of a site as columns of findings: until when, and why."""

from collections.abc import Sequence
from datetime import date

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.settings.finding_rules import ANY_RULE, SILENCE_KEYS, Silence

_SPECIAL = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


def with_silences(
    findings: DataFrame, silences: Sequence[Silence], today: date
) -> DataFrame:
    """Put silenced_until and silenced_reason beside findings.

    Args:
        findings: Have rule, client_id, principal and group_id.
        silences: Of several the one that lasts longest counts; one that is over does
            not.
    Nulls: Both are null where none is in force.
    """
    said: Column = F.lit(None).cast("STRUCT<until: DATE, reason: STRING>")
    for one in sorted(silences, key=lambda one: one.until):
        if one.until >= today:
            words = F.struct(
                F.lit(one.until).alias("until"), F.lit(one.reason).alias("reason")
            )
            said = F.when(_is_about(one), words).otherwise(said)
    return findings.withColumns(
        {"silenced_until": said["until"], "silenced_reason": said["reason"]}
    )


def _is_about(silence: Silence) -> Column:
    is_it = F.lit(True) if silence.rule == ANY_RULE else F.col("rule") == silence.rule
    for name in SILENCE_KEYS:
        if pattern := getattr(silence, name):
            like = pattern.translate(_SPECIAL).replace("*", "%")
            is_it &= F.coalesce(F.col(name).like(like), F.lit(False))
    return is_it
