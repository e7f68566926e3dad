"""How far a query has come, read from the files that Spark keeps in its checkpoint.

Spark plans a micro-batch in `offsets/N` and, once it is written, notes it in
`commits/N`; where the first one begins stands in `sources/0/0`.
"""

import json
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from pipelines.delta_tables.locations import open_path

from .offsets import Offsets

_PLANNED = "offsets"
_COMMITTED = "commits"
_FIRST = "sources/0"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryProgress:
    """Where a query stands between two of its micro-batches."""

    position: Offsets
    """Partition to the first offset that is in no committed micro-batch."""
    planned_end: Offsets
    """Partition to the end of the micro-batch that is planned and not committed; empty
    where there is none."""
    committed_at_ms: int | None
    """When a micro-batch was last committed; null where none ever was."""


def read_query_progress(
    spark: SparkSession, checkpoint_location: str, topic: str
) -> QueryProgress:
    """Return how far the query of a checkpoint location has come in a topic.

    Args:
        spark: A session that reads the files.
        checkpoint_location: Folder of the query's progress.
        topic: Name of the topic.
    """
    planned = _list_numbers(spark, checkpoint_location, _PLANNED)
    committed = _list_numbers(spark, checkpoint_location, _COMMITTED)
    newest = max(planned, default=None)
    is_committed = newest is not None and newest <= max(committed, default=-1)
    begin = newest if newest is None or is_committed else newest - 1
    position: Offsets = {}
    if begin is not None and begin in planned:
        position = _read_offsets(spark, planned[begin], topic)
    elif begin is not None:
        first = _list_numbers(spark, checkpoint_location, _FIRST)
        position = _read_offsets(spark, first[0], topic) if 0 in first else {}
    last = committed[max(committed)] if committed else None
    return QueryProgress(
        position=position,
        planned_end=(
            {}
            if newest is None or is_committed
            else _read_offsets(spark, planned[newest], topic)
        ),
        committed_at_ms=None if last is None else int(last.getModificationTime()),
    )


def _list_numbers(
    spark: SparkSession, checkpoint_location: str, folder: str
) -> dict[int, Any]:
    """Return number to file status of a log of Spark's."""
    file_system, path = open_path(spark, f"{checkpoint_location}/{folder}")
    if not file_system.exists(path):
        return {}
    named = {s.getPath().getName(): s for s in file_system.listStatus(path)}
    return {int(name): s for name, s in named.items() if name.isdecimal()}


def _read_offsets(spark: SparkSession, status: Any, topic: str) -> Offsets:  # noqa: ANN401 - py4j has no types
    """Return the offsets of the last line of a file, which are of the one source."""
    file_system, path = open_path(spark, str(status.getPath().toString()))
    stream = file_system.open(path)
    try:
        lines = bytes(stream.readAllBytes()).decode("utf-8").strip().splitlines()
    finally:
        stream.close()
    by_topic: dict[str, dict[str, int]] = json.loads(lines[-1]) if lines else {}
    return {int(n): offset for n, offset in by_topic.get(topic, {}).items()}
