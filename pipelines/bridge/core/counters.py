"""What a bridge has counted since it started; numbers only."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields

from kio.schema.errors import ErrorCode

from pipelines.kafka_client.primitives import MalformedBytes, WireError

Snapshot = Callable[[], Mapping[str, float | Mapping[str, float]]]
"""Kafka's metric names to a number, or to one number per client_instance_id."""
_MS = 1_000
_SLOWEST_BITS = 16


class LatencyCounts:
    """How many took how long; classes end at 1, 2, 4, … 32,768 ms."""

    __slots__ = ("counts", "total_s")

    def __init__(self) -> None:
        self.counts = [0] * (_SLOWEST_BITS + 1)
        """Of each class, shortest first; the last one has no end."""
        self.total_s = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        bits = int(seconds * _MS).bit_length()
        # min() would take as long as all the rest.
        self.counts[bits if bits < _SLOWEST_BITS else _SLOWEST_BITS] += 1  # noqa: FURB136
        self.total_s += seconds

    def cumulative(self) -> Iterator[tuple[float, int]]:
        """Return the end of each class in seconds, and how many took no longer."""
        reached = 0
        for bits, count in enumerate(self.counts):
            reached += count
            yield 2**bits / _MS if bits < _SLOWEST_BITS else float("inf"), reached


class AnswerCounts:
    """Answers by API key and error code; None where an answer has none of its own."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: dict[tuple[int, int | None], int] = {}

    def add(self, api_key: int, error_code: int | None) -> None:
        """Count one."""
        key = api_key, error_code
        self.counts[key] = self.counts.get(key, 0) + 1


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
    malformed_responses: int = 0
    """Of brokers behind the proxy; the end of that client's connection."""
    delayed_responses: int = 0
    """ShareFetch responses that waited for proxy.max_buffered_response_bytes."""
    stalled_responses: int = 0
    """Proxied connections closed because a held response made no progress while others
    waited for limits.write_timeout_ms."""
    failed_upstream_connections: int = 0
    """Clients of the proxy whose broker could not be reached."""
    quota_throttled_answers: int = 0
    """That told a client to wait, since its quota-id was beyond a limit."""
    quota_refused_pushes: int = 0
    """Behind the proxy, where data cannot wait: the quota-id was beyond a limit."""
    delayed_connections: int = 0
    """Beyond connection_creation_rate of their address."""
    failed_quota_looks: int = 0
    """At the quotas of the clients' cluster; those before stay in force."""
    keep_alive_requests: int = 0
    """The proxy's own, to brokers that would hear nothing of clients that push."""
    late_telemetry_answers: int = 0
    """Refused by the proxy, so that data need not wait for the telemetry Kafka."""
    wire_config_records: int = 0
    """Records of configurations seen on the wire, after Kafka's acknowledgement."""
    unreadable_wire_requests: int = 0
    """Passed on, though their configurations could not be read."""
    lost_wire_configs: int = 0
    """Not published: too many clients wait for that, or no record can hold them."""
    traffic_records: int = 0
    """Records of what clients produce and fetch, after Kafka's acknowledgement."""
    lost_traffic_records: int = 0
    """Not published: too many clients, or no record can hold one."""
    aside_record_failures: int = 0
    """Attempts at records that are no pushes, which Kafka did not take; tried again."""
    unexpected_errors: int = 0
    """Faults of the bridge itself; the log names their places."""
    received_bytes: int = 0
    sent_bytes: int = 0
    proxied_request_bytes: int = 0
    """From clients to their brokers, what is answered here included."""
    proxied_response_bytes: int = 0
    answers: AnswerCounts = field(default_factory=AnswerCounts)
    """Of the APIs whose parts do not count for themselves."""
    publish_latency: LatencyCounts = field(default_factory=LatencyCounts)
    """From handing a record to the producer to Kafka's acknowledgement."""

    def numbers(self) -> dict[str, int]:
        """Return the plain counts by name."""
        values = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {name: value for name, value in values if isinstance(value, int)}

    def count_refused_push(self, error: ErrorCode) -> None:
        """Count a push that the rules did not accept."""
        name = _REFUSALS[error]
        setattr(self, name, getattr(self, name) + 1)

    def count_bad_request(self, error: WireError) -> str:
        """Count a request that ends its connection; return the reason for the log."""
        if isinstance(error, MalformedBytes):
            self.malformed_requests += 1
            return "malformed_request"
        self.unsupported_requests += 1
        return "unsupported_request"

    def as_text(self) -> str:
        """Return `name=count` pairs for a log line; what is 0 is left out."""
        counted = ((name, count) for name, count in self.numbers().items() if count)
        pairs = " ".join(f"{name}={count}" for name, count in counted)
        return pairs or "nothing has come yet"


_REFUSALS: Mapping[ErrorCode, str] = {
    ErrorCode.throttling_quota_exceeded: "throttled_pushes",
    ErrorCode.unknown_subscription_id: "unknown_subscription_pushes",
    ErrorCode.unsupported_compression_type: "unsupported_compression_pushes",
    ErrorCode.telemetry_too_large: "too_large_pushes",
    ErrorCode.invalid_request: "invalid_pushes",
}
