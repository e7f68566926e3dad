"""Connections of addresses that make too many: accepted, and begun later.

Strategy: a connection waits in front of whatever serves it, which is only made when the
time has come; so nothing behind it knows of waiting. It has its place among all
connections meanwhile. Where no address has a limit, nothing stands between.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.kafka_client.primitives import MalformedBytes

from .admission import Connections
from .delays import Delay, Delays

Make = Callable[[], asyncio.Protocol]
FindSource = Callable[[str, bytes], str | None]
"""Takes the peer's address and what it has sent; returns the address that counts.

Returns None where more must come first. Raises: MalformedBytes."""
_MAX_EARLY_BYTES = 65_536
_MS = 1_000


def find_peer(address: str, _early: bytes) -> str:
    """Return the peer's own address."""
    return address


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionRates:
    """How many connections an address may make; of all listeners together."""

    are_limited: Callable[[], bool]
    """Says whether any address has a limit."""
    connect: Callable[[str], int]
    """Records a connection, or returns for how many milliseconds it must wait."""
    connections: Connections
    delays: Delays
    counters: BridgeCounters

    def guard(self, make: Make, find_source: FindSource = find_peer) -> Make:
        """Return what makes the protocol of a connection that may have to wait.

        Args:
            make: Makes what serves it.
            find_source: Finds the address that counts.
        """

        def connect() -> asyncio.Protocol:
            if not self.are_limited():
                return make()
            return WaitingConnection(self, make, find_source)

        return connect


class WaitingConnection(asyncio.Protocol):
    """A connection that has not begun."""

    def __init__(
        self, rates: ConnectionRates, make: Make, find_source: FindSource
    ) -> None:
        self._rates = rates
        self._make = make
        self._find_source = find_source
        self._transport: asyncio.Transport
        self._early = b""
        self._delay: Delay | None = None
        self._is_admitted = False
        self._source: str | None = None
        self.address = ""
        self.heard_s = 0.0
        self.held_bytes = 0
        self.place = -1

    @property
    def is_owed(self) -> bool:
        """Whether it waits for us."""
        return self._delay is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note who has connected, and let it begin if it may."""
        self._transport, port = self._rates.connections.meet(self, transport)
        if port is None:
            return
        self._is_admitted = True
        self._rates.connections.begin_handshake(self)
        self._look()

    def data_received(self, data: bytes) -> None:
        """Keep what comes early."""
        self._early += data
        if self._delay is not None or len(self._early) > _MAX_EARLY_BYTES:
            # Reading may begin behind connection_made, though told not to there.
            self._transport.pause_reading()
        if self._delay is None and self._is_admitted:
            self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection that has not waited long enough."""
        del exc
        if self._is_admitted:
            self._rates.connections.forget(self)
        if self._delay is not None:
            self._rates.delays.give_up(self._delay)

    def drain(self) -> None:
        """Close at once: nothing is owed."""
        self.abort()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def _look(self) -> None:
        """Let it begin if it may now, else let it wait."""
        self._delay = None
        rates = self._rates
        if self._transport.is_closing():
            return
        try:
            source = self._source or self._find_source(self.address, self._early)
        except MalformedBytes:
            # Whoever serves it says so, and counts it.
            self._begin()
            return
        if source is None:
            return
        rates.connections.end_handshake(self)
        wait_ms = rates.connect(source)
        if not wait_ms:
            self._begin()
            return
        if self._source is None:
            self._source = source
            rates.counters.delayed_connections += 1
            self._transport.pause_reading()
        due_s = rates.delays.now_s() + wait_ms / _MS
        self._delay = rates.delays.push(due_s, self._look)

    def _begin(self) -> None:
        """Hand the connection over to what serves it."""
        self._is_admitted = False
        self._rates.connections.forget(self)
        served, early = self._make(), self._early
        self._transport.resume_reading()
        self._transport.set_protocol(served)
        served.connection_made(self._transport)
        if early and not self._transport.is_closing():
            served.data_received(early)
