"""Callbacks of an application that are kept until no other thread waits for this one.

While a handle is replaced, calls of other threads wait. Callbacks that librdkafka
serves in that time are stored, and run afterwards in the same call of the application.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

_CALLBACKS = ("on_delivery", "on_commit", "error_cb", "stats_cb", "throttle_cb")
"""Configs that librdkafka serves in poll and flush. A token callback is not one of
them: it has a thread of its own."""
_LOGGER = "logger"
_OF_RECORD = ("callback", "on_delivery")


class HeldCallbacks:
    """The callbacks of one client."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._is_holding = False

    def __len__(self) -> int:
        """Return the number of stored callbacks."""
        return len(self._waiting)

    def wrap(self, callback: Any) -> Any:  # noqa: ANN401 - as upstream
        """Return a callback that can be stored; other values are returned unchanged."""
        return partial(self._call, callback) if callable(callback) else callback

    def wrap_conf(self, conf: dict[str, Any]) -> dict[str, Any]:
        """Return a configuration whose callbacks can be stored."""
        wrapped = {name: self.wrap(conf[name]) for name in _CALLBACKS if name in conf}
        if conf.get(_LOGGER) is not None:
            wrapped[_LOGGER] = SimpleNamespace(log=self.wrap(conf[_LOGGER].log))
        return conf | wrapped

    def wrap_named(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return arguments of produce with callbacks that can be stored."""
        for name in _OF_RECORD:
            if name in given:
                given = given | {name: self.wrap(given[name])}
        return given

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Store callbacks instead of running them."""
        self._is_holding = True
        try:
            yield
        finally:
            self._is_holding = False

    def add(self, callback: Callable[..., object], *args: object) -> None:
        """Store a callback."""
        self._waiting.append((callback, args))

    def run(self) -> int:
        """Run the stored callbacks; return their number.

        Raises: What a callback raises; the callbacks after it stay stored.
        """
        count = 0
        while self._waiting:
            try:
                callback, args = self._waiting.popleft()
            except IndexError:
                break  # Another thread took the last one.
            callback(*args)
            count += 1
        return count

    def _call(self, callback: Callable[..., object], *args: object) -> None:
        if self._is_holding:
            self.add(callback, *args)
        else:
            callback(*args)
