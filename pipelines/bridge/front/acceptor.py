"""The listeners' connections: made as they come, watched, and ended in order."""

import asyncio
import itertools
import logging
import resource
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import partial
from typing import Protocol

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import RequestHandlers
from pipelines.bridge.security.distinguished_names import format_distinguished_name
from pipelines.bridge.security.principal_rules import PrincipalRules
from pipelines.bridge.security.security_files import SecurityFiles
from pipelines.settings.listener_records import LimitSettings, ListenerSettings
from pipelines.settings.records import Settings

from .admission import SWEEP_INTERVAL_S, Connections
from .connection_rates import ConnectionRates
from .delays import Delays
from .listening import BACKLOG, LISTENER_KEYS, not_available
from .secure_transport import SecureConnection, Security
from .transport import BridgeConnection, Endpoint
from .turn_queue import TurnQueue

logger = logging.getLogger(__name__)

_OWN_FILES = 100
"""Open files that are no connections: Kafka's, logs, libraries."""
_DEFAULT_CONNECTIONS: int = next(
    one.metadata["default"]
    for one in fields(LimitSettings)
    if one.name == "max_connections"
)
_FEW_CONNECTIONS = 1_000
_LAST_REPLIES_S = 1.0
_CHECKING_THREADS = 2


def raise_open_files() -> int:
    """Let this process open as many files as it may; return how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard in {soft, resource.RLIM_INFINITY}:
        return soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def bound_connections(limits: LimitSettings, most: int) -> LimitSettings:
    """Return limits with no more connections than this process can open files for.

    Log a warning if somebody has asked for more, or if there are few of them. The
    default is only an upper bound.
    """
    wanted = limits.max_connections
    if wanted <= most:
        return limits
    if wanted != _DEFAULT_CONNECTIONS or most < _FEW_CONNECTIONS:
        logger.warning(
            "Lowered limits.max_connections from %d to %d, because this process may "
            "not open more files. Raise its limit of open files (ulimit -n)",
            *(wanted, most),
        )
    return replace(limits, max_connections=most)


class LimitsOfAddresses(Protocol):
    """What is needed of quotas."""

    def are_addresses_limited(self) -> bool:
        """Say whether connect may say anything but 0."""

    def connect(self, address: str) -> int:
        """Record a connection, or return for how many milliseconds it must wait."""


class _NoLimits:
    """Where no quotas are kept."""

    def are_addresses_limited(self) -> bool:
        return False

    def connect(self, _address: str) -> int:
        return 0


class Clients:
    """All connections of all listeners; lives in one event loop."""

    def __init__(
        self,
        settings: Settings,
        security: SecurityFiles,
        counters: BridgeCounters,
        open_files: int,
        limits_of_addresses: LimitsOfAddresses | None = None,
    ) -> None:
        """Start with nobody.

        Args:
            security: What clients are checked against.
            counters: Where it is counted who came and why they left.
            open_files: How many files this process may open.
            limits_of_addresses: How many connections they may make; None: any.
        """
        # Behind the proxy, each has a connection to its broker.
        files = 2 if settings.proxy.enabled else 1
        most = max((open_files - _OWN_FILES) // files, 1)
        limits = bound_connections(settings.limits, most)
        self._settings = settings
        self._security = security
        self._counters = counters
        self._is_empty = asyncio.Event()
        self.connections = Connections(
            limits, counters, time.monotonic, on_empty=self._is_empty.set
        )
        loop = asyncio.get_running_loop()
        self._handshakes = TurnQueue(loop.call_soon, time.monotonic)
        self._turns = TurnQueue(loop.call_soon, time.monotonic)
        self.delays = Delays(loop.call_at, loop.time, self._turns.push)
        quotas = limits_of_addresses or _NoLimits()
        self.rates = ConnectionRates(
            are_limited=quotas.are_addresses_limited,
            connect=quotas.connect,
            connections=self.connections,
            delays=self.delays,
            counters=counters,
        )
        """Put it around what makes the protocol of a connection."""
        self._executor = ThreadPoolExecutor(_CHECKING_THREADS, "passwords")
        self.connection_ids = itertools.count(1)
        """Ids of connections to come; each is given once."""
        self._servers: list[asyncio.Server] = []

    async def listen(
        self,
        listener: ListenerSettings,
        handlers: RequestHandlers,
        bound: socket.socket,
    ) -> None:
        """Accept connections of one listener, until the end of all.

        Raises: MissingService when another program listens there already.
        """
        endpoint = Endpoint(
            listener=listener.name,
            handlers=handlers,
            connections=self.connections,
            counters=self._counters,
            handshakes=self._handshakes,
            turns=self._turns,
            delays=self.delays,
            max_request_bytes=self._settings.bridge.max_request_bytes,
        )
        if listener.security_protocol == "PLAINTEXT":

            def connect() -> BridgeConnection:
                return BridgeConnection(next(self.connection_ids), endpoint)
        else:
            security = self._secure(listener, handlers)

            def connect() -> BridgeConnection:
                return SecureConnection(next(self.connection_ids), endpoint, security)

        loop = asyncio.get_running_loop()
        try:
            self._servers.append(
                await loop.create_server(
                    self.rates.guard(connect), sock=bound, backlog=BACKLOG
                )
            )
        except OSError as error:
            # It was bound before either of them listened.
            host, port = bound.getsockname()[:2]
            raise not_available(host, port, LISTENER_KEYS, error) from None

    def _secure(
        self, listener: ListenerSettings, handlers: RequestHandlers
    ) -> Security:
        protocol, files = listener.security_protocol, self._security
        rules = PrincipalRules(listener.ssl_principal_mapping_rules)
        sasl = files.sasl_rules(listener, handlers.apis)
        return Security(
            tls_context=(
                partial(files.context, listener.name)
                if protocol.endswith("SSL")
                else None
            ),
            find_principal=lambda subject: rules.find_name(
                format_distinguished_name(subject)
            ),
            sasl=sasl if protocol.startswith("SASL_") else None,
            executor=self._executor,
            max_request_bytes=self._settings.limits.max_unauthenticated_request_bytes,
            failed_delay_ms=self._settings.authentication.failed_delay_ms,
        )

    async def keep_watch(self) -> None:
        """Cut off who is overdue, once a second, until this task is cancelled."""
        refused = 0
        while True:
            await asyncio.sleep(SWEEP_INTERVAL_S)
            self.connections.sweep()
            if self._counters.refused_connections > refused:
                logger.warning(
                    "%d connections refused: %d are open; see [limits] max_connections "
                    "and max_connections_per_address",
                    self._counters.refused_connections - refused,
                    len(self.connections),
                )
                refused = self._counters.refused_connections

    async def drain(self, timeout_s: float, refuse_waiting: Callable[[], None]) -> None:
        """Accept nobody any more, and close each connection when it is owed nothing.

        Clients written in Java before 4.2 never push again when their connection
        drops while a push is in flight. So a push that Kafka has not acknowledged in
        time is refused, which they survive, before its connection is closed.

        Args:
            timeout_s: How long pushes in flight may take.
            refuse_waiting: Refuses them.
        """
        for server in self._servers:
            server.close()
        self.connections.refuse_new()
        self._executor.shutdown(wait=False, cancel_futures=True)
        for connection in self.connections:
            connection.drain()
        if await self._is_empty_within(timeout_s):
            return
        refuse_waiting()
        if await self._is_empty_within(_LAST_REPLIES_S):
            return
        for connection in self.connections:
            connection.abort()
        # So that each of them is told to its handlers and counted.
        await self._is_empty_within(_LAST_REPLIES_S)

    async def _is_empty_within(self, timeout_s: float) -> bool:
        if not len(self.connections):
            return True
        self._is_empty.clear()
        try:
            async with asyncio.timeout(timeout_s):
                await self._is_empty.wait()
        except TimeoutError:
            return False
        return True
