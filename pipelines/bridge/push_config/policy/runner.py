"""Calls a policy beside the event loop, and never waits for it longer than allowed.

Strategy: a few daemon threads take jobs from a queue; outcomes come back to the loop
many at once. All jobs may take equally long, so one timer serves all. Whichever comes
first, outcome or timer, decides a push, and the other finds it decided. A late job is
not stopped, since a thread cannot be; when too many wait behind it, the newest are
passed over at once. Threads of concurrent.futures would keep the process from ending
while a policy blocks, hence threads of our own.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

from pipelines.bridge.push_config.config_counters import ClientConfigCounters

from .contract import (
    ClientConfigData,
    ClientConfigPolicy,
    PolicyContext,
    PolicyViolation,
)

logger = logging.getLogger(__name__)

Decide = Callable[[str | None], None]
"""Takes why a push is refused, or None where it is accepted; called once."""

MAX_WAITING_JOBS = 1_000
MAX_MESSAGE_LENGTH = 1_000
"""Characters of a policy's own text that a client is told."""
_MS = 1_000


class _Job:
    """One push for the policy, and what came of it."""

    __slots__ = (
        "context",
        "data",
        "deadline_s",
        "decide",
        "failure",
        "refusal",
        "took_ms",
    )

    def __init__(
        self,
        context: PolicyContext,
        data: ClientConfigData,
        decide: Decide,
        deadline_s: float,
    ) -> None:
        self.context = context
        self.data = data
        self.decide: Decide | None = decide
        self.deadline_s = deadline_s
        self.refusal: str | None = None
        self.failure = ""
        self.took_ms = 0.0

    def settle(self, refusal: str | None) -> bool:
        """Decide the push; False when that has happened before."""
        decide, self.decide = self.decide, None
        if decide is None:
            return False
        decide(refusal)
        return True


class PolicyRunner:
    """Owns one configured policy; lives and is called in one event loop."""

    def __init__(
        self,
        policy: ClientConfigPolicy,
        *,
        threads: int,
        timeout_ms: int,
        counters: ClientConfigCounters,
        max_waiting_jobs: int = MAX_WAITING_JOBS,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._policy = policy
        self._timeout_s = timeout_ms / _MS
        self._counters = counters
        self._max_waiting_jobs = max_waiting_jobs
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._unfinished = 0
        self._waiting: deque[_Job] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._outcomes: deque[_Job] = deque()
        self._is_wake_due = False
        self._logged: set[str] = set()
        self._threads = [
            threading.Thread(target=self._work, name=f"policy-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def run(
        self, context: PolicyContext, data: ClientConfigData, decide: Decide
    ) -> None:
        """Ask the policy about one push; decide is called once, in the loop."""
        if self._unfinished >= self._max_waiting_jobs:
            self._counters.skipped_policies += 1
            decide(None)
            return
        job = _Job(context, data, decide, self._loop.time() + self._timeout_s)
        self._waiting.append(job)
        self._set_timer()
        self._unfinished += 1
        self._jobs.put(job)

    async def close(self, timeout_s: float) -> None:
        """Let the policy finish and close it, within so long; else leave it."""
        closing = threading.Thread(target=self._close, name="policy-end", daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, timeout_s)
        self._take_outcomes()
        if self._timer is not None:
            self._timer.cancel()
        if closing.is_alive():
            logger.warning("the policy has not closed in %g s and is left", timeout_s)

    def _set_timer(self) -> None:
        if self._timer is None and self._waiting:
            deadline_s = self._waiting[0].deadline_s
            self._timer = self._loop.call_at(deadline_s, self._pass_over)

    def _pass_over(self) -> None:
        """Accept what has waited too long."""
        self._timer = None
        now_s = self._loop.time()
        while self._waiting and (
            self._waiting[0].decide is None or self._waiting[0].deadline_s <= now_s
        ):
            if self._waiting.popleft().settle(None):
                self._counters.late_policies += 1
        self._set_timer()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            started_s = time.perf_counter()
            job.refusal, job.failure = self._ask(job)
            job.took_ms = (time.perf_counter() - started_s) * _MS
            self._outcomes.append(job)
            if not self._is_wake_due:
                self._is_wake_due = True
                # The loop is closed when a policy comes back after the bridge's end.
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._take_outcomes)

    def _ask(self, job: _Job) -> tuple[str | None, str]:
        """Return why the policy refuses, or None, and the type of what it raised."""
        try:
            try:
                self._policy.process(job.context, job.data)
            except PolicyViolation as violation:
                text = str(violation)[:MAX_MESSAGE_LENGTH]
                return text.encode(errors="replace").decode(), ""
        except BaseException as error:  # noqa: BLE001 - whatever an operator's code raises stays here
            return None, type(error).__name__
        return None, ""

    def _take_outcomes(self) -> None:
        # Before the outcomes are taken: one that comes meanwhile wakes us again.
        self._is_wake_due = False
        while self._outcomes:
            self._finish(self._outcomes.popleft())
        while self._waiting and self._waiting[0].decide is None:
            self._waiting.popleft()

    def _finish(self, job: _Job) -> None:
        self._unfinished -= 1
        instance, failure = job.context.client_instance_id, job.failure
        self._counters.note_policy(instance, job.took_ms, has_failed=bool(failure))
        if failure and failure not in self._logged:
            # The text of the exception may hold a value; the type is enough to begin.
            self._logged.add(failure)
            logger.warning("the policy raised %s; later ones are only counted", failure)
        job.settle(job.refusal)

    def _close(self) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        try:
            self._policy.close()
        except BaseException as error:  # noqa: BLE001 - as in _work
            logger.warning("the policy raised %s as it closed", type(error).__name__)
