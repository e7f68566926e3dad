"""Records of accepted pushes: key, value, headers and timestamp.

Source: the header list stands in README.md, "Topics".
"""

import functools
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from kio.schema.push_telemetry.v0.request import PushTelemetryRequest

from .client_identity import ClientIdentity, uuid_text
from .telemetry import COMPRESSION_TYPES, ClientInstance

Header = tuple[str, bytes]
RandomBits = Callable[[int], int]
"""Returns a number of so many random bits, as random.getrandbits does."""

_RECORD_OVERHEAD_BYTES = 200
_HEADER_ROOM_BYTES = 65_536
_BOOLEANS = {True: b"true", False: b"false"}
_COUNTER_BITS = 12
_RANDOM_BITS = 62
_TIME_BITS = 48
_UUID_VERSION_7 = 7
_UUID_VARIANT = 0b10


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryRecord:
    """One accepted push as it goes to Kafka."""

    key: bytes
    """client_instance_id as text."""
    value: bytes
    """`metrics` as received, still compressed; empty, never null."""
    headers: list[Header]
    timestamp_ms: int

    @property
    def size_bytes(self) -> int:
        """Bytes that the record holds while it waits, nearly."""
        headers = sum(len(name) + len(value) for name, value in self.headers)
        return len(self.key) + len(self.value) + headers + _RECORD_OVERHEAD_BYTES


def max_record_bytes(telemetry_max_bytes: int) -> int:
    """Return the size that Kafka must take for the largest push with its headers."""
    return telemetry_max_bytes + _HEADER_ROOM_BYTES


class PushIds:
    """Makes push ids: UUIDs of version 7, which grow with time on one bridge.

    Pushes of one millisecond are told apart by a counter, so that the later one also
    sorts later. A clock that steps back does not step the ids back.
    Source: RFC 9562, section 5.7 and 6.2, method 1.
    """

    def __init__(self, random_bits: RandomBits) -> None:
        self._random_bits = random_bits
        self._last_ms = 0
        self._counter = 0

    def make(self, now_ms: int) -> str:
        """Return the next id as text."""
        if now_ms > self._last_ms:
            self._last_ms, self._counter = now_ms, 0
        else:
            self._counter += 1
            if self._counter >> _COUNTER_BITS:
                self._last_ms, self._counter = self._last_ms + 1, 0
        time_bits = self._last_ms % 2**_TIME_BITS
        high = (time_bits << 4 | _UUID_VERSION_7) << _COUNTER_BITS | self._counter
        low = _UUID_VARIANT << _RANDOM_BITS | self._random_bits(_RANDOM_BITS)
        return str(uuid.UUID(int=high << 64 | low))


def identity_headers(identity: ClientIdentity, bridge_id: str) -> tuple[Header, ...]:
    """Return the headers that stay the same for all pushes of a connection.

    Nulls: A client without a client id has no client_id header.
    """
    texts = {
        "client_id": identity.client_id,
        "client_software_name": identity.client_software_name,
        "client_software_version": identity.client_software_version,
        "principal": identity.principal,
        "listener": identity.listener,
        "client_source_address": identity.client_source_address,
        "bridge_id": bridge_id,
    }
    shared = [
        _share_header(name, text) for name, text in texts.items() if text is not None
    ]
    # No two connections have the same.
    return (*shared, ("client_source_port", b"%d" % identity.client_source_port))


@functools.lru_cache(maxsize=16_384)
def _share_header(name: str, text: str) -> Header:
    """Return one object for equal headers: most connections have most in common."""
    return (name, text.encode())


def make_record(
    request: PushTelemetryRequest,
    instance: ClientInstance,
    *,
    connection_headers: tuple[Header, ...],
    push_id: str,
    received_at_ms: int,
) -> TelemetryRecord:
    """Make the record of one accepted push.

    Units: received_at_ms is in milliseconds since 1970-01-01T00:00:00Z.
    """
    if request.client_instance_id is None:
        raise ValueError("an accepted push has a client instance id")
    key = uuid_text(request.client_instance_id).encode()
    return TelemetryRecord(
        key=key,
        value=request.metrics,
        headers=[
            ("client_instance_id", key),
            *connection_headers,
            ("received_at_ms", b"%d" % received_at_ms),
            ("push_id", push_id.encode()),
            ("subscription_id", b"%d" % request.subscription_id),
            ("push_interval_ms", b"%d" % instance.selection.push_interval_ms),
            (
                "compression_type",
                COMPRESSION_TYPES[request.compression_type].encode(),
            ),
            ("terminating", _BOOLEANS[request.terminating]),
        ],
        timestamp_ms=received_at_ms,
    )
