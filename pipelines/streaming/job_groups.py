"""Several streaming jobs in one driver, each with a checkpoint location of its own.

Each waits in a thread of its own for the end of its query, and starts it again alone,
after a while that doubles. What refuses to start is not tried again: that takes a
person. Of what ends by itself only the start can tell whether it may go on, so that is
asked. The driver ends with its JVM, and where no job is left.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event, Lock
from time import monotonic

from pyspark import InheritableThread
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.errors import (
    FullDisk,
    MissingService,
    MissingTable,
    PipelineError,
    TooManyConflicts,
    UncreatedTopic,
)
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader

from .job_runs import StartJob, run_to_end
from .run_stream import JobRun, RunIsEnding
from .start_records import Ledger

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
"""Before a job is started again; it doubles from the first to the longest."""
STEADY_S = 600.0
"""A job that has run so long begins with the first pause again."""
DRAIN_S = 30.0
"""Longest wait, at the end, for micro-batches that are being written."""
RELEASE_S = 10.0
"""Longest wait, behind that, for jobs to give their tables back."""
FIRST_BATCH_S = 30.0
"""Longest wait of a first start for the first micro-batch of the one before it."""
_LOOK_S = 1.0
_WAITS = "Waiting for"
"""Data or the next trigger, as Spark says of a query between its looks at a topic."""
PASSING = (FullDisk, MissingService, TooManyConflicts)
"""What keeps a job from its start and may be over by itself."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedJob:
    """One job of a group."""

    spark: SparkSession
    """A session of its own: who tells of micro-batches hears of all of a session's."""
    ledger: Ledger
    start: StartJob
    """Starts its query, for one run."""
    is_required: bool = False
    """Whether a topic that was never created is an error when all jobs run once."""

    @property
    def name(self) -> str:
        """Return the name of the job."""
        return self.ledger.job_name


@dataclass(slots=True)
class Pauses:
    """How long to wait before a job is started again."""

    _next_s: float = FIRST_PAUSE_S

    def take(self, ran_s: float) -> float:
        """Return the seconds to wait.

        Args:
            ran_s: How long the job has run.
        """
        pause_s = FIRST_PAUSE_S if ran_s >= STEADY_S else self._next_s
        self._next_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return pause_s


def takes_a_person(error: Exception, *, has_run: bool) -> bool:
    """Say whether a job must not be started again by itself.

    A table that was deleted below a running job would be made anew, empty, in a place
    where somebody may want to put a copy.

    Args:
        error: What has ended it.
        has_run: Whether its query was started before.
    """
    if has_run:
        return isinstance(error, MissingTable)
    return isinstance(error, PipelineError) and not isinstance(error, PASSING)


class EndedByItself(PipelineError):
    """Raised for a query that has ended as if it had been stopped."""


@dataclass(frozen=True, slots=True)
class _End:
    """Why a job is not started again."""

    error: Exception | None
    """Null where it has done all that was asked."""
    is_of_driver: bool = False
    """Whether no other job can go on either."""
    skipped: str | None = None
    """Name of a job whose topic was never created; null if its query was started."""


