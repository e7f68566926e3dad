"""Brokers hear of clients that only the bridge hears of; no I/O, the clock comes in.

Telemetry is answered here, so that a connection which does nothing else is silent for
its broker, which would cut it after connections.max.idle.ms. So while a client's next
push is due, a request of ours goes to the broker in its name; its answer is dropped.
Strategy: a pair is on the list from its first answer of ours on, and looked at now and
then; all wait equally long for their next look, so the list is in order of time. That
a broker has said something since the last look is a flag of the pair.
Source: Kafka, Selector.java, IdleExpiryManager; MetadataRequest.json.
"""

import struct
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Protocol

from pipelines.bridge.protocol.api_keys import METADATA
from pipelines.bridge.proxy.frames.line import Awaited

_HEAD = struct.Struct(">hhih")
_SIZE = struct.Struct(">i")
_VERSION = 7
"""The oldest of Metadata that Kafka 2.1 and later know, and clients of that age use."""
_NO_TOPICS = bytes(5)
"""None are asked for, and none may be made."""
_CORRELATION_ID = -1
_NULL_LENGTH = -1
_MAX_CLIENT_ID_BYTES = 2**15 - 1
_LOOKS = 2.5
"""In one interval: two of them, at the worst, pass before a request goes out."""
_TICKS = 20
"""In one interval: how often it is seen who is to be looked at."""
_AT_ONCE = 50


class Pair(Protocol):
    """What is asked of a pair of connections."""

    def keep_alive(self, now_s: float, interval_s: float) -> bool:
        """Say something to a broker that has heard nothing since the last look.

        Returns: Whether the pair is to be looked at again.
        """


class KeepAlive:
    """The pairs whose clients use telemetry."""

    def __init__(self, interval_s: float, now_s: Callable[[], float]) -> None:
        """Start with nobody.

        Args:
            interval_s: Longest time that a broker is to hear nothing, in seconds.
            now_s: A clock that never steps back, in seconds.
        """
        self._interval_s = interval_s
        self._now_s = now_s
        self._due_s: OrderedDict[Pair, float] = OrderedDict()
        self.tick_s = interval_s / _TICKS
        """Time between two calls of look, in seconds."""

    def __len__(self) -> int:
        return len(self._due_s)

    def add(self, pair: Pair) -> None:
        """Take a pair whose client has used telemetry."""
        if pair not in self._due_s:
            self._due_s[pair] = self._now_s() + self._interval_s / _LOOKS

    def forget(self, pair: Pair) -> None:
        """Let go of a pair that has ended."""
        self._due_s.pop(pair, None)

    def look(self) -> Iterator[None]:
        """Look at each pair whose time has come.

        Yields: Nothing, after some of them, so that data may pass meanwhile.
        """
        now_s, looked = self._now_s(), 0
        while self._due_s and next(iter(self._due_s.values())) <= now_s:
            pair, _ = self._due_s.popitem(last=False)
            if pair.keep_alive(now_s, self._interval_s):
                self._due_s[pair] = now_s + self._interval_s / _LOOKS
            looked += 1
            if looked % _AT_ONCE == 0:
                yield


def make_question(client_id: str | None) -> tuple[bytes, Awaited]:
    """Return a request that changes nothing, and the place of its answer.

    It is Metadata without topics, which every principal may ask: ApiVersions would
    change what the broker notes of the client's software.

    Args:
        client_id: Whose quotas count.
    """
    name = b"" if client_id is None else client_id.encode(errors="replace")
    is_named = client_id is not None and len(name) <= _MAX_CLIENT_ID_BYTES
    length = len(name) if is_named else _NULL_LENGTH
    head = _HEAD.pack(METADATA, _VERSION, _CORRELATION_ID, length)
    request = head + (name if is_named else b"") + _NO_TOPICS
    return _SIZE.pack(len(request)) + request, Awaited(_CORRELATION_ID, _drop)


def _drop(_body: bytes) -> None:
    """Return nothing for the client: it has not asked."""
