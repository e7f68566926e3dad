"""What each micro-batch of a query took: wall clock, and CPU of all its processes."""

import os
import threading
import time
from collections import Counter
from dataclasses import dataclass

from pyspark.sql.streaming.listener import StreamingQueryListener

from tests.bench.process_tree import cpu_seconds

PATIENCE_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One micro-batch with records."""

    records: int
    wall_s: float
    """From the end of the one before, or from the start of the query."""
    cpu_s: float
    """Driver, JVM and Python workers, in the same time."""
    phases: dict
    """Milliseconds, as Spark names and measures them."""
    steps: Counter
    """CPU-seconds up to each point that the job tells."""


class BatchMarks(StreamingQueryListener):
    """Notes the end of each micro-batch as Spark tells it, a moment later."""

    def __init__(self, spark):
        self._spark = spark
        self.batches = []
        self._steps = Counter()
        self._is_over = threading.Event()

    def __enter__(self):
        self._spark.streams.addListener(self)
        self._last = self._step = self._read()
        return self

    def __exit__(self, *_):
        assert self._is_over.wait(PATIENCE_S)
        self._spark.streams.removeListener(self)

    def _read(self):
        return time.perf_counter(), cpu_seconds(os.getpid())

    def observe(self, point, _rows):
        """Take a point of a micro-batch from the job."""
        now = self._read()
        self._steps[point] += now[1] - self._step[1]
        self._step = now

    def onQueryStarted(self, event):  # noqa: N802 - Spark's
        pass

    def onQueryProgress(self, event):  # noqa: N802 - Spark's
        if not event.progress.numInputRows:
            return
        now = self._read()
        self.batches.append(
            Batch(
                records=event.progress.numInputRows,
                wall_s=now[0] - self._last[0],
                cpu_s=now[1] - self._last[1],
                phases=dict(event.progress.durationMs),
                steps=self._steps,
            )
        )
        self._last, self._steps = now, Counter()

    def onQueryIdle(self, event):  # noqa: N802 - Spark's
        pass

    def onQueryTerminated(self, _event):  # noqa: N802 - Spark's
        self._is_over.set()
