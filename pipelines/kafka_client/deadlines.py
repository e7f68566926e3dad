"""One end that many waits share."""

import time
from collections.abc import Callable


class DeadlinePassed(TimeoutError):
    """Raised when the time for the whole handshake is over."""


class Deadline:
    """An end that many waits share."""

    def __init__(
        self, timeout_s: float, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._now_s = now_s
        self._end_s = now_s() + timeout_s

    def remaining_s(self) -> float:
        """Return the seconds left.

        Raises: DeadlinePassed when there are none.
        """
        remaining = self._end_s - self._now_s()
        if remaining <= 0:
            raise DeadlinePassed("the time for it is over")
        return remaining
