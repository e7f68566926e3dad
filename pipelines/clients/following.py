"""What a client knows of its dynamic configs while it runs, and when it asks again.

Strategy: it asks within a call of the application, in the thread of that call, once
`metadata.max.age.ms` has passed: nothing runs beside the application, so that a process
may be forked at any time, and a fork asks nothing for a handle that is its parent's.
Where nobody answers, it asks again after a hundred times of what that took: a cluster
that is away costs a hundredth of the application's time.
Source: KIP-649, "Producer Changes".
"""

import contextlib
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from .dynamic_values import (
    APPLIED,
    IGNORED,
    KEYS,
    UNSUPPORTED,
    DynamicConfig,
    Settled,
    compare,
)
from .handshake import Handshake
from .push_plan import PushPlan, Question

_WAIT_FOR_TIME_TAKEN = 100
_SHORTEST_WAIT_S = 1.0
_NO_MORE = DynamicConfig(None, APPLIED, "not set any more")
_ANEW = "it takes effect when the client is made anew"

OnDynamicConfig = Callable[[Mapping[str, DynamicConfig]], Any]


class Log(Protocol):
    """What confluent_kafka asks of a logger, and no more."""

    def log(self, level: int, text: str, *words: object) -> object:
        """Write a line."""


class Following:
    """The dynamic configs of one client."""

    def __init__(
        self,
        client_type: str,
        plan: PushPlan,
        question: Question,
        running: Settled,
        *,
        max_age_s: float,
        log: Log,
        callback: OnDynamicConfig | None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with what the client is made of.

        Args:
            client_type: One of CLIENT_TYPES.
            plan: Of the handshake at the start.
            question: Asked again, without registering.
            running: What the handle is made of.
            max_age_s: When to ask again.
            log: Of the application.
            callback: Told what has changed; None for nobody.
            now_s: The clock.
        """
        self.client_type, self.running = client_type, running
        self.told = running.told
        """Every dynamic config by its key."""
        self.callback = callback
        again = replace(question, supported_configs=None, settle=self._settle)
        self._settle_anew = question.settle
        self._wanted: tuple[dict[str, str], Settled] | None = None
        self._plan = replace(plan, entries=[], is_pushing=False, question=again)
        self._max_age_s, self._log, self._now_s = max_age_s, log, now_s
        self._due_s = now_s() + max_age_s
        self._asking, self._pid = threading.Lock(), os.getpid()
        self._has_failed = False

    def is_due(self) -> bool:
        """Return whether it is time to ask."""
        return self._now_s() >= self._due_s and os.getpid() == self._pid

    def follow(self) -> dict[str, DynamicConfig]:
        """Ask, for a client that cannot be made anew; return what has changed."""
        wanted = self.ask()
        return {} if wanted is None else self.postpone(wanted, _ANEW)

    def ask(self) -> Settled | None:
        """Ask what a handle should be made of; None where that is not known.

        One thread asks; the others go on meanwhile.
        """
        if not self._asking.acquire(blocking=False):
            return None
        try:
            began_s = self._now_s()
            handshake = Handshake(self._plan)
            handshake.run()
            self._plan_next(handshake, self._now_s() - began_s)
            return handshake.settled
        finally:
            self._asking.release()

    def postpone(self, wanted: Settled, reason: str) -> dict[str, DynamicConfig]:
        """Note what the handle does not have yet; return what has changed of it."""
        return self._note(compare(self.client_type, self.running, wanted, reason))

    def accept(self, made: Settled) -> dict[str, DynamicConfig]:
        """Note what a handle is made of; return what has changed of it."""
        self.running = made
        return self._note(made.told)

    def try_soon(self, took_s: float) -> None:
        """Have it asked again before its time, since what came of it failed."""
        wait_s = max(_SHORTEST_WAIT_S, _WAIT_FOR_TIME_TAKEN * took_s)
        self._due_s = self._now_s() + min(wait_s, self._max_age_s)

    def call(self, changed: Mapping[str, DynamicConfig]) -> object:
        """Tell the application; what its callback raises is only logged.

        Returns: What the callback does: something to await, where it is asynchronous.
        """
        if self.callback is None or not changed:
            return None
        try:
            return self.callback(dict(changed))
        except Exception as error:  # noqa: BLE001 - the application's, in any of its calls
            tell(
                self._log,
                logging.ERROR,
                f"on_dynamic_config raised {type(error).__name__}",
            )
            return None

    def _settle(self, values: Mapping[str, str]) -> Settled:
        """Settle values that are not those of the last time, which needs a trial."""
        if self._wanted is None or self._wanted[0] != values:
            self._wanted = dict(values), self._settle_anew(values)
        return self._wanted[1]

    def _plan_next(self, handshake: Handshake, took_s: float) -> None:
        fault = handshake.dynamic_fault or handshake.fault
        if handshake.settled is not None:
            self._due_s, self._has_failed = self._now_s() + self._max_age_s, False
        elif handshake.is_turned_off or not fault:
            self._due_s = math.inf
            tell(self._log, logging.DEBUG, "the cluster does not serve them any more")
        else:
            self.try_soon(took_s)
            if not self._has_failed:
                tell(self._log, logging.WARNING, f"failed: {fault}")
            self._has_failed = True

    def _note(self, told: dict[str, DynamicConfig]) -> dict[str, DynamicConfig]:
        before, self.told = self.told, told
        changed = {key: one for key, one in told.items() if before.get(key) != one}
        changed |= dict.fromkeys(before.keys() - told.keys(), _NO_MORE)
        tell_configs(self._log, self.client_type, changed)
        return changed


def tell_configs(log: Log, client_type: str, told: Mapping[str, DynamicConfig]) -> None:
    """Say what became of dynamic configs; values only of those that a client has."""
    for key, one in told.items():
        is_known = key in KEYS[client_type] and one.state != UNSUPPORTED
        value = f"={one.value}" if is_known and one.value is not None else ""
        why = f": {one.reason}" if one.reason else ""
        level = logging.WARNING if one.state == IGNORED else logging.INFO
        tell(log, level, f"{key}{value} is {one.state}{why}")


def tell(log: Log, level: int, text: str) -> None:
    """Write a line; a logger that fails is the application's, and stops nothing."""
    with contextlib.suppress(Exception):
        log.log(level, "dynamic configs: %s", text)
