"""The client instances that are remembered, and the rules applied to them.

Strategy: an ordered dict, the least recently heard of first, so that both the size
limit and expiry take from one end. An instance is made by the first GET or push that
names it, so that a push may follow a GET to another bridge. It is forgotten when the
connection closes that made it, when it has expired, and when there are too many.
Source: Kafka, ClientMetricsManager.java; KIP-714.
"""

import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from kio.schema.errors import ErrorCode
from kio.schema.get_telemetry_subscriptions.v0.response import (
    GetTelemetrySubscriptionsResponse,
)
from kio.static.primitive import i8, i32, i32Timedelta

from pipelines.bridge.core.client_identity import (
    ClientIdentity,
    bound_identity,
    uuid_text,
)
from pipelines.bridge.protocol.push_telemetry import RESERVED_INSTANCE_IDS, PushRequest
from pipelines.kafka_wire.messages import NO_THROTTLE

from .rules import (
    ClientInstance,
    expires_after_ms,
    judge_get,
    judge_push,
    take_back_push,
)
from .selections import SubscriptionRegistry
from .subscription_ids import subscription_id

MakeUuid = Callable[[], uuid.UUID]
_UUID_LEADING_DASH = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryLimits:
    """What every client is told, and held to."""

    telemetry_max_bytes: int
    """Largest `metrics` of a push, in bytes as sent."""
    accepted_compression_types: tuple[int, ...]
    """CompressionType ids offered, preferred first; 0 is always allowed."""
    max_client_instances: int


class ClientInstances:
    """State per client instance; clock and randomness come in as arguments."""

    def __init__(
        self,
        *,
        limits: TelemetryLimits,
        registry: SubscriptionRegistry,
        make_uuid: MakeUuid,
    ) -> None:
        self._limits = limits
        self._registry = registry
        self._make_uuid = make_uuid
        # Keyed by the bytes of an id, which take less than half of a UUID's memory.
        self._instances: OrderedDict[bytes, ClientInstance] = OrderedDict()
        self._made_by_connection: dict[int, bytes] = {}
        self._looked_ms = 0
        """When instances that have expired were last looked for."""

    def __len__(self) -> int:
        return len(self._instances)

    def get(
        self,
        requested_id: uuid.UUID | None,
        identity: ClientIdentity,
        *,
        connection_id: int,
        now_ms: int,
    ) -> GetTelemetrySubscriptionsResponse:
        """Answer one GetTelemetrySubscriptions.

        Nulls: No id gets a new one; any other id is taken as it is and sent back.
        Errors: THROTTLING_QUOTA_EXCEEDED(89), in an answer that has defaults only.
        """
        instance_id = requested_id or self.make_instance_id()
        key = instance_id.bytes
        instance = self._find(key, identity, connection_id, now_ms)
        error = judge_get(instance, now_ms=now_ms)
        if error is not ErrorCode.none:
            return refuse_get(error)
        selection = instance.selection
        return GetTelemetrySubscriptionsResponse(
            throttle_time=NO_THROTTLE,
            error_code=ErrorCode.none,
            client_instance_id=instance_id,
            subscription_id=i32(instance.subscription_id),
            accepted_compression_types=tuple(
                i8(one) for one in self._limits.accepted_compression_types
            ),
            push_interval=_to_timedelta(selection.push_interval_ms),
            telemetry_max_bytes=i32(self._limits.telemetry_max_bytes),
            delta_temporality=True,
            requested_metrics=selection.requested_metrics,
        )

    def push(
        self,
        request: PushRequest,
        identity: ClientIdentity,
        *,
        connection_id: int,
        now_ms: int,
    ) -> tuple[ErrorCode, ClientInstance | None]:
        """Decide one PushTelemetry; the instance is None where none was made.

        Errors: INVALID_REQUEST(42) for an id that no client can have, then as
            judge_push says.
        """
        instance_id = request.client_instance_id
        if instance_id in RESERVED_INSTANCE_IDS:
            return ErrorCode.invalid_request, None
        instance = self._find(instance_id, identity, connection_id, now_ms)
        error = judge_push(
            request,
            instance,
            telemetry_max_bytes=self._limits.telemetry_max_bytes,
            now_ms=now_ms,
        )
        return error, instance

    def take_back(self, instance_id: bytes, *, was_terminating: bool) -> None:
        """Note that a push judged well was refused after all."""
        instance = self._instances.get(instance_id)
        if instance is not None:
            take_back_push(instance, was_terminating=was_terminating)

    def forget_connection(self, connection_id: int) -> None:
        """Forget the instance that a closed connection has made."""
        key = self._made_by_connection.pop(connection_id, None)
        if key is not None:
            self._instances.pop(key, None)

    def make_instance_id(self) -> uuid.UUID:
        """Make an id as Kafka's Uuid.randomUuid() does, and one that is not in use."""
        while True:
            made = self._make_uuid()
            key = made.bytes
            is_usable = key not in RESERVED_INSTANCE_IDS and key not in self._instances
            if is_usable and not uuid_text(made).startswith(_UUID_LEADING_DASH):
                return made

    def _find(
        self,
        key: bytes,
        identity: ClientIdentity,
        connection_id: int,
        now_ms: int,
    ) -> ClientInstance:
        # Many requests come in one millisecond.
        if now_ms != self._looked_ms:
            self._looked_ms = now_ms
            self._drop_expired(now_ms)
        instances = self._instances
        instance = instances.get(key)
        if instance is None or instance.expires_ms <= now_ms:
            kept = bound_identity(identity)
            instance = self._make_instance(key, identity, kept)
            self._instances[key] = instance
            self._made_by_connection[connection_id] = key
        elif instance.subscription_version < self._registry.version:
            # A change of subscriptions starts every instance afresh, throttling too.
            instance = self._make_again(key, instance.identity, identity)
            self._instances[key] = instance
            self._made_by_connection[connection_id] = key
        instances.move_to_end(key)
        instance.expires_ms = now_ms + instance.expires_after_ms
        if len(instances) > self._limits.max_client_instances:
            instances.popitem(last=False)
        return instance

    def _drop_expired(self, now_ms: int) -> None:
        while self._instances:
            oldest = next(iter(self._instances))
            if self._instances[oldest].expires_ms > now_ms:
                return
            del self._instances[oldest]

    def _make_again(
        self, key: bytes, kept: ClientIdentity, identity: ClientIdentity
    ) -> ClientInstance:
        """Make an instance of who it was, by what that client said where it is here."""
        is_same = bound_identity(identity) == kept
        return self._make_instance(key, identity if is_same else kept, kept)

    def _make_instance(
        self, key: bytes, identity: ClientIdentity, kept: ClientIdentity
    ) -> ClientInstance:
        instance_id = uuid.UUID(bytes=key)
        selection = self._registry.select(identity, instance_id)
        return ClientInstance(
            identity=kept,
            selection=selection,
            subscription_id=subscription_id(selection.checksum, instance_id),
            subscription_version=self._registry.version,
            expires_after_ms=expires_after_ms(selection.push_interval_ms),
        )


def refuse_get(error: ErrorCode) -> GetTelemetrySubscriptionsResponse:
    """Return the answer to a GET that is refused: an error, and defaults."""
    return GetTelemetrySubscriptionsResponse(
        throttle_time=NO_THROTTLE,
        error_code=error,
        client_instance_id=None,
        subscription_id=i32(0),
        push_interval=_to_timedelta(0),
        telemetry_max_bytes=i32(0),
        delta_temporality=False,
    )


def _to_timedelta(milliseconds: int) -> i32Timedelta:
    return i32Timedelta.parse(timedelta(milliseconds=milliseconds))