class JobGroup:
    """The jobs of one driver; it is run once."""

    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        secrets: SecretReader,
        *,
        is_once: bool,
        accepts_data_loss: bool,
        describe: Callable[[Exception], str],
        on_end: Callable[[str, Exception], None] = lambda *_: None,
    ) -> None:
        """Start nothing yet.

        Args:
            secrets: Reads the secrets of the Kafka connection.
            is_once: Whether each job ends when all is read; then none starts again.
            accepts_data_loss: Whether the first start of each may go on behind records
                that Kafka no longer has; what is lost later is another decision.
            describe: Says in a sentence what is no error of ours.
            on_end: Told of a job that has ended, or did not start, and why.
        """
        self._spark, self._settings, self._secrets = spark, settings, secrets
        self._is_once, self._accepts = is_once, accepts_data_loss
        self._describe, self._on_end = describe, on_end
        self.skipped: list[str] = []
        """Names of the jobs that were skipped."""
        self._runs: dict[str, JobRun] = {}
        self._is_ending = Event()
        self._turn = Lock()
        """Held by a start and its first micro-batch: side by side each would take as
        long as all of them together."""
        self._first_starts: dict[str, Event] = {}
        """Job to whether its first start is over, in the order of the jobs."""
        self._ends: SimpleQueue[_End] = SimpleQueue()

    def run(self, jobs: Sequence[GroupedJob]) -> None:
        """Run jobs until none is left, or until the caller is interrupted.

        Raises: What has ended the first one that was not started again, where none is
            left; where the JVM is gone, what told so.
        """
        self._first_starts = {job.name: Event() for job in jobs}
        threads = [
            InheritableThread(target=self._keep, args=(job,), name=job.name)
            for job in jobs
        ]
        for thread in threads:
            thread.daemon = True
            thread.start()
        failures = []
        try:
            # The main thread makes no call to the JVM that a signal could cut off.
            for _ in jobs:
                end = self._ends.get()
                if end.error is not None:
                    failures.append(end.error)
                if end.skipped is not None:
                    self.skipped.append(end.skipped)
                if end.is_of_driver:
                    break
        except BaseException:
            self.end()
            until = monotonic() + RELEASE_S
            for thread in threads:
                thread.join(max(0.0, until - monotonic()))
            raise
        if failures:
            raise failures[-1 if end.is_of_driver else 0]

    def end(self) -> None:
        """Let each micro-batch that is being written end, then end the queries."""
        until = monotonic() + DRAIN_S
        self._is_ending.set()
        for run in [*self._runs.values()]:
            run.is_warm.set()  # so that nobody waits for it
        for is_over in self._first_starts.values():
            is_over.set()
        with _held(self._turn, until):  # of no start that is on its way
            runs = list(self._runs.values())
        for run in runs:
            run.is_ending = True
        for run in runs:
            with _held(run.batch, until):
                pass
            # Of a JVM that ends as well, or of a query that has ended.
            with suppress(Exception):
                if run.query is not None:
                    run.query.stop()

    def _keep(self, job: GroupedJob) -> None:
        """Run a job again and again, and say what has ended it for good."""
        try:
            end = self._run_again(job)
        except Exception as error:  # noqa: BLE001 - told by the main thread
            end = _End(error)
        finally:
            self._first_starts[job.name].set()
        self._ends.put(end)

    def _run_again(self, job: GroupedJob) -> _End:
        pauses, told, accepts = Pauses(), "", self._accepts
        while True:
            began, run = monotonic(), JobRun(accepts_data_loss=accepts)
            error = self._run_once(job, run)
            has_run = run.query is not None
            if self._is_ending.is_set() or error is None:
                return _End(None)
            may_skip = self._is_once and not job.is_required
            if may_skip and isinstance(error, UncreatedTopic):
                _logger.info("Skipped %s: %s", job.name, error)
                return _End(None, skipped=job.name)
            if self.has_driver_ended():
                return _End(error, is_of_driver=True)
            sentence = self._tell(error)
            self._on_end(job.name, error)
            if self._is_once or takes_a_person(error, has_run=has_run):
                _logger.error("%s is not started again: %s", job.name, sentence)
                return _End(error)
            accepts = accepts and not has_run
            pause_s = pauses.take(monotonic() - began)
            # What is the same at each attempt is said once.
            is_news = has_run or sentence != told
            _logger.log(
                logging.WARNING if is_news else logging.DEBUG,
                "%s has ended, and starts again in %.0f s: %s",
                job.name,
                pause_s,
                sentence,
            )
            told = sentence
            if self._is_ending.wait(pause_s):
                return _End(None)

    def _run_once(self, job: GroupedJob, run: JobRun) -> Exception | None:
        """Run a job to the end of its query; return what has ended it.

        Nulls: None where it has done what it was asked.
        """
        is_over = self._first_starts[job.name]

        def start(job_run: JobRun) -> StreamingQuery:
            self._await_turn(job.name)
            with self._turn:
                if self._is_ending.is_set():
                    raise RunIsEnding
                self._runs[job.name] = job_run
                try:
                    job_run.query = job.start(job_run)
                    if not is_over.is_set():
                        _await_first_batch(job_run)
                finally:
                    is_over.set()
            return job_run.query

        try:
            run_to_end(
                job.spark,
                self._settings,
                self._secrets,
                job.ledger,
                start,
                job_run=run,
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, others go on
            return error
        if self._is_once or self._is_ending.is_set():
            return None
        return EndedByItself("its query has ended without a word of why")

    def _await_turn(self, name: str) -> None:
        """Wait until the first starts of all jobs before this one are over."""
        for other, is_over in self._first_starts.items():
            if other == name:
                return
            is_over.wait()

    def has_driver_ended(self) -> bool:
        """Return whether the JVM of all jobs is gone."""
        try:
            _ = self._spark.sparkContext.defaultParallelism
        except Exception:  # noqa: BLE001 - of each layer another one
            return True
        return False

    def _tell(self, error: Exception) -> str:
        return str(error) if isinstance(error, PipelineError) else self._describe(error)


def _await_first_batch(run: JobRun) -> None:
    """Wait for a query's first micro-batch, unless it has nothing to read or ended."""
    until, query = monotonic() + FIRST_BATCH_S, run.query
    while query is not None and not run.is_warm.wait(_LOOK_S):
        is_idle = query.status["message"].startswith(_WAITS)
        if is_idle or not query.isActive or monotonic() > until:
            return


@contextmanager
def _held(lock: Lock, until: float) -> Iterator[None]:
    """Hold a lock, but wait for it no longer than until then."""
    is_held = lock.acquire(timeout=max(0.0, until - monotonic()))
    try:
        yield
    finally:
        if is_held:
            lock.release()
