"""What a bridge has counted since it started; numbers only."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from kio.schema.errors import ErrorCode


@dataclass(slots=True)
class BridgeCounters:
    """Counts since the start; `open_connections` is the number right now."""

    open_connections: int = 0
    connections: int = 0
    gets: int = 0
    throttled_gets: int = 0
    accepted_pushes: int = 0
    """Answered without an error, after Kafka's acknowledgement."""
    throttled_pushes: int = 0
    """Too early; the client's own interval."""
    unknown_subscription_pushes: int = 0
    unsupported_compression_pushes: int = 0
    too_large_pushes: int = 0
    invalid_pushes: int = 0
    """Reserved client instance id, or behind a terminating push."""
    publish_timeouts: int = 0
    """Refused since Kafka did not acknowledge in time."""
    publish_overflows: int = 0
    """Refused at once since too many bytes waited for Kafka."""
    publish_failures: int = 0
    """Refused since Kafka or the producer said no."""
    late_acknowledgements: int = 0
    """Refused by timeout or at the stop, and stored by Kafka after all."""
    authentications: int = 0
    """By SASL, first and later ones of a connection."""
    failed_authentications: int = 0
    """By SASL, and certificates that no rule makes a principal of."""
    failed_tls_handshakes: int = 0
    expired_sessions: int = 0
    refused_connections: int = 0
    """Beyond limits.max_connections or limits.max_connections_per_address."""
    crowded_out_handshakes: int = 0
    """Beyond limits.max_unauthenticated_connections."""
    crowded_out_requests: int = 0
    """Beyond limits.max_buffered_request_bytes."""
    handshake_timeouts: int = 0
    request_timeouts: int = 0
    write_timeouts: int = 0
    idle_timeouts: int = 0
    malformed_requests: int = 0
    unsupported_requests: int = 0

    def count_refused_push(self, error: ErrorCode) -> None:
        """Count a push that the rules did not accept."""
        name = _REFUSALS[error]
        setattr(self, name, getattr(self, name) + 1)

    def as_text(self) -> str:
        """Return `name=count` pairs for a log line."""
        return " ".join(f"{name}={count}" for name, count in asdict(self).items())


_REFUSALS: Mapping[ErrorCode, str] = {
    ErrorCode.throttling_quota_exceeded: "throttled_pushes",
    ErrorCode.unknown_subscription_id: "unknown_subscription_pushes",
    ErrorCode.unsupported_compression_type: "unsupported_compression_pushes",
    ErrorCode.telemetry_too_large: "too_large_pushes",
    ErrorCode.invalid_request: "invalid_pushes",
}
