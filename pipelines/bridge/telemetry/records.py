"""The record of an accepted push: key, value, headers and timestamp.

Source: the headers stand in docs/reference/topics.md.
"""

import functools

from pipelines.bridge.core.client_identity import id_text
from pipelines.bridge.core.records import (
    OWN_HEADER_BYTES,
    ConnectionHeaders,
    Header,
    Headers,
    Record,
)
from pipelines.bridge.protocol.push_telemetry import COMPRESSION_TYPES, PushRequest

from .rules import ClientInstance

_TERMINATING: dict[bool, Header] = {
    True: ("terminating", b"true"),
    False: ("terminating", b"false"),
}
_COMPRESSION: dict[int, Header] = {
    number: ("compression_type", name.encode())
    for number, name in COMPRESSION_TYPES.items()
}


def make_record(
    request: PushRequest,
    instance: ClientInstance,
    *,
    connection_headers: ConnectionHeaders,
    push_id: bytes,
    received_at_ms: int,
) -> Record:
    """Make the record of one accepted push.

    Units: received_at_ms is in milliseconds since 1970-01-01T00:00:00Z.
    """
    key = id_text(request.client_instance_id)
    headers: Headers = [
        ("client_instance_id", key),
        *connection_headers.headers,
        ("received_at_ms", _number(received_at_ms)),
        ("push_id", push_id),
        ("subscription_id", b"%d" % request.subscription_id),
        ("push_interval_ms", _number(instance.selection.push_interval_ms)),
        _COMPRESSION[request.compression_type],
        _TERMINATING[request.terminating],
    ]
    metrics = request.metrics
    size_bytes = len(metrics) + connection_headers.size_bytes + OWN_HEADER_BYTES
    return tuple.__new__(
        # What a NamedTuple's own constructor does, in half of its time.
        Record,
        (key, metrics, headers, received_at_ms, size_bytes, None, False),
    )


@functools.lru_cache(maxsize=256)
def _number(number: int) -> bytes:
    """Return a number that many pushes have in common as text."""
    return b"%d" % number
