"""The proxy's ports: one for each broker, and one where clients find all brokers.

A port accepts connections only while its broker can be reached, so that clients of a
broker that is down are refused as they would be without a proxy. A broker is checked
when a connection to it fails or ends.
"""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Awaitable, Callable

from pipelines.bridge.front.listening import BACKLOG, bind_listener
from pipelines.bridge.proxy.rules.brokers import Address, Brokers
from pipelines.bridge.proxy.rules.plan import ProxyPlan
from pipelines.errors import MissingService

logger = logging.getLogger(__name__)

_PORT_KEYS = "proxy.listen_host, proxy.base_port or proxy.ports"
_CHECK_TIMEOUT_S = 2.0
_CHECK_PAUSE_S = 0.5
"""Between two checks of one broker."""
_UNREACHABLE = frozenset(
    {
        *(errno.ECONNREFUSED, errno.ECONNRESET, errno.ETIMEDOUT),
        *(errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETUNREACH),
    }
)
"""Errors of a connection that tell about the broker; others are the bridge's own."""
_BOOTSTRAP = None
"""Stands for the node id where clients find all brokers."""

Accept = Callable[[int | None, socket.socket], Awaitable[asyncio.Server]]
"""Accepts connections for a broker, or for any, at a socket that listens."""


class Ports:
    """The ports of one proxy; used in one event loop."""

    def __init__(
        self, plan: ProxyPlan, listen_host: str, *, is_shared: bool, accept: Accept
    ) -> None:
        """Start with no port.

        Args:
            plan: The number of each port.
            listen_host: Address to listen on.
            is_shared: Whether several processes listen on the same ports.
            accept: Called a little later for each port that is opened.
        """
        self._plan = plan
        self._listen_host = listen_host
        self._is_shared = is_shared
        self._accept = accept
        self.brokers = Brokers(plan.advertised_host, self._open_broker, self._name)
        """Which broker is where, and its port."""
        self._servers: dict[int | None, asyncio.Server] = {}
        self._numbers: dict[int | None, int] = {}
        """Ports that clients may know, so that each one is opened again as it was."""
        self._open: set[int | None] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._without_port: set[int | None] = set()
        """Whose port was not available; it is tried again."""
        self._suspected: set[int] = set()
        self._down: set[int] = set()
        self._checks: dict[int, asyncio.Task[None]] = {}
        self._is_over = False
        self.fault: MissingService | None = None
        """Why the last port that was not available was not."""

    def open_bootstrap(self) -> int:
        """Listen where clients find all brokers; return the port.

        Raises: MissingService.
        """
        return self._listen(_BOOTSTRAP, self._plan.base_port)

    async def wait_until_open(self) -> None:
        """Wait until each port that was opened accepts connections."""
        if self._opening:
            await asyncio.wait(self._opening)

    def open_missing(self) -> None:
        """Try the ports again that were not available."""
        for node_id in list(self._without_port):
            if node_id is _BOOTSTRAP:
                self._settle_bootstrap()
            elif node_id in self.brokers.known and node_id not in self._down:
                self._open_broker(node_id)
        # Other brokers may be known by now than those that were down.
        self._settle_bootstrap()

    def close_port(self, node_id: int | None) -> None:
        """Accept no more connections; those that were accepted go on."""
        self._open.discard(node_id)
        server = self._servers.pop(node_id, None)
        if server is not None:
            server.close()

    async def close(self) -> None:
        """Close all ports for good; connections that were accepted go on."""
        self._is_over = True
        checks = list(self._checks.values())
        for check in checks:
            check.cancel()
        for node_id in list(self._open):
            self.close_port(node_id)
        await asyncio.gather(*checks, return_exceptions=True)

    def suspect(self, node_id: int) -> None:
        """Check a broker whose connection has failed or ended."""
        self._suspected.add(node_id)
        if node_id not in self._checks and not self._is_over:
            check = asyncio.get_running_loop().create_task(self._check(node_id))
            self._checks[node_id] = check
            check.add_done_callback(lambda _: self._checks.pop(node_id))

    async def _check(self, node_id: int) -> None:
        """Keep the port of a broker closed while it cannot be reached."""
        while node_id in self._suspected:
            self._suspected.discard(node_id)
            for _, address in self.brokers.places_of(node_id):
                is_reached = await _is_reached(address)
                if is_reached:
                    self._note_up(node_id)
                    continue
                self._suspected.add(node_id)
                if is_reached is False:
                    self._note_down(node_id)
            await asyncio.sleep(_CHECK_PAUSE_S)
        # A broker that has left has no port, and gets one when it is back.
        self._down.discard(node_id)
        self._settle_bootstrap()

    def _note_down(self, node_id: int) -> None:
        if node_id not in self.brokers.known or node_id in self._down:
            return
        self._down.add(node_id)
        logger.warning(
            "Broker cannot be reached, port is closed: broker=%d port=%d",
            node_id,
            self.brokers.known[node_id].port,
        )
        self.close_port(node_id)
        self._settle_bootstrap()

    def _note_up(self, node_id: int) -> None:
        if node_id not in self._down:
            return
        self._down.discard(node_id)
        if node_id in self.brokers.known:
            self._open_broker(node_id)
        self._settle_bootstrap()

    def _settle_bootstrap(self) -> None:
        """Accept clients of all brokers only while one of them can be reached."""
        if _BOOTSTRAP not in self._numbers or self._is_over:
            return
        if self.brokers.known.keys() <= self._down:
            self.close_port(_BOOTSTRAP)
        elif _BOOTSTRAP not in self._open:
            self._try_to_listen(_BOOTSTRAP, self._numbers[_BOOTSTRAP])

    def _name(self, node_id: int) -> int:
        """Return the port that a broker has once it is there, without opening it."""
        port = self._numbers.get(node_id) or self._plan.port_of(node_id)
        if not port:
            with self._bind(0) as bound:
                port = bound.getsockname()[1]
            self._numbers[node_id] = port
        return port

    def _open_broker(self, node_id: int) -> int:
        """Listen for a broker at once; connections are accepted a little later."""
        # A broker that comes back has the port that clients know.
        wanted = self._numbers.get(node_id) or self._plan.port_of(node_id)
        return self._try_to_listen(node_id, wanted)

    def _try_to_listen(self, node_id: int | None, wanted: int) -> int:
        """Listen on a port, or try it again later; return the port."""
        if self._is_over:
            return wanted
        try:
            if node_id is not _BOOTSTRAP:
                self._plan.check_port(node_id, wanted, self.brokers.known)
            return self._listen(node_id, wanted)
        except MissingService as error:
            # The others must go on; this one's clients find nobody there.
            if node_id not in self._without_port:
                name = "bootstrap" if node_id is None else node_id
                logger.error("Opening a port failed: broker=%s error=%s", name, error)  # noqa: TRY400 - its text is for operators
            self._without_port.add(node_id)
            self.fault = error
            return wanted

    def _listen(self, node_id: int | None, wanted: int) -> int:
        bound = self._bind(wanted)
        bound.listen(BACKLOG)
        self._without_port.discard(node_id)
        port: int = bound.getsockname()[1]
        self._numbers[node_id] = port
        self._open.add(node_id)
        task = asyncio.get_running_loop().create_task(self._serve(node_id, bound))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)
        return port

    async def _serve(self, node_id: int | None, bound: socket.socket) -> None:
        try:
            server = await self._accept(node_id, bound)
        except BaseException:
            bound.close()
            raise
        if node_id not in self._open or node_id in self._servers:
            server.close()
            return
        self._servers[node_id] = server
        if node_id is not _BOOTSTRAP:
            host, port = bound.getsockname()[:2]
            logger.info("broker %d is reached by %s port %d", node_id, host, port)

    def _bind(self, port: int) -> socket.socket:
        return bind_listener(
            self._listen_host, port, keys=_PORT_KEYS, is_shared=self._is_shared
        )


async def _is_reached(address: Address) -> bool | None:
    """Return whether a broker accepts connections; None if the fault is our own."""
    try:
        async with asyncio.timeout(_CHECK_TIMEOUT_S):
            _, writer = await asyncio.open_connection(*address)
    except (TimeoutError, socket.gaierror, UnicodeError):
        return False
    except OSError as error:
        # Without a number it stands for several addresses, none of which answers.
        is_of_broker = error.errno is None or error.errno in _UNREACHABLE
        return False if is_of_broker else None
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
