"""What operators see of a running bridge: its metrics, its health and their pages."""

import asyncio
import contextlib
import logging
import platform
from collections.abc import AsyncIterator, Iterable, Sequence
from http import HTTPStatus

from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

import pipelines
from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.instance_metrics import WINDOW_S
from pipelines.bridge.core.parts import Part
from pipelines.bridge.front.listening import bind_listener
from pipelines.settings.records import BridgeSettings

from .logs import log_counters, log_unexpected
from .metrics import BridgeCollector, BridgeState
from .pages import HttpListener, Page

logger = logging.getLogger(__name__)

TICK_S = 0.5
REPORT_INTERVAL_S = 60.0
NO_HTTP_PORT = -1
_HTTP_KEYS = "bridge.http_host and bridge.http_port"


class BridgeWatch:
    """Reads what the parts of one bridge count, and serves it."""

    def __init__(
        self, bridge: BridgeSettings, counters: BridgeCounters, parts: Sequence[Part]
    ) -> None:
        """Serve nothing yet.

        Args:
            parts: Asked at each request for their metrics and readiness.
        """
        self._bridge, self._counters, self._parts = bridge, counters, parts
        self.is_stopping = False
        """Set it when no more clients are wanted; /readyz says so."""
        self.carries_data = False
        """Set it when clients reach another Kafka through this bridge: they need it
        whether the one that takes telemetry is there or not."""
        self.http_port: int | None = None
        """Where the pages are, while they are."""
        self.state = BridgeState(
            info={
                "version": pipelines.__version__,
                "python": platform.python_version(),
                "bridge_id": bridge.bridge_id,
            }
        )
        self._lag_s = self._lag_before_s = 0.0
        self._collector = BridgeCollector(counters, self._refresh, parts)
        self._process = ProcessCollector(registry=None)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve the pages, and write to the log, while the block runs.

        Raises: MissingService when the address of the pages cannot be had.
        """
        loop = asyncio.get_running_loop()
        before = loop.get_exception_handler()
        loop.set_exception_handler(self._note_unexpected)
        tasks = [
            asyncio.create_task(self._tick()),
            asyncio.create_task(self._report_counters()),
        ]
        try:
            async with self._listening():
                yield
        finally:
            for task in tasks:
                task.cancel()
            loop.set_exception_handler(before)

    @contextlib.asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        host, port = self._bridge.http_host, self._bridge.http_port
        if port == NO_HTTP_PORT:
            yield
            return
        pages = {
            "/metrics": self.make_metrics_page,
            "/healthz": self._make_health_page,
            "/readyz": self._make_ready_page,
        }
        http = HttpListener(pages)
        with bind_listener(host, port, keys=_HTTP_KEYS) as listener:
            self.http_port = listener.getsockname()[1]
            await http.start(listener)
            try:
                yield
            finally:
                http.close()

    @property
    def pages_url(self) -> str | None:
        """Address of the pages; None while there are none."""
        host, port = self._bridge.http_host, self.http_port
        return None if port is None else f"http://{host}:{port}/"

    def why_not_ready(self) -> str | None:
        """Return why clients had better go elsewhere; None when they need not."""
        if self.is_stopping:
            return "the bridge is stopping"
        # The reason of a later part is the more specific one.
        faults = (part.readiness().fault for part in reversed(self._parts))
        return next(filter(None, faults), None)

    async def make_metrics_page(self, accept: str = "") -> Page:
        """Return what Prometheus reads, as OpenMetrics where it asks for that."""
        # Read here, where nothing else runs; written to text where nothing waits for
        # it: a hundred client instances take milliseconds.
        families = [*self._collector.collect(), *self._process.collect()]
        try:
            encode, content_type = choose_encoder(accept)
        except TypeError:  # prometheus_client compares a version that is no number
            encode, content_type = choose_encoder("")
        body = await asyncio.to_thread(encode, Collected(families))
        return Page(status=HTTPStatus.OK, body=body, content_type=content_type)

    async def _make_health_page(self, _accept: str = "") -> Page:
        # Whoever reads it has seen the event loop turn.
        return Page(status=HTTPStatus.OK, body=b"ok\n")

    async def _make_ready_page(self, _accept: str = "") -> Page:
        reason = self.why_not_ready()
        if reason is None:
            notes = filter(None, (part.readiness().note for part in self._parts))
            text = ", ".join(["ready", *notes])
            return Page(status=HTTPStatus.OK, body=f"{text}\n".encode())
        if self.carries_data and not self.is_stopping:
            text = f"data passes, telemetry is refused: {reason}\n"
            return Page(status=HTTPStatus.OK, body=text.encode())
        return Page(status=HTTPStatus.SERVICE_UNAVAILABLE, body=f"{reason}\n".encode())

    def _refresh(self) -> BridgeState:
        state = self.state
        state.event_loop_lag_s = max(self._lag_s, self._lag_before_s)
        state.is_ready = self.why_not_ready() is None
        return state

    def _note_unexpected(self, _loop: object, context: dict[str, object]) -> None:
        self._counters.unexpected_errors += 1
        log_unexpected(context)

    async def _report_counters(self) -> None:
        while True:
            await asyncio.sleep(REPORT_INTERVAL_S)
            log_counters("bridge", self._counters)

    async def _tick(self) -> None:
        """Measure how late the event loop is, and begin windows."""
        loop = asyncio.get_running_loop()
        turned_s = loop.time()
        while True:
            due_s = loop.time() + TICK_S
            await asyncio.sleep(TICK_S)
            now_s = loop.time()
            self._lag_s = max(self._lag_s, now_s - due_s)
            if now_s - turned_s >= WINDOW_S:
                turned_s = now_s
                self._lag_before_s, self._lag_s = self._lag_s, 0.0


class Collected(Collector):
    """Families that have been read already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """Return them."""
        return self._families
