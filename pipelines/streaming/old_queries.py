"""What former queries, and cut-off ones, have left in a checkpoint location.

Where a query went on behind lost records, the folder of the one before it holds a
progress that nobody reads any more (see `starts`); what was decided there stays. And a
query that was killed may leave a file that it was about to rename.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from pipelines.delta_tables.locations import open_path, qualify_path

from .starts import list_former_locations

_OF_SPARK = ("offsets", "commits", "sources", "state", "metadata")
"""What Spark keeps in a checkpoint location."""
_LOGS = ("offsets", "commits", "sources/0")
_UNFINISHED_MS = 86_400_000
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
    former, now = list_former_locations(spark, whole)
    found = [
        left
        for location in former
        for name in _OF_SPARK
        if (left := _measure(spark, f"{location}/{name}")) is not None
    ]
    found += [
        LeftOver(str(status.getPath().toString()), 1, int(status.getLen()))
        for name in _LOGS
        for status in _list(spark, f"{now}/{name}")
        if _is_unfinished(status, now_ms)
    ]
    return found


def delete_left_over(spark: SparkSession, left: LeftOver) -> None:
    """Delete it, if it is still there."""
    file_system, path = open_path(spark, left.path)
    file_system.delete(path, True)


def _measure(spark: SparkSession, location: str) -> LeftOver | None:
    """Return how much a file or folder holds; null where it is not there."""
    file_system, path = open_path(spark, location)
    if not file_system.exists(path):
        return None
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
