"""Everyone who is connected: limits, timeouts, and the end of all.

Strategy: no timer and no bookkeeping for a request that comes whole. A connection is
on a list only while it owes something: its handshake, the rest of a request, or the
reading of replies. Each list is in the order in which that began, so that a look at
its head once a second finds who is overdue. Silence is found by looking at a part of
all connections each second. The clock is an argument.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Protocol, cast

from pipelines.bridge.core.client_identity import address_text
from pipelines.bridge.core.counters import BridgeCounters
from pipelines.settings.listener_records import LimitSettings

SWEEP_INTERVAL_S = 1.0
_IDLE_ROUNDS = 10
"""How often each connection is looked at in one idle timeout."""
_MS = 1_000


class WatchedConnection(Protocol):
    """What is asked of a connection here."""

    place: int
    """Its place among all; set here."""
    heard_s: float
    """When the peer last sent anything, to the second."""
    held_bytes: int
    """Bytes of a request half received; set here."""
    address: str

    @property
    def is_owed(self) -> bool:
        """Whether requests wait for their replies."""

    def abort(self) -> None:
        """Close without waiting for the peer."""

    def drain(self) -> None:
        """Close as soon as nothing is owed."""


_Since = OrderedDict[WatchedConnection, float]


class Connections:
    """All connections of a bridge, over all listeners."""

    def __init__(
        self,
        limits: LimitSettings,
        counters: BridgeCounters,
        now_s: Callable[[], float],
        *,
        on_empty: Callable[[], None] = lambda: None,
    ) -> None:
        """Start with nobody.

        Args:
            limits: Numbers and times that are allowed.
            counters: Where each connection that is cut off is counted.
            now_s: A clock that never steps back, in seconds.
            on_empty: Called when the last connection is gone.
        """
        self._limits = limits
        self._counters = counters
        self._now_s = now_s
        self._on_empty = on_empty
        self.now_s = now_s()
        """The time of the last sweep; cheap to read."""
        self._all: list[WatchedConnection] = []
        self._per_address: dict[str, int] = {}
        self._shaking_hands: _Since = OrderedDict()
        self._half_received: _Since = OrderedDict()
        self._not_read: _Since = OrderedDict()
        self._held_bytes = 0
        self._next_look = 0
        self._is_over = False

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[WatchedConnection]:
        return iter(list(self._all))

    @property
    def held_bytes(self) -> int:
        """Bytes of requests half received, over all connections."""
        return self._held_bytes

    def refuse_new(self) -> None:
        """Admit no connection from now on.

        A connection that was accepted just before its listener closed would otherwise
        stay open after all others are closed.
        """
        self._is_over = True

    def meet(
        self, connection: WatchedConnection, transport: asyncio.BaseTransport
    ) -> tuple[asyncio.Transport, int | None]:
        """Note the address of a new connection, and admit or abort it.

        Returns: Its transport, and the port of its peer; no port if it was aborted.
        """
        stream = cast("asyncio.Transport", transport)
        host, port = (transport.get_extra_info("peername") or ("", 0))[:2]
        connection.address = address_text(host)
        if self.admit(connection):
            return stream, port
        stream.abort()
        return stream, None

    def admit(self, connection: WatchedConnection) -> bool:
        """Take a new connection, or say that it is one too many."""
        if self._is_over:
            return False
        limits = self._limits
        count = self._per_address.get(connection.address, 0)
        most = limits.max_connections_per_address
        if len(self._all) >= limits.max_connections or (most and count >= most):
            self._counters.refused_connections += 1
            return False
        self._per_address[connection.address] = count + 1
        connection.place = len(self._all)
        connection.heard_s = self.now_s
        self._all.append(connection)
        return True

    def forget(self, connection: WatchedConnection) -> None:
        """Let go of a connection that was admitted and has closed."""
        last = self._all.pop()
        if last is not connection:
            self._all[connection.place] = last
            last.place = connection.place
        count = self._per_address[connection.address] - 1
        if count:
            self._per_address[connection.address] = count
        else:
            del self._per_address[connection.address]
        self.hold(connection, 0)
        self._shaking_hands.pop(connection, None)
        self._not_read.pop(connection, None)
        if not self._all:
            self._on_empty()

    def begin_handshake(self, connection: WatchedConnection) -> None:
        """Note that a client must prove who it is; who has taken longest makes room."""
        self._shaking_hands[connection] = self._now_s()
        if len(self._shaking_hands) > self._limits.max_unauthenticated_connections:
            oldest, _ = self._shaking_hands.popitem(last=False)
            self._counters.crowded_out_handshakes += 1
            oldest.abort()

    def end_handshake(self, connection: WatchedConnection) -> None:
        """Note that a client has proved who it is."""
        self._shaking_hands.pop(connection, None)

    def hold(
        self,
        connection: WatchedConnection,
        held_bytes: int,
        *,
        has_advanced: bool = False,
    ) -> None:
        """Note how much of a request is here and not whole.

        Args:
            connection: Whose request it is.
            held_bytes: 0 when all requests are whole.
            has_advanced: Whether the one before it has become whole meanwhile.
        """
        self._held_bytes += held_bytes - connection.held_bytes
        connection.held_bytes = held_bytes
        if not held_bytes:
            self._half_received.pop(connection, None)
            return
        if has_advanced or connection not in self._half_received:
            self._half_received[connection] = self._now_s()
            self._half_received.move_to_end(connection)
        while self._held_bytes > self._limits.max_buffered_request_bytes:
            oldest = next(iter(self._half_received))
            self._counters.crowded_out_requests += 1
            self.hold(oldest, 0)
            oldest.abort()

    def watch_reading(self, connection: WatchedConnection) -> None:
        """Note that replies wait for the peer to read them."""
        self._not_read.setdefault(connection, self._now_s())

    def end_reading(self, connection: WatchedConnection) -> None:
        """Note that the peer has read everything."""
        self._not_read.pop(connection, None)

    def sweep(self) -> None:
        """Cut off everyone who is overdue."""
        now_s = self.now_s = self._now_s()
        limits, counters = self._limits, self._counters
        for one in self._pop_overdue(
            self._shaking_hands, now_s - limits.handshake_timeout_ms / _MS
        ):
            counters.handshake_timeouts += 1
            one.abort()
        for one in self._pop_overdue(
            self._not_read, now_s - limits.write_timeout_ms / _MS
        ):
            counters.write_timeouts += 1
            one.abort()
        for one in self._pop_overdue(
            self._half_received, now_s - limits.request_timeout_ms / _MS
        ):
            if one.is_owed:
                # It waits for us: more of it is not asked for meanwhile.
                self._half_received[one] = now_s
                continue
            counters.request_timeouts += 1
            one.abort()
        self._cut_off_silent(now_s)

    def _pop_overdue(
        self, since: _Since, latest_s: float
    ) -> Iterator[WatchedConnection]:
        while since and next(iter(since.values())) <= latest_s:
            yield since.popitem(last=False)[0]

    def _cut_off_silent(self, now_s: float) -> None:
        timeout_s = self._limits.idle_timeout_ms / _MS
        per_sweep = len(self._all) * _IDLE_ROUNDS * SWEEP_INTERVAL_S / timeout_s
        for _ in range(min(math.ceil(per_sweep), len(self._all))):
            # Whoever is aborted leaves a little later, so no place is missed.
            self._next_look = (self._next_look + 1) % len(self._all)
            one = self._all[self._next_look]
            if now_s - one.heard_s >= timeout_s and not one.is_owed:
                self._counters.idle_timeouts += 1
                one.abort()
