"""When clients pushed: the first push of a time, the newest one, the usual interval."""

from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .client_states import ACTIVE, current_from_sql


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTimes:
    """Times of the pushes of all clients."""

    first: datetime | None = None
    """First push since the given time; null: there is none."""
    newest: datetime | None = None
    """Newest push of all; null: there is none."""
    interval_ms: int | None = None
    """Usual push interval: half of the clients have a shorter one."""
    current_from: datetime | None = None
    """Start of the points of current values; null: no client is active."""


def read_push_times(spark: SparkSession, since: datetime) -> PushTimes:
    """Return the times of the pushes of all clients.

    Args:
        spark: Has client_pushes and the view clients.
        since: Start of the time for the first push; it knows its zone.
    """
    client_pushes, clients = spark.table("client_pushes"), spark.table("clients")
    start = since.astimezone(UTC)
    recent = client_pushes.where(F.col("event_date") >= F.lit(start.date())).where(
        F.col("received_at") >= F.lit(since)
    )
    (first,) = recent.agg(F.unix_millis(F.min("received_at"))).collect()[0]
    pushing = F.when(F.col("last_push") >= F.lit(since), F.col("push_interval_ms"))
    # The growth of a sum needs the push before the first current one.
    current = F.when(
        F.col("state") == ACTIVE, F.expr(current_from_sql(more_intervals=1))
    )
    newest, interval, usual, current_from = clients.agg(
        F.unix_millis(F.max("last_push")),
        F.percentile_approx(pushing, 0.5),
        F.percentile_approx("push_interval_ms", 0.5),
        F.unix_millis(F.min(current)),
    ).collect()[0]
    return PushTimes(
        first=_read_moment(first),
        newest=_read_moment(newest),
        interval_ms=usual if interval is None else interval,
        current_from=_read_moment(current_from),
    )


def _read_moment(millis: int | None) -> datetime | None:
    return None if millis is None else datetime.fromtimestamp(millis / 1_000, UTC)
