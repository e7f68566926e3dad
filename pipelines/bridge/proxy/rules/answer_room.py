"""Memory for answers that are held whole, bounded over all connections; no I/O.

A holder takes room for the whole answer before its broker is read on, so that holders
never wait for each other: each one that has room needs only its own broker and client
to finish. Waiting holders are served in order, so that a large answer is not overtaken
for ever. An answer larger than the limit is held when nothing else is.
"""

from collections.abc import Callable
from typing import Protocol

MIN_PROGRESS_BYTES = 65_536
"""Bytes that a holder must move within the stall time while others wait."""
MIN_PROGRESS_PARTS = 16
"""Stall times within which a holder must move its whole answer while others wait."""


class Holder(Protocol):
    """A connection that holds an answer."""

    @property
    def open_bytes(self) -> int:
        """Bytes of its answers that are still to be received, or to be sent."""

    def take_room(self) -> None:
        """Read the answer, since there is room for it."""

    def abort(self) -> None:
        """Close without waiting for either side."""


class AnswerRoom:
    """Which connections hold an answer, and which wait for room."""

    def __init__(
        self, limit_bytes: int, *, stall_s: float, now_s: Callable[[], float]
    ) -> None:
        """Start with no holder.

        Args:
            limit_bytes: Bytes of all answers that are held at a time.
            stall_s: Seconds without progress after which a holder is stalled.
            now_s: A clock that never steps back, in seconds.
        """
        self._limit_bytes = limit_bytes
        self._stall_s = stall_s
        self._now_s = now_s
        self._held: dict[Holder, int] = {}
        self._waiting: dict[Holder, int] = {}
        self._marks: dict[Holder, tuple[int, float]] = {}
        """Open bytes of a holder, and when they were noted."""
        self.held_bytes = 0
        """Bytes of all answers that have room."""

    def is_waiting(self, holder: Holder) -> bool:
        """Return whether the holder's answer has no room yet."""
        return holder in self._waiting

    def take(self, holder: Holder, size_bytes: int) -> None:
        """Replace the room of a holder.

        Args:
            holder: Told by take_room when there is room, now or later.
            size_bytes: Size of the answer; 0 gives the room back.
        """
        if size_bytes == self._held.get(holder, self._waiting.get(holder, 0)):
            return
        self._waiting.pop(holder, None)
        self._marks.pop(holder, None)
        self.held_bytes -= self._held.pop(holder, 0)
        if size_bytes:
            self._waiting[holder] = size_bytes
        self._admit()

    def find_stalled(self) -> list[Holder]:
        """Return the holders that make no progress while others wait for room."""
        if not self._waiting:
            self._marks.clear()
            return []
        return [holder for holder in self._held if self._is_stalled(holder)]

    def _admit(self) -> None:
        """Give room to those who wait, in order."""
        while self._waiting:
            holder, size_bytes = next(iter(self._waiting.items()))
            if self._held and self.held_bytes + size_bytes > self._limit_bytes:
                return
            del self._waiting[holder]
            self._held[holder] = size_bytes
            self.held_bytes += size_bytes
            holder.take_room()

    def _is_stalled(self, holder: Holder) -> bool:
        now_s, open_bytes = self._now_s(), holder.open_bytes
        noted_bytes, noted_s = self._marks.get(holder, (-1, now_s))
        least_bytes = max(MIN_PROGRESS_BYTES, self._held[holder] // MIN_PROGRESS_PARTS)
        if not 0 <= noted_bytes - open_bytes < least_bytes:
            self._marks[holder] = open_bytes, now_s
            return False
        return now_s - noted_s >= self._stall_s
