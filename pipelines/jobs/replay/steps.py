"""What the tables must hold of pushes in the ledger that are decoded again.

The ledger has one row per accepted push; of each come data points, one row each, with
the identity of the connection that pushed them, or a row of quarantine, with the reason
and where it came from.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.columns import CLIENT, RECEIVED, names
from pipelines.tables.contract import DECODED, PUSH
from pipelines.tables.telemetry import CLIENT_METRICS, QUARANTINE
from pipelines.time_ranges import TimeRange

COMPRESSION_IDS: Mapping[str, int] = {
    "none": 0,
    "gzip": 1,
    "snappy": 2,
    "lz4": 3,
    "zstd": 4,
}
"""Kafka's CompressionType: name to id on the wire."""
UNKNOWN_COMPRESSION_ID = -1
"""No codec has it; the decoder reports such a push as unknown_codec."""

_FIRST_AND_LAST = ("1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z")
"""Bounds of timestamps, as in rows that the job writes: Python reads no later ones."""


def filter_quarantined(pushes: DataFrame) -> DataFrame:
    """Keep records with a fault of the envelope or of the body.

    Args:
        pushes: All envelopes, decode results beside the usable ones.
    """
    return pushes.where(is_quarantined())


def is_quarantined() -> Column:
    """Return the condition of filter_quarantined."""
    return F.col("envelope_fault").isNotNull() | (F.col("decode_status") != DECODED)


def with_reason(pushes: DataFrame) -> DataFrame:
    """Name what is wrong: the envelope's fault, else the decoder's."""
    return pushes.withColumns(
        {
            "reason": F.coalesce("envelope_fault", "decode_status"),
            "detail": F.coalesce("envelope_detail", "detail"),
        }
    )


def select_quarantine(pushes: DataFrame, source_job: str) -> DataFrame:
    """End a chain: the columns of quarantine."""
    first, last = (F.lit(one).cast("timestamp") for one in _FIRST_AND_LAST)
    bounded = F.greatest(F.least("kafka_timestamp", last), first)
    # Both skip nulls.
    is_known = F.col("kafka_timestamp").isNotNull()
    return (
        pushes.withColumn("kafka_timestamp", F.when(is_known, bounded))
        .withColumn("event_date", F.to_date("kafka_timestamp"))
        .withColumn("source_job", F.lit(source_job))
        .select(*QUARANTINE.column_names)
    )


OF_THE_PUSH = (*PUSH, *(n for n in names((*RECEIVED, *CLIENT)) if n not in PUSH))
"""What each point has of its push; the identity comes from the headers only."""


def select_client_metrics(points: DataFrame) -> DataFrame:
    """End a chain: the columns of client_metrics."""
    return points.withColumn("event_date", F.to_date("received_at")).select(
        *CLIENT_METRICS.column_names
    )


POINT_BYTES = 16
"""Of a point in a file, at most, about; in memory it has 256 and more."""


def filter_received(rows: DataFrame, span: TimeRange) -> DataFrame:
    """Keep the rows that were received in a range, whatever partition they are in."""
    start = F.timestamp_micros(F.lit(span.start_us))
    end = F.timestamp_micros(F.lit(span.end_us))
    return rows.where((F.col("received_at") >= start) & (F.col("received_at") < end))


def filter_dates(rows: DataFrame, span: TimeRange) -> DataFrame:
    """Keep the partitions, by event_date of received_at, that a range has a part of."""
    dates = list(span.dates)
    return rows.where(F.col("event_date").between(dates[0], dates[-1]))


def filter_replayable(ledger: DataFrame) -> DataFrame:
    """Keep the pushes whose body is there; what retention took stays as it is."""
    return ledger.where("body IS NOT NULL AND octet_length(body) = body_bytes")


def with_compression_id(ledger: DataFrame) -> DataFrame:
    """Add compression_type_id; the ledger has the codec by Kafka's name."""
    cases = " ".join(f"WHEN '{name}' THEN {i}" for name, i in COMPRESSION_IDS.items())
    return ledger.selectExpr(
        "*",
        f"CASE compression_type {cases} ELSE {UNKNOWN_COMPRESSION_ID} END "
        "AS compression_type_id",
    )


def select_replayed_rejections(
    decoded: DataFrame, quarantine: DataFrame, source_job: str
) -> DataFrame:
    """Return the rows that quarantine must hold of the pushes.

    Args:
        decoded: Pushes of client_pushes, with what the decoder finds in them.
        quarantine: The table; it knows the timestamp of a record that was rejected
            before. The ledger does not have it, so that of a record which is rejected
            now is received_at, some milliseconds before.
        source_job: Name of the job that rejects.
    """
    known = quarantine.groupBy(*PUSH).agg(
        F.min("kafka_timestamp").alias("known_timestamp")
    )
    return (
        decoded.withColumns(
            {"envelope_fault": F.lit(None), "envelope_detail": F.lit(None)}
        )
        .transform(filter_quarantined)
        # Bodies stay where they are: no shuffle carries one.
        .join(F.broadcast(known), PUSH, "left")
        .withColumn("kafka_timestamp", F.coalesce("known_timestamp", "received_at"))
        .transform(with_reason)
        .transform(select_quarantine, source_job)
    )


def count_by_minute(ledger: DataFrame) -> DataFrame:
    """Return (start_us, pushes, size_bytes) of each minute with pushes, by time.

    Units: start_us is microseconds since 1970; size_bytes is about what the bodies and
        the points that are known take in files. Memory holds neither, so that it does
        not matter what the decoder finds now.
    """
    return _count_by(ledger, F.date_trunc("minute", "received_at"))


def count_by_moment(ledger: DataFrame) -> DataFrame:
    """Return the same of each moment: for a minute that is too much at once."""
    return _count_by(ledger, F.col("received_at"))


def _count_by(ledger: DataFrame, start: Column) -> DataFrame:
    size = F.col("body_bytes") + POINT_BYTES * F.col("point_count")
    return (
        ledger.groupBy(F.unix_micros(start).alias("start_us"))
        .agg(F.count("*").alias("pushes"), F.sum(size).alias("size_bytes"))
        .orderBy("start_us")
    )
