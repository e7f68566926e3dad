"""What is looked at in the topics and checkpoint locations of the streaming jobs."""

import logging
import time
from collections.abc import Callable, Sequence

from pyspark.sql import SparkSession

from pipelines.counted import counted
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader
from pipelines.settings.stream_job_settings import StreamJobSettings
from pipelines.streaming.old_queries import delete_left_over, list_left_overs
from pipelines.streaming.start_records import Ledger
from pipelines.streaming.unread_records import find_unread

from .results import FAULTS, tell_fault

_NS_PER_MS = 1_000_000
_FAULTS = (*FAULTS, LookupError, TypeError, AttributeError)
"""Of a checkpoint's files, too, which may be JSON of another form."""
_logger = logging.getLogger(__name__)


def compare_topics(
    spark: SparkSession,
    settings: Settings,
    secrets: SecretReader,
    ledgers: Sequence[Ledger],
    say: Callable[[str], None],
) -> list[str]:
    """Compare each job's lag with the retention of its topic, and print it.

    Args:
        secrets: Reads those of the Kafka connection.
        ledgers: Of the jobs.
        say: Prints a line.
    Returns: Lines that somebody must act upon.
    """
    loud = []
    for ledger in ledgers:
        now_ms = time.time_ns() // _NS_PER_MS
        try:
            found = find_unread(spark, settings, secrets, ledger, now_ms)
        except _FAULTS as error:
            told = tell_fault(error)
            line = f"!!! {ledger.job_name}: its topic was not looked at: {told}"
            loud.append(line)
            say(line)
            continue
        if found is None:
            continue
        say(found.as_line())
        if found.is_endangered:
            loud.append(found.as_line())
            _logger.error("%s", found.as_line())
    return loud


def clean_checkpoints(
    spark: SparkSession,
    settings: Settings,
    ledgers: Sequence[Ledger],
    say: Callable[[str], None],
    *,
    is_dry_run: bool,
) -> list[str]:
    """Delete what nobody reads in the checkpoint locations of jobs, and print it.

    Returns: Lines that somebody must act upon.
    """
    loud = []
    for ledger in ledgers:
        try:
            line = _clean_checkpoint(spark, settings, ledger, is_dry_run=is_dry_run)
        except _FAULTS as error:
            line = (
                f"!!! {ledger.job_name}: its checkpoint location was not cleaned up: "
                f"{tell_fault(error)}"
            )
            loud.append(line)
        if line is not None:
            say(line)
    return loud


def _clean_checkpoint(
    spark: SparkSession, settings: Settings, ledger: Ledger, *, is_dry_run: bool
) -> str | None:
    """Delete what nobody reads; say what it was, or null where there is nothing."""
    job: StreamJobSettings = getattr(settings, ledger.job_name)
    now_ms = time.time_ns() // _NS_PER_MS
    left = list_left_overs(spark, job.checkpoint_location, now_ms)
    if not left:
        return None
    if not is_dry_run:
        for one in left:
            delete_left_over(spark, one)
    files = counted(sum(one.files for one in left), "file")
    size_bytes = sum(one.size_bytes for one in left)
    return (
        f"{ledger.job_name}: {'would delete' if is_dry_run else 'deleted'} {files} "
        f"of {size_bytes:,} bytes of former queries in its checkpoint location"
    )
