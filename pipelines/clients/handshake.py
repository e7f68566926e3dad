"""The configuration handshake: find a node that serves PushConfig, and push once.

Strategy: find a server that serves it, log in, take a random node of Metadata that
serves it as well, and push. Retriable errors are tried again on the same connection,
faults of the network from the start, both with exponential backoff and jitter, until
the one deadline of everything. What a peer refuses is not tried again.
Source: KIP-1324, "Handshake" and "Error Handling"; KIP-580 for the backoff.
"""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from .kafka_client.blocking_link import BlockingLink, Deadline, DeadlinePassed
from .kafka_client.faults import (
    RETRIABLE_ERROR_CODES,
    THROTTLING_QUOTA_EXCEEDED,
    LoginRefused,
    Refused,
    describe,
)
from .kafka_client.messages import Served
from .kafka_client.session import log_in
from .node_search import FAULTS, NodeSearch, SearchEnded, describe_refusal
from .push_messages import PushAnswer, name_instance, push_config
from .push_plan import PushPlan

_MS = 1_000
_JITTER = 0.2
_LARGEST_EXPONENT = 20
_MAX_MESSAGE_LENGTH = 500


@dataclass(slots=True)
class Handshake:
    """One handshake: how far it has come. Written by its own thread, read by others."""

    plan: PushPlan
    is_advertised: bool = False
    """Whether a node was found that serves PushConfig."""
    is_pushed: bool = False
    message: str = ""
    """What the node said about an accepted push; empty for nothing."""
    fault: str = ""
    """Why nothing was pushed; empty where that is no fault."""
    wait: Callable[[float], object] = field(default=threading.Event().wait, repr=False)
    """Waits for so many seconds."""
    pick: random.Random = field(default_factory=random.SystemRandom, repr=False)
    """Not seeded, so that processes forked from one do not all pick the same node."""
    _search: NodeSearch = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Begin with a search that knows nothing."""
        self._search = NodeSearch(self.plan, self.pick)

    def run(self) -> None:
        """Push, or note why not."""
        deadline = Deadline(self.plan.timeout_ms / _MS)
        attempt, fault = 0, ""
        try:
            while True:
                try:
                    self._try_once(deadline)
                except DeadlinePassed:
                    raise
                except FAULTS as error:
                    # A wait that ended with the time for everything explains nothing.
                    deadline.remaining_s()
                    fault = describe(error)
                else:
                    return
                self._back_off(attempt, 0, deadline)
                attempt += 1
        except LoginRefused as error:
            self.fault = f"authentication failed: {describe_refusal(error)}"
        except Refused as error:
            self.fault = describe_refusal(error)
        except SearchEnded as error:
            self.fault = self._sum_up(str(error))
        except DeadlinePassed:
            took = f"not done in {self.plan.timeout_ms} ms"
            last = self.fault or fault
            self.fault = self._sum_up(took, f"last: {last}" if last else "")
        except Exception as error:  # noqa: BLE001 - the top of a thread
            # Such as a client id longer than a request has.
            self.fault = type(error).__name__

    def _sum_up(self, *texts: str) -> str:
        """Return texts as one, with what a server has refused."""
        return "; ".join(filter(None, (*texts, self._search.describe_refusal())))

    def _try_once(self, deadline: Deadline) -> None:
        found = self._search.find_server(deadline)
        if found is None:
            return
        self.is_advertised = True
        link, served = found
        chosen = link
        try:
            self._prove(link, served, deadline)
            chosen = self._search.choose_node(link, self._prove, deadline)
            self._push(chosen, deadline)
        finally:
            link.close()
            chosen.close()

    def _prove(self, link: BlockingLink, served: Served, deadline: Deadline) -> None:
        """Log in, and say which client instance this is.

        In this order: before a login, a broker takes one ApiVersions and no more.
        """
        if self.plan.access.login is not None:
            link.hold(log_in(self.plan.access.login), deadline)
        link.hold(name_instance(self.plan.software, served), deadline)

    def _push(self, link: BlockingLink, deadline: Deadline) -> None:
        attempt = 0
        while True:
            answer = link.hold(
                push_config(self.plan.api_key, self.plan.entries), deadline
            )
            if not answer.error_code:
                self.is_pushed, self.fault = True, ""
                self.message = (answer.error_message or "")[:_MAX_MESSAGE_LENGTH]
                return
            self.fault = _describe_answer(answer)
            if answer.error_code not in RETRIABLE_ERROR_CODES:
                return
            self._back_off(attempt, answer.throttle_time_ms, deadline)
            attempt += 1

    def _back_off(
        self, attempt: int, throttle_time_ms: int, deadline: Deadline
    ) -> None:
        """Wait for the backoff or the throttle time, whichever is longer.

        Raises: DeadlinePassed at once where the wait would end behind it.
        """
        base_ms, longest_ms = self.plan.retry_backoff_ms, self.plan.retry_backoff_max_ms
        grown_ms = min(base_ms * 2 ** min(attempt, _LARGEST_EXPONENT), longest_ms)
        backoff_ms = grown_ms * self.pick.uniform(1 - _JITTER, 1 + _JITTER)
        wait_s = max(backoff_ms, throttle_time_ms) / _MS
        if wait_s >= deadline.remaining_s():
            raise DeadlinePassed
        self.wait(wait_s)


def _describe_answer(answer: PushAnswer) -> str:
    text = (answer.error_message or "")[:_MAX_MESSAGE_LENGTH]
    if answer.error_code == THROTTLING_QUOTA_EXCEEDED:
        text = text or f"throttled for {answer.throttle_time_ms} ms"
    return f"error {answer.error_code}" + (f": {text}" if text else "")
