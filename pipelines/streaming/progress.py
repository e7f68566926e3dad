"""Tells after each micro-batch what it held, how long it took and what is left.

Spark's own progress says what was read and how far the source has got; what became of
the records only the job knows, and says before the micro-batch ends.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    SourceProgress,
    StreamingQueryListener,
)

from pipelines.counted import counted

MS_PER_S = 1000

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProgress:
    """One micro-batch, written."""

    batch_id: int
    records: int
    """Read from the topic."""
    rows: int
    """Written of what the job is for."""
    rows_name: str
    """What these rows are, for people."""
    quarantined: int
    """Rows of quarantine."""
    duration_ms: int
    """From the first look at the topic to the commit."""
    lag: int | None
    """Records of the topic behind the micro-batch, as the topic was when it began; null
    where the source does not say."""

    def as_line(self) -> str:
        """Return one line for people."""
        lag = "unknown lag"
        if self.lag is not None:
            lag = f"{counted(self.lag, 'record')} behind"
        return (
            f"batch {self.batch_id}: {counted(self.records, 'record')}, "
            f"{counted(self.rows, self.rows_name.removesuffix('s'))}, "
            f"{self.quarantined:,} quarantined, "
            f"{self.duration_ms / MS_PER_S:.1f} s, {lag}"
        )


ProgressObserver = Callable[[BatchProgress], None]


def log_batch(progress: BatchProgress) -> None:
    """Log a micro-batch; the default observer."""
    _logger.info("%s", progress.as_line())


class BatchListener(StreamingQueryListener):
    """Joins what the job counts with what Spark tells of the same micro-batch."""

    def __init__(
        self, query_name: str, observer: ProgressObserver, *, rows_name: str
    ) -> None:
        self._query_name = query_name
        self._rows_name = rows_name
        self._observer = observer
        self._counts: dict[int, tuple[int, int]] = {}

    def note_counts(self, batch_id: int, *, rows: int, quarantined: int) -> None:
        """Take what the job has written; called before the micro-batch ends."""
        self._counts[batch_id] = rows, quarantined

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's
        """Nothing is known yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's
        """Tell the observer of a micro-batch of the job."""
        progress = event.progress
        if progress.name != self._query_name:
            return  # another query's, whose batches have the same numbers
        counts = self._counts.pop(progress.batchId, None)
        if counts is None:
            return  # an idle trigger, or a batch of an earlier query of this session
        self._observer(
            BatchProgress(
                batch_id=progress.batchId,
                records=progress.numInputRows,
                rows=counts[0],
                rows_name=self._rows_name,
                quarantined=counts[1],
                duration_ms=progress.batchDuration,
                lag=read_lag(progress.sources[0]),
            )
        )

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's
        """Nothing was read."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's
        """Nothing is left to tell."""


def read_lag(source: SourceProgress) -> int | None:
    """Return the records between the end of a micro-batch and that of the topic."""
    end = _read_offsets(source.endOffset)
    latest = _read_offsets(source.latestOffset)
    if end is None or latest is None:
        return None
    return sum(
        offset - end.get(topic, {}).get(partition, 0)
        for topic, partitions in latest.items()
        for partition, offset in partitions.items()
    )


def _read_offsets(text: str | None) -> dict[str, dict[str, int]] | None:
    """Return topic to partition to offset, or None.

    Of a source that has not looked at its topic yet, as after a restart in the middle
    of a micro-batch, Spark tells nothing, or words that are no JSON.
    """
    try:
        offsets = json.loads(text or "null")
    except ValueError:
        return None
    return offsets if isinstance(offsets, dict) else None
