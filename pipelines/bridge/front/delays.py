"""What waits for its time: any number of connections, and one timer.

Strategy: a heap of times, and a timer for the first of them. What has become due takes
its turn beside other work. One that is given up leaves its place empty; when most
places are empty, they are dropped.
"""

import heapq
import itertools
from collections.abc import Callable
from typing import Protocol

_FEW = 64
"""So many empty places are not worth looking for."""

Step = Callable[[], None]


class Timer(Protocol):
    """A timer that is set."""

    def when(self) -> float:
        """Return when it comes."""

    def cancel(self) -> None:
        """Let it not come."""


class Delay:
    """A step that waits."""

    __slots__ = ("step",)

    def __init__(self, step: Step) -> None:
        self.step: Step | None = step
        """None when it is done or given up."""


class Delays:
    """Steps and when they are due."""

    def __init__(
        self,
        call_at: Callable[[float, Step], Timer],
        now_s: Callable[[], float],
        push_turn: Callable[[Step], None],
    ) -> None:
        """Begin with nothing that waits.

        Args:
            call_at: Sets a timer.
            now_s: The clock of that timer, in seconds; it never steps back.
            push_turn: Does a step soon.
        """
        self._call_at = call_at
        self.now_s = now_s
        self._push_turn = push_turn
        self._waiting: list[tuple[float, int, Delay]] = []
        self._numbers = itertools.count()
        self._timer: Timer | None = None
        self._given_up = 0

    def __len__(self) -> int:
        return len(self._waiting) - self._given_up

    def push(self, due_s: float, step: Step) -> Delay:
        """Do a step when its time has come."""
        delay = Delay(step)
        heapq.heappush(self._waiting, (due_s, next(self._numbers), delay))
        self._set_timer()
        return delay

    def give_up(self, delay: Delay) -> None:
        """Do not do a step that waits."""
        if delay.step is None:
            return
        delay.step = None
        self._given_up += 1
        if self._given_up > _FEW and 2 * self._given_up > len(self._waiting):
            self._waiting = [one for one in self._waiting if one[2].step is not None]
            heapq.heapify(self._waiting)
            self._given_up = 0

    def _set_timer(self) -> None:
        if not self._waiting:
            return
        first_s = self._waiting[0][0]
        if self._timer is not None:
            if self._timer.when() <= first_s:
                return
            self._timer.cancel()
        self._timer = self._call_at(first_s, self._look)

    def _look(self) -> None:
        self._timer = None
        due_s = self.now_s()
        while self._waiting and self._waiting[0][0] <= due_s:
            delay = heapq.heappop(self._waiting)[2]
            step, delay.step = delay.step, None
            if step is None:
                self._given_up -= 1
            else:
                self._push_turn(step)
        self._set_timer()
