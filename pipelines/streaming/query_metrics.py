"""Figures of streaming queries for Prometheus, taken from what Spark tells listeners.

Spark's own servlet has neither lag nor quarantine, needs the UI, and names metrics by
the id of the application: see decision 96. A query that has ended keeps its figures,
with `up` 0, while its driver lives; a driver that is gone is a target that is down.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from pipelines.errors import MissingTopic

from .progress import MS_PER_S, BatchProgress, ProgressObserver, log_batch, read_lag

PREFIX = "kafka_clientele_query"
QUERY_LABEL = "query"
_WRITTEN = "addBatch"
"""The phase that only a micro-batch has."""
_BUCKETS_S = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300)


class QueryMetrics(StreamingQueryListener):
    """The figures of the queries of one session; it may have several."""

    def __init__(
        self,
        registry: CollectorRegistry,
        query_names: Iterable[str],
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """Declare the figures.

        Args:
            registry: Where they are read.
            query_names: Of the queries that are shown, from before they start.
            now_s: Seconds since 1970.
        """
        self._now_s = now_s
        self._names_by_run: dict[str, str] = {}
        self._started: set[str] = set()

        def gauge(name: str, help_text: str) -> Gauge:
            return Gauge(
                f"{PREFIX}_{name}", help_text, [QUERY_LABEL], registry=registry
            )

        def counter(name: str, help_text: str, *more: str) -> Counter:
            labels = [QUERY_LABEL, *more]
            return Counter(f"{PREFIX}_{name}", help_text, labels, registry=registry)

        self._up = gauge("up", "1 while the query runs, 0 before and after")
        self._lag = gauge(
            "lag_records", "Records behind its newest micro-batch when that began"
        )
        self._committed = gauge(
            "last_batch_timestamp_seconds", "When a micro-batch was last written"
        )
        self._seen = gauge(
            "last_sign_timestamp_seconds", "When it last wrote, or found nothing to do"
        )
        self._without_topic = gauge(
            "waits_for_topic", "1 while it does not run since its topic is not there"
        )
        self._starts = counter("starts", "Times that it was started")
        self._failures = counter("failures", "Times that it ended by a fault")
        self._batches = counter("batches", "Micro-batches that were written")
        self._records = counter("records", "Records that were read")
        self._rows = counter("rows", "Rows written of what the job is for")
        self._quarantined = counter("quarantined_records", "Records put to quarantine")
        self._phases = counter(
            "phase_seconds", "Seconds of micro-batches, by Spark's phases", "phase"
        )
        self._durations = Histogram(
            f"{PREFIX}_batch_seconds",
            "Seconds of a micro-batch, from the look at the topic to the commit",
            [QUERY_LABEL],
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self._names = frozenset(query_names)
        for name in self._names:
            self._declare(name)

    def _declare(self, name: str) -> None:
        """Show what is known of a query from the start: zeros, but no times."""
        for one in (
            *(self._up, self._without_topic, self._starts, self._failures),
            self._batches,
            *(self._records, self._rows, self._quarantined, self._durations),
        ):
            one.labels(name)

    def note_end(self, query_name: str, error: Exception) -> None:
        """Take why a query has ended, or was not started."""
        is_without = isinstance(error, MissingTopic)
        self._without_topic.labels(query_name).set(is_without)

    def has_started(self, query_name: str) -> bool:
        """Say whether a query was ever started here."""
        return query_name in self._started

    def observe(self, query_name: str) -> ProgressObserver:
        """Return what is told of a query's micro-batches; it logs them as well."""

        def note(progress: BatchProgress) -> None:
            log_batch(progress)
            self._rows.labels(query_name).inc(progress.rows)
            self._quarantined.labels(query_name).inc(progress.quarantined)

        return note

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's
        """Note that a query runs."""
        if event.name in self._names:
            self._names_by_run[str(event.runId)] = event.name
            self._started.add(event.name)
            self._up.labels(event.name).set(1)
            self._without_topic.labels(event.name).set(0)
            self._starts.labels(event.name).inc()
            self._sign(event.name)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's
        """Count a micro-batch."""
        progress = event.progress
        name = progress.name
        if name not in self._names:
            return
        self._sign(name)
        if _WRITTEN not in progress.durationMs:
            return  # of a trigger without a micro-batch
        self._committed.labels(name).set(self._now_s())
        self._batches.labels(name).inc()
        self._records.labels(name).inc(progress.numInputRows)
        self._durations.labels(name).observe(progress.batchDuration / MS_PER_S)
        for phase, duration_ms in progress.durationMs.items():
            self._phases.labels(name, phase).inc(duration_ms / MS_PER_S)
        lag = read_lag(progress.sources[0])
        if lag is not None:
            self._lag.labels(name).set(lag)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's
        """Note that a query lives and finds nothing to do."""
        with suppress(KeyError):  # of a query that is not shown
            self._sign(self._names_by_run[str(event.runId)])

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's
        """Note that a query has ended, and whether by a fault."""
        name = self._names_by_run.pop(str(event.runId), None)
        if name is None:
            return
        # Spark tells of starts at once, and of ends when it comes to that.
        if name not in self._names_by_run.values():
            self._up.labels(name).set(0)
        if event.exception is not None:
            self._failures.labels(name).inc()

    def _sign(self, name: str) -> None:
        self._seen.labels(name).set(self._now_s())
