"""Many small files of past dates become few, with each client's points together.

For use once a day. A micro-batch makes a file that holds all clients; after this, who
asks for one client and one metric reads a small part of a date.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pipelines.counted import counted
from pipelines.delta_tables.compaction import (
    PartitionFiles,
    compact_date,
    read_clusterings,
    read_partition_files,
)
from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.errors import MissingTable
from pipelines.settings.records import Settings
from pipelines.tables.contract import TableContract
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES, QUARANTINE
from pipelines.time_ranges import TimeRange

JOB_NAME = "compact_tables"
COMPACTED = (CLIENT_METRICS, CLIENT_PUSHES, QUARANTINE)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What became of one date of one table."""

    table: str
    event_date: str
    before: PartitionFiles
    after: PartitionFiles
    is_skipped: bool
    """It was clustered already, and nothing was written since."""


def run(spark: SparkSession, settings: Settings, span: TimeRange) -> list[Compaction]:
    """Compact the dates of a range that need it, oldest first.

    Args:
        span: Of event_date, by whole dates.
    Raises: MissingTable.
    """
    tables = {c.name: identify_table(spark, settings.tables, c) for c in COMPACTED}
    for table in tables.values():
        if not has_table(spark, table):
            raise MissingTable(f"table {table}: there is none")
    done = []
    for contract in COMPACTED:
        table = tables[contract.name]
        for compaction in _compact_table(spark, settings, contract, table, span):
            _logger.info("%s", format_compaction(compaction))
            done.append(compaction)
    return done


def format_compaction(compaction: Compaction) -> str:
    """Return one line."""
    what = f"{compaction.table} {compaction.event_date}"
    count, size = compaction.before.count, compaction.before.size_bytes
    files = counted(count, "file")
    if compaction.is_skipped:
        return f"{what}: {files}, {size} bytes; nothing to do, clustered already"
    after = compaction.after
    return f"{what}: {files} of {size} bytes became {after.count} of {after.size_bytes}"


def format_result(done: Sequence[Compaction], span: TimeRange) -> str:
    """Return what is printed in the end, one line a table and date."""
    if not done:
        return f"{span}: nothing to do, no table has rows of these dates"
    return "\n".join(map(format_compaction, done))


def _compact_table(
    spark: SparkSession,
    settings: Settings,
    contract: TableContract,
    table: str,
    span: TimeRange,
) -> Iterator[Compaction]:
    clustered = read_clusterings(spark.sql(f"DESCRIBE HISTORY {table}"), contract)
    dates = list(span.dates)
    files = read_partition_files(spark, table, dates[0], dates[-1])
    for day in sorted(files):
        is_skipped = clustered.get(day, -1) >= files[day].newest_ms
        if not is_skipped:
            compact_date(
                spark,
                contract,
                table,
                day,
                file_bytes=settings.compact_tables.max_file_bytes,
            )
        after = files if is_skipped else read_partition_files(spark, table, day, day)
        yield Compaction(
            table=contract.name,
            event_date=day.isoformat(),
            before=files[day],
            after=after[day],
            is_skipped=is_skipped,
        )
