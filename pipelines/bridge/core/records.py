"""Records of all kinds, and what they have in common: headers, ids, bounds.

Source: the headers stand in docs/reference/topics.md.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from udfs.sensitive.bounded_texts import bound_text
from udfs.sensitive.client_ids import (
    CLIENT_ID_KEY,
    HIDDEN_CLIENT_ID,
    find_client_id_rule,
    shorten_unseen,
)
from udfs.sensitive.redacted_keys import REDACTED, Violation
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .client_identity import (
    MAX_CLUSTER_ID_BYTES,
    MAX_TEXT_BYTES,
    ClientIdentity,
    KnownCluster,
    bound_identity,
)

Header = tuple[str, bytes]
Headers = list[tuple[str, str | bytes | None]]
"""Those of one record, as the producer takes them; none is null here."""
RandomBits = Callable[[int], int]
"""Returns a number of so many random bits, as random.getrandbits does."""

_HEADER_ROOM_BYTES = 65_536
OWN_HEADER_BYTES = 450
"""Key and headers of one push, and what a record holds beside its bytes; about."""
_ALLOWED_GROWTH, _ALLOWED_BYTES = 2, 1_000
_COUNTER_BITS = 12
_COUNTER_TEXTS = [b"%03x" % number for number in range(2**_COUNTER_BITS)]
"""Counters as text: formatting one takes longer than all the rest of an id."""
_RANDOM_BITS = 62
_TIME_BITS = 48
_UUID_VARIANT = 0b10


class Record(NamedTuple):
    """What a client has said, as it goes to Kafka."""

    key: bytes
    """client_instance_id as text, or what else tells clients apart."""
    value: bytes
    """Of a push `metrics` as received, still compressed; empty, never null."""
    headers: Headers
    timestamp_ms: int
    size_bytes: int
    """Bytes that the record holds while it waits, nearly."""
    topic: str | None = None
    """None is the publisher's own, that of pushes."""
    is_aside: bool = False
    """Whether its fate says nothing of how Kafka takes pushes."""


Acknowledge = Callable[[bool], None]
Publish = Callable[[Record, Acknowledge], None]
"""Takes a record and says once, now or later, whether Kafka has it."""


def _publish_nothing(_record: Record, _acknowledge: Acknowledge) -> None:
    raise RuntimeError("no publisher is open yet")


class ConnectionHeaders(NamedTuple):
    """The headers that stay the same for all pushes of a connection."""

    headers: tuple[Header, ...]
    size_bytes: int
    client_id: str | None = None
    """As it may be written, and told to a policy; not cut off as in the headers."""
    violations: tuple[Violation, ...] = ()
    """One where the client id may not be written, else none."""
    cluster_id: str | None = None
    """That of a KnownCluster when they were made, the object itself."""


def allowed_bytes(received_bytes: int) -> int:
    """Return how many bytes a record may take for what a client has sent for it.

    Who sends a little must not make Kafka keep much.
    """
    return _ALLOWED_GROWTH * received_bytes + _ALLOWED_BYTES


def max_record_bytes(telemetry_max_bytes: int) -> int:
    """Return the size that Kafka must take for the largest push with its headers."""
    return telemetry_max_bytes + _HEADER_ROOM_BYTES


class PushIds:
    """Makes push ids: UUIDs of version 7, which grow with time on one bridge.

    Pushes of one millisecond share its random bits and are told apart by a counter, so
    that the later one also sorts later. A clock that steps back does not step the ids
    back.
    Source: RFC 9562, section 5.7 and 6.2, method 1.
    """

    def __init__(self, random_bits: RandomBits) -> None:
        self._random_bits = random_bits
        self._last_ms = 0
        self._counter = 0
        self._before_counter = self._behind_counter = b""

    def make(self, now_ms: int) -> bytes:
        """Return the next id as text."""
        counter = self._counter = self._counter + 1
        if now_ms > self._last_ms:
            counter = self._begin(now_ms)
        elif counter >> _COUNTER_BITS:
            counter = self._begin(self._last_ms + 1)
        return self._before_counter + _COUNTER_TEXTS[counter] + self._behind_counter

    def _begin(self, now_ms: int) -> int:
        self._last_ms, self._counter = now_ms, 0
        time = f"{now_ms % 2**_TIME_BITS:012x}"
        low = f"{_UUID_VARIANT << _RANDOM_BITS | self._random_bits(_RANDOM_BITS):016x}"
        self._before_counter = f"{time[:8]}-{time[8:]}-7".encode()
        self._behind_counter = f"-{low[:4]}-{low[4:]}".encode()
        return 0


def identity_headers(
    identity: ClientIdentity,
    bridge_id: str,
    rules: SensitiveKeyRules,
    cluster_id: str | None = None,
) -> ConnectionHeaders:
    """Return the headers that stay the same for all pushes of a connection.

    Each push repeats them, and a client says most of them once: so they are bounded.

    Args:
        identity: Who is connected, as the client said it.
        bridge_id: Name of this bridge.
        rules: A client id that they hide as a value is not in the headers.
        cluster_id: Of the cluster that the connection is for.
    Nulls: A client without a client id has no client_id header, and so it is with a
        cluster that has not said its id, and with a broker where there is none.
    """
    client_id = identity.client_id
    shown, rule = (None, None) if client_id is None else hide_secret(client_id, rules)
    # What is hidden is judged as it was said, and no hash of it is written.
    written = bound_identity(identity)
    texts = {
        # A stand-in is short, and bound once more it would be another's.
        "client_id": written.client_id if shown is client_id else shown,
        "client_software_name": written.client_software_name,
        "client_software_version": written.client_software_version,
        "principal": written.principal,
        "listener": written.listener,
        "client_source_address": written.client_source_address,
        "bridge_id": bound_text(bridge_id, MAX_TEXT_BYTES),
        "cluster_id": cluster_id and bound_text(cluster_id, MAX_CLUSTER_ID_BYTES),
        "broker_id": None if identity.broker_id is None else str(identity.broker_id),
    }
    headers = (
        *(
            _share_header(name, text)
            for name, text in texts.items()
            if text is not None
        ),
        # No two connections have the same.
        ("client_source_port", b"%d" % identity.client_source_port),
    )
    size_bytes = sum(len(name) + len(value) for name, value in headers)
    return ConnectionHeaders(
        headers=headers,
        size_bytes=size_bytes,
        client_id=shown,
        violations=() if rule is None else (Violation(CLIENT_ID_KEY, rule, REDACTED),),
        cluster_id=cluster_id,
    )


def hide_secret(client_id: str, rules: SensitiveKeyRules) -> tuple[str, str | None]:
    """Return a client ID as it may be written, and the rule that hides it, if any.

    Returns: The same object if no rule hides it; it may still be too long.
    """
    rule = find_client_id_rule(client_id, rules)
    return (
        (shorten_unseen(client_id), None) if rule is None else (HIDDEN_CLIENT_ID, rule)
    )


@functools.lru_cache(maxsize=16_384)
def _share_header(name: str, text: str) -> Header:
    """Return one object for equal headers: most connections have most in common."""
    return (name, text.encode())


@dataclass(slots=True, kw_only=True)
class RecordOutlet:
    """Destination of the records of one bridge, and what all of them need."""

    push_ids: PushIds
    now_ms: Callable[[], int]
    """Milliseconds since 1970-01-01T00:00:00Z."""
    cluster: KnownCluster = field(default_factory=KnownCluster)
    """The cluster that connections are for."""
    publish: Publish = _publish_nothing
    """Set before handlers are read."""
