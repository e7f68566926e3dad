"""Several bridge processes on the same addresses, which share nothing.

Strategy: this process takes the addresses, so that their ports are known, and forks;
each worker listens on them with SO_REUSEPORT, and the system spreads connections. A
SubscriptionId is computed and not stored, so any worker takes a push that another one
has answered a GET for. A worker that dies is started again; one that cannot start ends
all of them, and so does the end of this process, however it ends.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from pipelines.bridge.front.listening import bind_all, plan_listeners
from pipelines.settings.cluster_settings import OFF
from pipelines.settings.records import Settings

logger = logging.getLogger(__name__)

RESTART_PAUSE_S = 1.0
_READY = b"r"

OnReady = Callable[[str, int], None]
RunWorker = Callable[[Settings, OnReady], int]
"""Runs one bridge until a signal ends it; returns its exit code."""


def run_workers(settings: Settings, run_worker: RunWorker, on_ready: OnReady) -> int:
    """Run `bridge.workers` processes until SIGTERM or SIGINT; return an exit code.

    Args:
        run_worker: Called in each process that is forked; nothing may have started a
            thread before.
        on_ready: Called with host and port of the first listener once every worker
            takes connections.
    Raises: InvalidSetting, MissingService.
    """
    listeners = plan_listeners(settings)
    with ExitStack() as reserved:
        sockets = [
            reserved.enter_context(one) for one in bind_all(listeners, is_shared=True)
        ]
        ports = [one.getsockname()[1] for one in sockets]
        return _Workers(with_ports(settings, ports), run_worker).run(
            lambda: on_ready(listeners[0].host, ports[0])
        )


def with_ports(settings: Settings, ports: list[int]) -> Settings:
    """Return settings whose listeners have these ports."""
    if not settings.listeners:
        return replace(settings, bridge=replace(settings.bridge, listen_port=ports[0]))
    listeners = [
        replace(listener, port=port)
        for listener, port in zip(settings.listeners, ports, strict=True)
    ]
    return replace(settings, listeners=tuple(listeners))


def worker_settings(settings: Settings, number: int) -> Settings:
    """Return the settings of one worker: its own name, and its own port for metrics."""
    bridge = settings.bridge
    is_fixed = bridge.http_port > 0
    return replace(
        settings,
        bridge=replace(
            bridge,
            bridge_id=f"{bridge.bridge_id}-{number}",
            http_port=bridge.http_port + number if is_fixed else bridge.http_port,
        ),
        # One process of a bridge is enough to compete for the feed.
        cluster=replace(settings.cluster, source=OFF) if number else settings.cluster,
    )


class _Workers:
    """The processes, by their ids."""

    def __init__(self, settings: Settings, run_worker: RunWorker) -> None:
        self._settings = settings
        self._run_worker = run_worker
        self._numbers: dict[int, int] = {}
        """Process id to the worker's number."""
        self._is_stopping = False
        self._life, self._end_of_life = os.pipe()
        """Nothing is ever written there; it ends with this process."""

    def run(self, on_ready: Callable[[], None]) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._forward)
        pipes = [self._start(n) for n in range(self._settings.bridge.workers)]
        has_started = all([os.read(pipe, 1) == _READY for pipe in pipes])  # noqa: C419 - each is waited for
        for pipe in pipes:
            os.close(pipe)
        if has_started:
            on_ready()
        else:
            self._stop(signal.SIGTERM)
        return self._wait()

    def _start(self, number: int) -> int:
        """Fork one worker; return what it says on that it is ready."""
        reading, writing = os.pipe()
        process_id = os.fork()
        if process_id:
            os.close(writing)
            self._numbers[process_id] = number
            # A signal that came meanwhile has not reached this one.
            if self._is_stopping:
                os.kill(process_id, signal.SIGTERM)
            return reading
        os.close(reading)
        os.close(self._end_of_life)
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, signal.SIG_DFL)
        threading.Thread(target=_end_with, args=(self._life,), daemon=True).start()
        exit_code = 1
        try:
            exit_code = self._run_worker(
                worker_settings(self._settings, number),
                lambda _host, _port: _say_ready(writing),
            )
        finally:
            # Nothing of the parent's is to run here.
            os._exit(exit_code)

    def _wait(self) -> int:
        """Wait for all of them, starting again what dies; return the first fault."""
        result = 0
        while self._numbers:
            process_id, status = os.wait()
            number = self._numbers.pop(process_id, None)
            if number is None:
                continue
            exit_code = os.waitstatus_to_exitcode(status)
            if self._is_stopping:
                result = result or max(exit_code, 0)
                continue
            logger.error("bridge worker %d has ended (%d)", number, exit_code)
            time.sleep(RESTART_PAUSE_S)
            if not self._is_stopping:
                os.close(self._start(number))
        return result

    def _forward(self, number: int, _frame: object) -> None:
        self._stop(number)

    def _stop(self, number: int) -> None:
        self._is_stopping = True
        for process_id in self._numbers:
            os.kill(process_id, number)


def _say_ready(pipe: int) -> None:
    try:
        os.write(pipe, _READY)
    except BrokenPipeError:
        return  # A worker that was started again: nobody waits for it.
    finally:
        os.close(pipe)


def _end_with(life: int) -> None:
    """Stop this worker in order once its parent is gone."""
    os.read(life, 1)
    os.kill(os.getpid(), signal.SIGTERM)
