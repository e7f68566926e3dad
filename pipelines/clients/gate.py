"""Calls of a client go side by side; a change of its handle waits until it is alone.

Strategy: a thread that is inside stays inside, whatever it calls from there, so that a
callback may use its client while a change waits for it. Who would come in waits until
the change is over.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Who is inside a client's calls; a context for each of them."""

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._inside = 0
        self._is_changing = False
        self._own = threading.local()

    def __enter__(self) -> None:
        """Come in, behind a change that is under way, unless this thread is inside."""
        depth = self._depth()
        if not depth:
            with self._turn:
                while self._is_changing:
                    self._turn.wait()
                self._inside += 1
        self._own.depth = depth + 1

    def __exit__(self, *_: object) -> None:
        """Go out."""
        self._own.depth -= 1
        if not self._own.depth:
            with self._turn:
                self._inside -= 1
                if self._is_changing:
                    self._turn.notify_all()

    def is_in_callback(self) -> bool:
        """Return whether this call comes from within another one of its thread."""
        return self._depth() > 1

    @contextmanager
    def alone(self, timeout_s: float) -> Iterator[bool]:
        """Keep all others out.

        Args:
            timeout_s: How long to wait for those that are inside.
        Returns: Whether this thread is alone, which must be inside; where it is not,
            nobody is kept out.
        """
        with self._turn:
            is_alone = self._begin(timeout_s)
        try:
            yield is_alone
        finally:
            if is_alone:
                self._end()

    def _begin(self, timeout_s: float) -> bool:
        if self._is_changing:
            return False
        self._is_changing = True
        if self._turn.wait_for(lambda: self._inside == 1, timeout_s):
            return True
        self._is_changing = False
        self._turn.notify_all()
        return False

    def _end(self) -> None:
        with self._turn:
            self._is_changing = False
            self._turn.notify_all()

    def _depth(self) -> int:
        depth: int = getattr(self._own, "depth", 0)
        return depth
