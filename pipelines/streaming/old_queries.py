"""Find what nobody reads any more at a checkpoint location.

After an accepted data loss the old checkpoint stays beside the new one for
`KEPT_DAYS` days (see `starts`). A query that was killed may leave a file that it was
about to rename.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from pipelines.delta_tables.locations import open_path, qualify_path

from .checkpoint_files import MOVED, MOVED_AT

KEPT_DAYS = 30
"""Days for which an old checkpoint stays after it was moved aside."""
_LOGS = ("offsets", "commits", "sources/0")
_MS_PER_S = 1000
_DAY_MS = 86_400_000
_UNFINISHED_MS = _DAY_MS
"""No query takes as long from writing a file to renaming it."""


@dataclass(frozen=True, slots=True)
class LeftOver:
    """A file or folder that nobody reads."""

    path: str
    files: int
    size_bytes: int


def list_left_overs(
    spark: SparkSession, checkpoint_location: str, now_ms: int
) -> list[LeftOver]:
    """Return what may be deleted in a checkpoint location.

    Args:
        now_ms: Milliseconds since 1970.
    """
    whole = qualify_path(spark, checkpoint_location)
    found = [_measure(spark, path) for path in _list_moved(spark, whole, now_ms)]
    found += [
        LeftOver(str(status.getPath().toString()), 1, int(status.getLen()))
        for name in _LOGS
        for status in _list(spark, f"{whole}/{name}")
        if _is_unfinished(status, now_ms)
    ]
    return found


def delete_left_over(spark: SparkSession, left: LeftOver) -> None:
    """Delete it, if it is still there."""
    file_system, path = open_path(spark, left.path)
    file_system.delete(path, True)


def _list_moved(spark: SparkSession, location: str, now_ms: int) -> Iterator[str]:
    """Return the old checkpoints of a location that were moved aside long ago."""
    parent, _, name = location.rstrip("/").rpartition("/")
    oldest_ms = now_ms - KEPT_DAYS * _DAY_MS
    oldest = datetime.fromtimestamp(oldest_ms / _MS_PER_S, tz=UTC)
    limit = f"{name}{MOVED}{oldest:{MOVED_AT}}"
    for status in _list(spark, parent):
        found = str(status.getPath().getName())
        # Names with times in this form sort as the times.
        if found.startswith(f"{name}{MOVED}") and found < limit:
            yield str(status.getPath().toString())


def _measure(spark: SparkSession, location: str) -> LeftOver:
    """Return how much a folder holds."""
    file_system, path = open_path(spark, location)
    summary = file_system.getContentSummary(path)
    return LeftOver(location, int(summary.getFileCount()), int(summary.getLength()))


def _list(spark: SparkSession, folder: str) -> Iterator[Any]:
    file_system, path = open_path(spark, folder)
    if file_system.exists(path):
        yield from file_system.listStatus(path)


def _is_unfinished(status: Any, now_ms: int) -> bool:  # noqa: ANN401 - py4j has no types
    """Say whether a file is one that Spark was about to rename, long ago."""
    name = str(status.getPath().getName())
    is_old = int(status.getModificationTime()) < now_ms - _UNFINISHED_MS
    return name.startswith(".") and name.endswith(".tmp") and is_old
