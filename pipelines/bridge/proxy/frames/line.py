"""Who is owed what on one pair of connections, in the order in which it was asked.

Clients and brokers match answers by their order. Each request that will be answered has
a place: a number for an answer that is only passed on, which is nearly every one.
Source: Kafka protocol guide, "Network": one connection keeps its order.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Protocol

from .traffic import TrafficCounts

Write = Callable[[bytes | bytearray], None]
SMALL_ANSWER_BYTES = 262_144
"""Answers with data up to this size are held without room for them."""
MAX_HELD_ANSWER_BYTES = 67_108_864
"""The same for all other answers that are read."""
MAX_OPEN_REQUESTS = 4_096
"""Requests of one client that may wait for their answers."""


class Care(Enum):
    """What a request needs beside being passed on."""

    PRODUCE = 1
    """It may have no answer; the answer may hold addresses."""
    REWRITE = 2
    """Its answer holds addresses."""
    READ = 3
    """It is read here, and passed on or answered."""
    FETCH = 4
    """It is looked at as it passes, as far as it is there."""
    SEEN = 5
    """It is looked at as it passes, whole where it is small."""
    NEW = 6
    """It is the first of its API on its connection: its version is noted."""


class Awaited:
    """An answer of the broker that is read before it is passed on."""

    __slots__ = ("correlation_id", "has_data", "instead", "take")

    def __init__(
        self,
        correlation_id: int | None,
        take: Callable[[bytes], bytes | None],
        instead: bytes | None = None,
        *,
        has_data: bool = False,
    ) -> None:
        """Take what is awaited.

        Args:
            correlation_id: None for a token that comes without any.
            take: Takes what follows the correlation id; returns what the client gets,
                None for no answer at all.
            instead: What the broker gets, size included; None for the client's bytes.
            has_data: Whether the answer contains records.
        """
        self.correlation_id = correlation_id
        self.take = take
        self.instead = instead
        self.has_data = has_data

    def needs_room(self, size: int) -> bool:
        """Return whether an answer of this size is held only if there is room."""
        return size > (SMALL_ANSWER_BYTES if self.has_data else MAX_HELD_ANSWER_BYTES)


class OwnReply:
    """A reply of ours in its place; None until it is there."""

    __slots__ = ("frame",)

    def __init__(self) -> None:
        self.frame: bytes | None = None


DataAnswer = tuple[int, int, int, TrafficCounts | None]
"""Correlation id, API key and version of an answer that is counted, or may hold
addresses, and where it is counted: of Fetch always somewhere."""
Place = int | DataAnswer | Awaited | OwnReply


class Line(deque[Place]):
    """The places that are open, the oldest first."""

    __slots__ = ("expects_token",)

    def __init__(self) -> None:
        super().__init__()
        self.expects_token = False
        """Whether the client's next frame is a token of SASL without any header."""


class RequestReader(Protocol):
    """Reads the requests of Care.READ."""

    def read_request(
        self, api_key: int, api_version: int, frame: bytes
    ) -> Awaited | OwnReply:
        """Read a request without its size; OwnReply where it is not passed on.

        Raises: MalformedBytes, UnsupportedRequest.
        """

    def answer(self, frame: bytes, place: OwnReply) -> None:
        """Answer a request now or later; its place is in line.

        Raises: MalformedBytes, UnsupportedRequest.
        """

    def read_token(self, token: bytes) -> Awaited | None:
        """Read a token; None where the frame is a request after all."""
