"""A client that holds a handle, and can put another one in its place.

Strategy: the application's calls go through a gate. Only calls that serve callbacks ask
for dynamic configs. If these have changed, the call waits until it is alone, replaces
the handle, and continues with the new one: no call uses both. No callback runs while
other calls are kept out. If a change fails, the handle stays, and the change is tried
again later.
In a process that was forked, threads of the parent's handle are not there: its handle
is left alone and never destroyed, and a call there makes one of its own.
"""

import ctypes
import functools
import math
import os
import threading
import time
import weakref
from typing import Any, ClassVar

from .dynamic_values import Settled, read_in_force
from .following import Following
from .gate import Gate
from .held_callbacks import HeldCallbacks
from .pushing import PushesConfig
from .starting import Prepared, prepare_given, prepare_settled, read_given

_MS = 1_000
_SLICE_S = 0.1
"""A call that waits lets a change in so often."""
REFUSED = "confluent_kafka refuses the configuration"
BUSY = "calls of other threads do not end"


class Wait:
    """How long a call of the application may still wait, in short parts."""

    def __init__(self, timeout_s: float | None) -> None:
        """Begin now; None and a negative number are for ever."""
        is_endless = timeout_s is None or timeout_s < 0
        self._end_s = math.inf if is_endless else time.monotonic() + (timeout_s or 0)

    def part_s(self) -> float:
        """Return the next part of it."""
        return min(_SLICE_S, self.left_s())

    def left_s(self) -> float:
        """Return what is left; infinity where it is for ever."""
        return max(0.0, self._end_s - time.monotonic())

    def is_over(self) -> bool:
        """Return whether nothing is left."""
        return not self.left_s()


class HoldsHandle(PushesConfig):
    """What producers and consumers that hold a handle have in common."""

    _client_type: ClassVar[str]
    _kind: ClassVar[type[Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as upstream
        self._given = read_given(self._client_type, *args, **kwargs)
        self._limit_s = self._given.own.timeout_ms / _MS
        self._is_closed = False
        self._credentials: tuple[str, str] | None = None
        self._handle: Any = None
        self._set_up()
        self._open()
        _holders.add(self)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as upstream
        """Return a method of the handle, whichever it is when that is called."""
        if name.startswith("_"):
            raise AttributeError(name)
        getattr(self._kind, name)
        return functools.partial(self._call, name)

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Set credentials for this handle, and for all that come after it."""
        with self._gate.serving():
            self._held().set_sasl_credentials(username, password)
            self._credentials = username, password

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as upstream
        with self._gate.serving():
            return getattr(self._held(), name)(*args, **kwargs)

    def _held(self) -> Any:  # noqa: ANN401 - as upstream
        """Return the handle, within the gate; in a fork it is made now."""
        if self._handle is None:
            with self._opening:
                if self._handle is None:
                    self._open()
                    self._go_on()
        return self._handle

    def _set_up(self) -> None:
        self._gate, self._opening = Gate(), threading.Lock()
        self._callbacks = HeldCallbacks()

    def _open(self) -> None:
        prepared = prepare_given(self._given)
        self._put(self._make(prepared), prepared)
        self._begin(prepared)

    def _put(self, handle: Any, prepared: Prepared) -> None:  # noqa: ANN401 - as upstream
        """Use a handle from now on."""
        self._handle = handle
        self._client_instance_id = prepared.client_instance_id

    def _make(self, prepared: Prepared) -> Any:  # noqa: ANN401 - as upstream
        handle = self._kind(self._callbacks.wrap_conf(prepared.conf))
        if self._credentials is not None:
            handle.set_sasl_credentials(*self._credentials)
        return handle

    def _go_on(self) -> None:
        """Have a new handle do what the application has asked of the one before."""

    def _follow(self) -> None:
        """Ask for dynamic configs where it is time to; change the handle if need be.

        Within the gate; never in a callback, where the handle is in use.
        """
        following = self._following
        if following is None or not following.is_due():
            return
        if self._is_closed or self._gate.is_in_callback():
            return
        wanted = following.ask()
        if wanted is not None:
            following.call(self._adapt(following, wanted))

    def _adapt(self, following: Following, wanted: Settled) -> dict[str, Any]:
        """Return what has changed for the application."""
        running = read_in_force(self._client_type, following.running.conf)
        if running == read_in_force(self._client_type, wanted.conf):
            return following.accept(wanted)
        if fixed := self._explain_fixed():
            return following.postpone(wanted, fixed)
        began_s = time.monotonic()
        fault = self._change(wanted)
        if not fault:
            return following.accept(wanted)
        following.try_soon(time.monotonic() - began_s)
        return following.postpone(wanted, fault)

    def _explain_fixed(self) -> str:
        """Return why this client is not made anew at all; empty where it is."""
        return ""

    def _change(self, wanted: Settled) -> str:
        """Put another handle in place; return what stops it, or nothing."""
        raise NotImplementedError

    def _prepare(self, wanted: Settled) -> tuple[Any, Prepared] | None:
        """Push, and return a new handle; None if confluent_kafka rejects it."""
        prepared = prepare_settled(self._given, wanted)
        try:
            return self._make(prepared), prepared
        except Exception:  # noqa: BLE001 - the current handle stays
            return None

    def _leave_to_parent(self) -> None:
        """Begin again in a process that was just forked; no handle is touched."""
        self._set_up()
        if self._handle is not None and not self._is_closed:
            # Its threads are the parent's: to destroy it would wait for them for ever.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._handle))
            self._handle = self._following = None


_holders: weakref.WeakSet[HoldsHandle] = weakref.WeakSet()


def _leave_all_to_parent() -> None:
    for holder in list(_holders):
        holder._leave_to_parent()  # noqa: SLF001 - of this module


os.register_at_fork(after_in_child=_leave_all_to_parent)
