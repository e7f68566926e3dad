"""Admission of calls to a client whose handle can be replaced.

Calls run side by side. A short call, such as produce, runs no application code: it
waits only while the handle is being replaced. A serving call may run callbacks of the
application, which may block for any time. A replacement therefore begins only when no
other serving call is inside, and no thread waits for a callback of another thread.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE_S = 0.5
"""Longest wait for serving calls of other threads to return."""


class Gate:
    """Calls that are inside; a context manager for each short call."""

    def __init__(self) -> None:
        # As a context, a lock takes a third of the time of its condition.
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)
        self._inside = self._serving = 0
        self._is_wanted = self._is_shut = False
        self._own = threading.local()

    def __enter__(self) -> None:
        """Admit a short call of this thread."""
        self._enter(is_serving=False)

    def __exit__(self, *_: object) -> None:
        """End the call."""
        own = self._own
        own.depth -= 1
        if own.depth:
            return
        with self._lock:
            self._inside -= 1
            self._serving -= own.is_serving
            if self._is_wanted or self._is_shut:
                self._turn.notify_all()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Admit a call that may run callbacks of the application."""
        self._enter(is_serving=True)
        try:
            yield
        finally:
            self.__exit__()

    def is_in_callback(self) -> bool:
        """Return whether this call was made within another call of its thread."""
        return self._depth() > 1

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Keep calls of other threads out; run no application code meanwhile.

        The current thread must be in a serving call.

        Returns: Whether this thread is alone. If another serving call does not return
            in time, no call is kept out.
        """
        with self._lock:
            is_alone = self._shut()
        try:
            yield is_alone
        finally:
            if is_alone:
                with self._lock:
                    self._open()

    def _enter(self, *, is_serving: bool) -> None:
        own, depth = self._own, self._depth()
        if not depth:
            with self._lock:
                if is_serving and self._is_wanted:
                    # Bounded: the application may hold a lock that a callback needs.
                    self._turn.wait_for(lambda: not self._is_wanted, PATIENCE_S)
                while self._is_shut:
                    self._turn.wait()
                self._inside += 1
                self._serving += is_serving
            own.is_serving = is_serving
        own.depth = depth + 1

    def _shut(self) -> bool:
        if self._is_wanted or self._is_shut:
            return False
        self._is_wanted = True
        self._is_shut = self._turn.wait_for(lambda: self._serving == 1, PATIENCE_S)
        self._is_wanted = False
        if self._is_shut and self._turn.wait_for(lambda: self._inside == 1, PATIENCE_S):
            return True
        self._open()
        return False

    def _open(self) -> None:
        self._is_shut = False
        self._turn.notify_all()

    def _depth(self) -> int:
        depth: int = getattr(self._own, "depth", 0)
        return depth
