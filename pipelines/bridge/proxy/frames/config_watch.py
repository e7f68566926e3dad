"""What one client of the proxy shows of its configuration; no I/O, no clock.

Strategy: a client's configuration does not change while it is connected, so its first
requests are looked at, and then ever fewer, down to one in so many; what
passes in between costs a count. What is seen is compared with what is known, and only
a difference is told.
What comes back when bytes are bad: nothing; the fault is counted, and the request is
passed on as it is.
"""

import sys
from collections.abc import Callable
from typing import Protocol

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import Connection
from pipelines.bridge.protocol.shown_configs import (
    WIRE_REQUESTS,
    Seen,
    read_wire_configs,
)
from pipelines.kafka_client.primitives import WireError
from udfs.sensitive.bounded_texts import SHORT_CHARACTERS, bound_text

from .shown_configs import Allowance, ShownConfigs

MAX_LOOK_BYTES = 16_384
"""Of one request; a longer one is looked at so far."""
MAX_VALUE_BYTES = 1_024
"""Of one value; of a longer one only its hash is known, since rules that look for
secrets see no more than that."""
MOST_SHOWN = 4
"""Clients of one connection that are remembered; Kafka's own have one or two."""
_HEAD_BYTES = 14
"""Size, API key, version, correlation id, length of the client id."""
_SIZE_BYTES = 4
_NONE = "none"


class Client(Protocol):
    """Who sends the requests."""

    connection: Connection

    def is_named(self) -> bool:
        """Say whether it is known who that is."""


class WireWatch:
    """One client's connection, as its requests show it."""

    __slots__ = (
        "_allowance",
        "_client",
        "_counters",
        "_gap",
        "_gap_limit",
        "_shown",
        "_tell",
        "_turns",
    )

    def __init__(
        self,
        client: Client,
        *,
        gap_limit: int,
        counters: BridgeCounters,
        tell: Callable[[ShownConfigs], None],
    ) -> None:
        """Start with nothing.

        Args:
            client: Who it is.
            gap_limit: Most requests of one API between two that are looked at.
            counters: Where faults are counted.
            tell: Called when something is new.
        """
        self._allowance = Allowance()
        self._client = client
        self._gap_limit = gap_limit
        self._counters = counters
        self._tell = tell
        self._gap = 0
        """Requests with data between the last two that were looked at."""
        self._turns: dict[int, list[int]] = {}
        """Of the others, API key to the requests to pass over now, and then."""
        self._shown: dict[tuple[str | None, str], ShownConfigs] = {}
        """By client id and client type: a connection may produce and fetch."""

    def see(self, data: bytes, at: int, head: tuple[int, int, int, int, int]) -> None:
        """Look at a request that is no data, if it is its turn.

        Args:
            data: Bytes that hold it; they may end within it.
            at: Where it begins.
            head: Size, API key, version, correlation id, length of the client id.
        """
        if not self._client.is_named():
            return
        turn = self._turns.get(head[1])
        if turn is None:
            turn = self._turns[head[1]] = [0, 0]
        elif turn[0]:
            turn[0] -= 1
            return
        turn[0] = turn[1] = self._widen(turn[1])
        self._read(data, at, head)

    def look(self, data: bytes, at: int, head: tuple[int, int, int, int, int]) -> int:
        """Look at a request with data; return how many of them pass before the next.

        Args:
            data: As see takes it.
            at: As there.
            head: As there.
        """
        if not self._client.is_named():
            return 0
        self._gap = self._widen(self._gap)
        self._read(data, at, head)
        return self._gap

    def _widen(self, gap: int) -> int:
        """Return the gap that comes behind one: 1, 3, 7 and so on."""
        return min(2 * gap + 1, self._gap_limit)

    def _read(self, data: bytes, at: int, head: tuple[int, int, int, int, int]) -> None:
        """Look, and let nothing that goes wrong reach the data."""
        try:
            self._show(data, at, head)
        except Exception:  # noqa: BLE001 - the request passes whatever it holds
            self._counters.unreadable_wire_requests += 1

    def _show(self, data: bytes, at: int, head: tuple[int, int, int, int, int]) -> None:
        size, api_key, version, _, client_id_bytes = head
        request = WIRE_REQUESTS[api_key]
        if version not in request.versions:
            return
        end = at + _SIZE_BYTES + size
        rest = data[at + _HEAD_BYTES : min(end, at + MAX_LOOK_BYTES)]
        self._allowance.earn(_HEAD_BYTES + len(rest))
        seen: Seen = {}
        try:
            client_id = read_wire_configs(api_key, version, rest, client_id_bytes, seen)
        except WireError:
            if at + _HEAD_BYTES + len(rest) == end:
                self._counters.unreadable_wire_requests += 1
                return
            # Cut off; what stands before the cut is good, and the client id does.
            if client_id_bytes > len(rest):
                return
            client_id = (
                rest[:client_id_bytes].decode(errors="replace")
                if client_id_bytes >= 0
                else None
            )
        if seen:
            self._note(client_id, request.client_type, seen)

    def _note(self, client_id: str | None, client_type: str, seen: Seen) -> None:
        """Take what is new, and tell of it."""
        shown = self._find(client_id, client_type)
        configs = shown.configs
        is_new = False
        for key, said in seen.items():
            value = said if len(said) <= SHORT_CHARACTERS else _bound(said)
            if not _is_news(key, configs.get(key), value):
                continue
            # Thousands of connections have most values in common.
            configs[key] = sys.intern(value)
            is_new = True
        if is_new or shown.is_held_back:
            shown.is_held_back = False
            self._tell(shown)

    def _find(self, client_id: str | None, client_type: str) -> ShownConfigs:
        """Return what is known of a client; the one known longest makes room."""
        shown = self._shown.get((client_id, client_type))
        if shown is None:
            if len(self._shown) == MOST_SHOWN:
                del self._shown[next(iter(self._shown))]
            shown = ShownConfigs(
                self._client.connection, client_id, client_type, self._allowance
            )
            self._shown[client_id, client_type] = shown
        return shown


def _bound(value: str) -> str:
    """Return a value, or the hash of one that is too long."""
    is_bounded = bound_text(value, MAX_VALUE_BYTES) is value
    return value if is_bounded else bound_text(value, 0)


def _is_news(key: str, known: str | None, value: str) -> bool:
    """Say whether a value is another one than what is known."""
    if known is None or key not in ("batch.size", "compression.type"):
        return value != known
    if key == "batch.size":
        return int(value) > int(known)
    # A batch that would not become smaller goes as it is.
    return value not in (known, _NONE)
