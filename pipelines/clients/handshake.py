"""The configuration handshake: ask for dynamic configs, and push once.

Strategy: find a server that serves either, log in, take a random node of Metadata that
does as well, ask it for the client's dynamic configs, make a configuration of these,
and push it. Retriable errors are tried again on the same connection,
faults of the network from the start, both with exponential backoff and jitter, until
the one deadline of everything. What a peer refuses is not tried again.
An answer about dynamic configs that does not come leaves half of the time to the push.
Source: KIP-1324, "Handshake" and "Error Handling"; KIP-649; KIP-580 for the backoff.
"""

import dataclasses
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from .dynamic_values import Settled
from .kafka_client.blocking_link import BlockingLink, Deadline, DeadlinePassed
from .kafka_client.client_configs import (
    Described,
    DescribeRequest,
    describe_client_configs,
    read_described,
)
from .kafka_client.faults import (
    RETRIABLE_ERROR_CODES,
    THROTTLING_QUOTA_EXCEEDED,
    UNSUPPORTED_VERSION,
    LoginRefused,
    Refused,
    describe,
)
from .kafka_client.messages import Served
from .kafka_client.primitives import MalformedBytes
from .kafka_client.session import Conversation, log_in
from .node_search import FAULTS, NodeSearch, SearchEnded, describe_refusal
from .push_messages import PushAnswer, name_instance, push_config
from .push_plan import PushPlan, Question

_MS = 1_000
_JITTER = 0.2
_LARGEST_EXPONENT = 20
_MAX_MESSAGE_LENGTH = 500
_MAX_ASKED = 2
"""Connections that may break over the question before the push goes on without."""
_SHARE_OF_QUESTION = 0.5
TURNS_OFF = frozenset({42, UNSUPPORTED_VERSION})
"""INVALID_REQUEST and UNSUPPORTED_VERSION: the cluster has no dynamic configs."""


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
    is_asked: bool = False
    """Whether a node was asked for dynamic configs."""
    settled: Settled | None = None
    """What the answer comes to; None where there is none."""
    is_turned_off: bool = False
    """Whether the cluster said that it has no dynamic configs."""
    dynamic_fault: str = ""
    """Why there is no answer; empty where that is no fault."""
    wait: Callable[[float], object] = field(default=threading.Event().wait, repr=False)
    """Waits for so many seconds."""
    pick: random.Random = field(default_factory=random.SystemRandom, repr=False)
    """Not seeded, so that processes forked from one do not all pick the same node."""
    _search: NodeSearch = field(init=False, repr=False)
    _asks_left: int = field(init=False, default=_MAX_ASKED, repr=False)
    _settling: threading.Lock = field(init=False, repr=False)
    _is_abandoned: bool = field(init=False, default=False, repr=False)

    def __post_init__(self) -> None:
        """Begin with a search that knows nothing."""
        self._search = NodeSearch(self.plan, self.pick)
        self._settling = threading.Lock()

    def abandon(self) -> "Handshake":
        """Return how far it has come; what it comes to from now on counts no more.

        So that no node hears of a configuration that the handle does not have.
        """
        with self._settling:
            self._is_abandoned = True
            return dataclasses.replace(self)

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
        link, served = chosen, offered = found
        self.is_advertised = self._is_pushed_to(served)
        try:
            self._prove(link, served, deadline)
            chosen, offered = self._search.choose_node(found, self._prove, deadline)
            if self.plan.question is not None:
                self._ask(self.plan.question, chosen, offered, deadline)
            if self._is_pushed_to(offered):
                self.is_advertised = True
                self._push(chosen, deadline)
        finally:
            link.close()
            chosen.close()

    def _is_pushed_to(self, served: Served) -> bool:
        return self.plan.is_pushing and self.plan.api_key in served

    def _prove(self, link: BlockingLink, served: Served, deadline: Deadline) -> None:
        """Log in, and say which client instance this is.

        In this order: before a login, a broker takes one ApiVersions and no more.
        """
        login = self.plan.access.login
        if login is not None:
            if login.prepare is not None:
                login.prepare(deadline.remaining_s())
            link.hold(log_in(login, served), deadline)
        if self._is_pushed_to(served):
            link.hold(name_instance(self.plan.software, served), deadline)

    def _ask(
        self, question: Question, link: BlockingLink, served: Served, deadline: Deadline
    ) -> None:
        """Ask for dynamic configs, once in a handshake.

        Raises: one of FAULTS where the connection is of no use any more.
        """
        if self.settled is not None or not self._asks_left:
            return
        if question.api_key not in served:
            return
        self.is_asked, self._asks_left = True, self._asks_left - 1
        share = _SHARE_OF_QUESTION if self.plan.is_pushing else 1
        within = Deadline(deadline.remaining_s() * share)
        try:
            self._ask_within(question, link, within)
        except FAULTS as error:
            self.dynamic_fault = self.dynamic_fault or describe(error)
            deadline.remaining_s()
            if isinstance(error, TimeoutError | MalformedBytes):
                self._asks_left = 0
            raise ConnectionError(self.dynamic_fault) from None

    def _ask_within(
        self, question: Question, link: BlockingLink, within: Deadline
    ) -> None:
        attempt = 0
        while True:
            answer = link.hold(_resolve(question), within)
            if not answer.error_code:
                self._settle(question, answer)
                return
            text = (answer.error_message or "")[:_MAX_MESSAGE_LENGTH]
            said = f": {text}" if text else ""
            self.dynamic_fault = f"error {answer.error_code}{said}"
            if answer.error_code not in RETRIABLE_ERROR_CODES:
                self.is_turned_off = answer.error_code in TURNS_OFF
                self._asks_left = 0
                return
            try:
                self._back_off(attempt, answer.throttle_time_ms, within)
            except DeadlinePassed:
                self._asks_left = 0
                return
            attempt += 1

    def _settle(self, question: Question, answer: Described) -> None:
        values: dict[str, str] = {}
        for entity in answer.entries or ():
            values |= entity.values
        settled = question.settle(values)
        with self._settling:
            if self._is_abandoned:
                raise DeadlinePassed
            self.settled, self.dynamic_fault = settled, ""

    def _push(self, link: BlockingLink, deadline: Deadline) -> None:
        settled = self.settled
        entries = self.plan.entries if settled is None else settled.entries
        attempt = 0
        while True:
            answer = link.hold(push_config(self.plan.api_key, entries), deadline)
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


def _resolve(question: Question) -> Conversation[Described]:
    """Ask what applies to this client, and register what it can take.

    Without components: who asks is what the connection says.
    """
    asked = DescribeRequest(
        supported_configs=question.supported_configs, resolve_entity=True
    )
    return read_described((yield describe_client_configs(asked, question.api_key)))


def _describe_answer(answer: PushAnswer) -> str:
    text = (answer.error_message or "")[:_MAX_MESSAGE_LENGTH]
    if answer.error_code == THROTTLING_QUOTA_EXCEEDED:
        text = text or f"throttled for {answer.throttle_time_ms} ms"
    return f"error {answer.error_code}" + (f": {text}" if text else "")
