"""What requests of telemetry and configurations cost their clients.

Strategy: around the handlers of others. A client without a limit costs one look. For
one that has limits the size of a push is recorded with its answer. Where its time is
limited, that of its handlers and of their answers is taken, and recorded with an answer
when it has become half a millisecond. An answer tells at once how
long the client is to wait. Where the connection can be held, it is not read for so
long, since Java's clients do not look at what they are told (KIP-219), but for one
quota window at most: what comes while the wait is longer than that is refused.
Behind the proxy it carries data, which is never held: there pushes are refused until
the time is over.
Source: KIP-55, KIP-124, KIP-219, KIP-714 "Throttling and rate-limiting".
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from kio.schema.errors import ErrorCode

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import Connection, ServedRequest, WriteReply
from pipelines.bridge.protocol.api_keys import (
    GET_TELEMETRY_SUBSCRIPTIONS,
    PUSH_TELEMETRY,
)
from pipelines.bridge.protocol.push_config import (
    PushConfigRequest,
    write_push_config_response,
)
from pipelines.bridge.protocol.push_telemetry import PushRequest
from pipelines.bridge.protocol.replies import (
    encode_push_reply,
    encode_reply,
    tell_throttle_time,
)
from pipelines.bridge.protocol.requests import Request

from .shares import NS_PER_MS, Claim, ClientQuotas


def _size_of(body: object) -> int:
    """Return the bytes of a request that count: of its metrics, or entries."""
    if isinstance(body, PushRequest):
        return len(body.metrics)
    return body.body_bytes if isinstance(body, PushConfigRequest) else 0


class QuotaMeter:
    """Records what is answered; lives in one event loop."""

    def __init__(
        self,
        quotas: ClientQuotas,
        counters: BridgeCounters,
        now_ns: Callable[[], int],
        *,
        push_config_key: int | None,
    ) -> None:
        """Take where it is recorded.

        Args:
            now_ns: A clock that never steps back, in nanoseconds.
            push_config_key: API key of PushConfig; None where it is not served.
        """
        self._quotas = quotas
        self._counters = counters
        self._now_ns = now_ns
        self._noted_ns = 0
        """Time that was somebody's already: what one request brings about is not
        another one's as well."""
        self._refusals: Mapping[int | None, Callable[[Request], bytes]] = {
            PUSH_TELEMETRY: lambda request: self._refuse_push(request.correlation_id),
            push_config_key: _refuse_config,
        }

    def meter(self, served: ServedRequest) -> ServedRequest:
        """Return what answers an API, its costs recorded where they count."""
        api_key = served.api.api_key
        refuse = self._refusals.get(api_key)
        if refuse is None and api_key != GET_TELEMETRY_SUBSCRIPTIONS:
            return served
        return replace(
            served,
            handle=partial(self._handle, served, refuse),
            take_push=served.take_push and partial(self._take_push, served.take_push),
        )

    def _handle(
        self,
        served: ServedRequest,
        refuse: Callable[[Request], bytes] | None,
        request: Request,
        connection: Connection,
        reply: WriteReply,
    ) -> None:
        claim: Claim | None = connection.quotas
        if claim is None or claim.of is not self._quotas.limits:
            claim = self._quotas.claim(connection)
        if claim.is_free:
            served.handle(request, connection, reply)
            return
        began_ns, noted_ns = self._now_ns(), self._noted_ns
        if refuse is not None:
            rest_ms = claim.rest_ms(began_ns // NS_PER_MS)
            if rest_ms > self._most_held_ms(connection):
                self._hold_back(claim, rest_ms, connection)
                reply(tell_throttle_time(refuse(request), rest_ms))
                return
        size_bytes = _size_of(request.body)
        answer = partial(self._answer, claim, size_bytes, connection, reply)
        served.handle(request, connection, answer)
        spent_ns = self._now_ns() - began_ns
        claim.spent_ns += spent_ns - (self._noted_ns - noted_ns)
        self._noted_ns = noted_ns + spent_ns

    def _take_push(
        self,
        take_push: Callable[[int, PushRequest, Connection, WriteReply], None],
        correlation_id: int,
        push: PushRequest,
        connection: Connection,
        reply: WriteReply,
    ) -> None:
        # As _handle, which is no part of it: this is what comes often.
        claim: Claim | None = connection.quotas
        if claim is None or claim.of is not self._quotas.limits:
            claim = self._quotas.claim(connection)
        if claim.is_free:
            take_push(correlation_id, push, connection, reply)
            return
        if claim.push is not None and claim.push.until_ms:
            rest_ms = claim.rest_ms(self._now_ns() // NS_PER_MS)
            if rest_ms > self._most_held_ms(connection):
                self._hold_back(claim, rest_ms, connection)
                reply(tell_throttle_time(self._refuse_push(correlation_id), rest_ms))
                return
        answer = partial(self._answer, claim, len(push.metrics), connection, reply)
        if claim.time is None:
            take_push(correlation_id, push, connection, answer)
            return
        began_ns, noted_ns = self._now_ns(), self._noted_ns
        take_push(correlation_id, push, connection, answer)
        spent_ns = self._now_ns() - began_ns
        claim.spent_ns += spent_ns - (self._noted_ns - noted_ns)
        self._noted_ns = noted_ns + spent_ns

    def _answer(
        self,
        claim: Claim,
        size_bytes: int,
        connection: Connection,
        reply: WriteReply,
        whole: bytes,
    ) -> None:
        began_ns = self._now_ns()
        wait_ms = claim.charge(size_bytes, began_ns // NS_PER_MS)
        if wait_ms:
            self._counters.quota_throttled_answers += 1
            # Before the answer, behind which the next request may stand already.
            self._hold_back(claim, wait_ms, connection)
            whole = tell_throttle_time(whole, wait_ms)
        if claim.time is None:
            reply(whole)
            return
        noted_ns = self._noted_ns
        reply(whole)
        spent_ns = self._now_ns() - began_ns
        claim.spent_ns += spent_ns - (self._noted_ns - noted_ns)
        self._noted_ns = noted_ns + spent_ns

    def _most_held_ms(self, connection: Connection) -> int:
        """Return how long a request of this connection may wait to be read."""
        return 0 if connection.holder is None else self._quotas.most_held_ms

    def _hold_back(self, claim: Claim, wait_ms: int, connection: Connection) -> None:
        """Hold a connection that can be held, until its limits change at most."""
        if connection.holder is not None:
            held_ms = min(wait_ms, self._quotas.most_held_ms)
            connection.holder.hold_back(
                held_ms, lambda: claim.of is not self._quotas.limits
            )

    def _refuse_push(self, correlation_id: int) -> bytes:
        self._counters.quota_refused_pushes += 1
        error = ErrorCode.throttling_quota_exceeded
        return encode_push_reply(correlation_id, error)


def _refuse_config(request: Request) -> bytes:
    error = ErrorCode.throttling_quota_exceeded
    return encode_reply(request, write_push_config_response(error.value, None))
