"""Verdicts on GetTelemetrySubscriptions and PushTelemetry, in Kafka's order of checks.

Strategy: one record per client instance, changed in place, since a copy for each push
would cost as much as all the rules. Times are compared as Kafka compares them: exactly
one push interval later is due. Two answers differ from some brokers on purpose: asking
again right after UNKNOWN_SUBSCRIPTION_ID or UNSUPPORTED_COMPRESSION_TYPE is allowed,
and a terminating push that was refused does not lock its instance out (KAFKA-20898).
KIP-714 holds a terminating push to the interval, released brokers never do: here one
that is early is accepted once an interval, so that no client can push without a limit.
INVALID_RECORD is never answered: payloads are not looked at here, and clients that
hear it fall silent until they restart.
Source: KIP-714; Kafka, ClientMetricsManager.java, ClientMetricsInstance.java.
"""

import functools
from dataclasses import dataclass

from kio.schema.errors import ErrorCode

from pipelines.bridge.core.client_identity import ClientIdentity
from pipelines.bridge.protocol.push_telemetry import COMPRESSION_TYPES, PushRequest

from .selections import Selection

_MAY_ASK_AGAIN_AFTER = frozenset(
    {ErrorCode.unknown_subscription_id, ErrorCode.unsupported_compression_type}
)
_SHORTEST_EXPIRY_MS = 60_000
_INTERVALS_UNTIL_EXPIRY = 3


@dataclass(slots=True, kw_only=True)
class ClientInstance:
    """What is remembered of one client instance; times are epoch milliseconds."""

    identity: ClientIdentity
    """As it was when the instance was first seen; long texts by their stand-ins."""
    selection: Selection
    subscription_id: int
    """int32 that the instance's pushes must carry."""
    subscription_version: int
    """Version of the registry that selection comes from."""
    last_get_ms: int = 0
    last_push_ms: int = 0
    last_error: ErrorCode = ErrorCode.none
    is_terminating: bool = False
    last_early_ms: int = 0
    """When a terminating push was accepted before its interval was over."""
    expires_ms: int = 0
    """When it is forgotten, if nothing is heard of it."""
    expires_after_ms: int = 0
    """Milliseconds without a request after which it is forgotten."""


@functools.lru_cache(maxsize=1_024)
def expires_after_ms(push_interval_ms: int) -> int:
    """Return how long a silent client instance is kept; instances share the number."""
    return max(_SHORTEST_EXPIRY_MS, _INTERVALS_UNTIL_EXPIRY * push_interval_ms)


def judge_get(instance: ClientInstance, *, now_ms: int) -> ErrorCode:
    """Decide one GetTelemetrySubscriptions and note it.

    Units: now_ms is in milliseconds since 1970-01-01T00:00:00Z.
    Errors: THROTTLING_QUOTA_EXCEEDED(89) before the interval is over; it changes
        nothing. A request that is early but allowed does not count as the interval's
        own, so the push behind it waits as it would have without it; brokers do so too.
    """
    last_ms = max(instance.last_get_ms, instance.last_push_ms)
    if now_ms - last_ms >= instance.selection.push_interval_ms:
        instance.last_get_ms = now_ms
    elif instance.last_error not in _MAY_ASK_AGAIN_AFTER:
        return ErrorCode.throttling_quota_exceeded
    instance.last_error = ErrorCode.none
    return ErrorCode.none


def judge_push(
    request: PushRequest,
    instance: ClientInstance,
    *,
    telemetry_max_bytes: int,
    now_ms: int,
) -> ErrorCode:
    """Decide one PushTelemetry and note it; past the rate check it has used its slot.

    Units: now_ms is in milliseconds since 1970-01-01T00:00:00Z, telemetry_max_bytes
        counts metrics as sent.
    Errors: INVALID_REQUEST(42) after a terminating push, THROTTLING_QUOTA_EXCEEDED(89),
        UNKNOWN_SUBSCRIPTION_ID(117), UNSUPPORTED_COMPRESSION_TYPE(76),
        TELEMETRY_TOO_LARGE(118).
    """
    if instance.is_terminating:
        instance.is_terminating = request.terminating
        instance.last_error = ErrorCode.invalid_request
        return ErrorCode.invalid_request
    interval_ms, last_ms = instance.selection.push_interval_ms, instance.last_push_ms
    is_first_since_get = instance.last_get_ms > last_ms
    is_early = not is_first_since_get and now_ms - last_ms < interval_ms
    if not is_early:
        instance.last_push_ms = now_ms
    elif not request.terminating or now_ms - instance.last_early_ms < interval_ms:
        instance.last_error = ErrorCode.throttling_quota_exceeded
        return ErrorCode.throttling_quota_exceeded
    error = ErrorCode.none
    if request.subscription_id != instance.subscription_id:
        error = ErrorCode.unknown_subscription_id
    elif request.compression_type not in COMPRESSION_TYPES:
        error = ErrorCode.unsupported_compression_type
    elif len(request.metrics) > telemetry_max_bytes:
        error = ErrorCode.telemetry_too_large
    else:
        instance.is_terminating = request.terminating
        if is_early:
            instance.last_early_ms = now_ms
    instance.last_error = error
    return error


def take_back_push(instance: ClientInstance, *, was_terminating: bool) -> None:
    """Take back the acceptance of a push that Kafka did not take.

    Its slot stays used: the client comes back after its interval. A terminating push
    may come again at once.
    """
    if was_terminating:
        instance.is_terminating = False
        instance.last_early_ms = 0
    instance.last_error = ErrorCode.throttling_quota_exceeded
