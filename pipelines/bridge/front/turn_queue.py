"""Turns of what can wait: a burst of it must not keep the others waiting.

A TLS handshake takes up to milliseconds, and so do the requests that one client sends
without reading; a push takes microseconds. So each turn of the event loop gives
handshakes a few milliseconds, and as many to requests beyond those of one turn, in the
order in which they came.
"""

from collections import deque
from collections.abc import Callable

TURN_S = 0.004
"""What one turn of the loop may spend; one step is done in any case."""


class TurnQueue:
    """Work that can wait for the next turn of the loop."""

    def __init__(
        self,
        call_soon: Callable[[Callable[[], None]], object],
        now_s: Callable[[], float],
    ) -> None:
        self._call_soon = call_soon
        self._now_s = now_s
        self._steps: deque[Callable[[], None]] = deque()
        self._is_turn_set = False

    def __len__(self) -> int:
        return len(self._steps)

    def push(self, step: Callable[[], None]) -> None:
        """Do a step soon, behind those that wait already."""
        self._steps.append(step)
        self._set_turn()

    def _set_turn(self) -> None:
        if self._steps and not self._is_turn_set:
            self._is_turn_set = True
            self._call_soon(self._take_turn)

    def _take_turn(self) -> None:
        self._is_turn_set = False
        end_s = self._now_s() + TURN_S
        try:
            # What a step pushes is for the next turn.
            for _ in range(len(self._steps)):
                self._steps.popleft()()
                if self._now_s() >= end_s:
                    break
        finally:
            self._set_turn()
