"""What requests show of the configuration of the client that sends them.

Strategy: each reader goes through a request as far as there is something to see, and
notes a value once it is whole; so of a request that is cut off, what stands before the
cut is seen. Of records only the head of the first batch is read. Nothing is reserved
for a length that a peer claims, and each step of a loop takes bytes.
What comes back when bytes are short or bad: MalformedBytes from the cursor.
Source: Kafka, ProduceRequest.json, FetchRequest.json, InitProducerIdRequest.json,
JoinGroupRequest.json, ConsumerGroupHeartbeatRequest.json,
ShareGroupHeartbeatRequest.json, ShareFetchRequest.json; KIP-98 for the head of a record
batch.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pipelines.kafka_client.primitives import Cursor

Seen = dict[str, str]
"""Config key to value, as texts."""
UUID_BYTES = 16


def read_string(cursor: Cursor, *, is_compact: bool) -> str | None:
    """Return a string of the older or the compact form; None for null."""
    return cursor.read_compact_string() if is_compact else cursor.read_legacy_string()


def read_count(cursor: Cursor, *, is_compact: bool) -> int:
    """Return how many items are claimed; none for null. Nothing is made of it."""
    count = cursor.read_uvarint() - 1 if is_compact else cursor.read_int32()
    return max(count, 0)


def skip_topic(cursor: Cursor, *, has_id: bool, is_compact: bool) -> None:
    """Pass over the name of a topic, or its id."""
    if has_id:
        cursor.skip(UUID_BYTES)
    else:
        read_string(cursor, is_compact=is_compact)


def note(seen: Seen, key: str, text: str | None) -> None:
    """Take a value that is there."""
    if text is not None:
        seen[key] = text


_ACKS_TIMEOUT = struct.Struct(">hi")
_TWO_INT32 = struct.Struct(">ii")
_BYTE = struct.Struct(">b")
_INT32_BYTES = 4
_BATCH_HEAD = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, crc, attributes, last offset delta, two
timestamps, producer id, producer epoch, base sequence, count."""
_LENGTH_AT, _MAGIC_AT, _ATTRIBUTES_AT, _PRODUCER_ID_AT = 1, 3, 5, 9
_BEFORE_LENGTH_END = 12
"""Bytes of a batch that its length does not count."""
_BATCH_MAGIC = 2
_CODEC_BITS = 7
_CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_ACKS = {-1: "all"}
_ISOLATION_LEVELS = {0: "read_uncommitted", 1: "read_committed"}
# The first version with what each name says.
_PRODUCE_WITH_TRANSACTION = 3
PRODUCE_FLEXIBLE = 9
_PRODUCE_BY_TOPIC_ID = 13
_FETCH_WITH_MAX_BYTES = 3
_FETCH_WITH_ISOLATION = 4
_FETCH_WITH_LOG_START = 5
_FETCH_WITH_SESSION = 7
_FETCH_WITH_LEADER_EPOCH = 9
_FETCH_WITH_RACK = 11
FETCH_FLEXIBLE = 12
_FETCH_BY_TOPIC_ID = 13
_FETCH_WITHOUT_REPLICA = 15
_NO_SESSION, _FINAL_EPOCH = 0, -1
"""Of the last Fetch in a session, whose limits are not the configured ones."""
INIT_FLEXIBLE = 2


def read_produce(cursor: Cursor, version: int, seen: Seen) -> None:
    """Read a Produce request, up to the head of its first batch."""
    is_compact = version >= PRODUCE_FLEXIBLE
    if version >= _PRODUCE_WITH_TRANSACTION:
        transactional_id = read_string(cursor, is_compact=is_compact)
        note(seen, "transactional.id", transactional_id)
    acks, timeout_ms = cursor.unpack(_ACKS_TIMEOUT)
    seen["acks"] = _ACKS.get(acks, str(acks))
    seen["request.timeout.ms"] = str(timeout_ms)
    if not read_count(cursor, is_compact=is_compact):
        return
    skip_topic(cursor, has_id=version >= _PRODUCE_BY_TOPIC_ID, is_compact=is_compact)
    if not read_count(cursor, is_compact=is_compact):
        return
    cursor.skip(_INT32_BYTES)  # the partition
    records_bytes = read_count(cursor, is_compact=is_compact)
    if records_bytes >= _BATCH_HEAD.size:
        _read_batch_head(cursor.unpack(_BATCH_HEAD), seen)


def _read_batch_head(head: tuple[int, ...], seen: Seen) -> None:
    if head[_MAGIC_AT] != _BATCH_MAGIC:
        # An older format; no client of today sends it.
        return
    codec = _CODECS.get(head[_ATTRIBUTES_AT] & _CODEC_BITS)
    note(seen, "compression.type", codec)
    is_idempotent = head[_PRODUCER_ID_AT] >= 0
    seen["enable.idempotence"] = "true" if is_idempotent else "false"
    batch_bytes = max(head[_LENGTH_AT], 0) + _BEFORE_LENGTH_END
    # To a power of two: what grows by a few bytes is no change.
    seen["batch.size"] = str(1 << (batch_bytes.bit_length() - 1))


def read_fetch(cursor: Cursor, version: int, seen: Seen) -> None:
    """Read a Fetch request."""
    is_compact, has_id = version >= FETCH_FLEXIBLE, version >= _FETCH_BY_TOPIC_ID
    if version < _FETCH_WITHOUT_REPLICA and cursor.read_int32() >= 0:
        # A broker that follows has none of the configs of clients.
        return
    max_wait_ms, min_bytes = cursor.unpack(_TWO_INT32)
    has_max_bytes = version >= _FETCH_WITH_MAX_BYTES
    max_bytes = str(cursor.read_int32()) if has_max_bytes else None
    level = cursor.unpack(_BYTE)[0] if version >= _FETCH_WITH_ISOLATION else -1
    session_id, epoch = _NO_SESSION, 0
    if version >= _FETCH_WITH_SESSION:
        session_id, epoch = cursor.unpack(_TWO_INT32)
        if epoch == _FINAL_EPOCH and session_id != _NO_SESSION:
            return
    seen["fetch.max.wait.ms"] = str(max_wait_ms)
    seen["fetch.min.bytes"] = str(min_bytes)
    note(seen, "fetch.max.bytes", max_bytes)
    note(seen, "isolation.level", _ISOLATION_LEVELS.get(level))
    _read_fetched(cursor, version, seen)
    if epoch == _FINAL_EPOCH and "max.partition.fetch.bytes" not in seen:
        # Clients without sessions send this epoch with each Fetch, and always ask for
        # partitions unless they close.
        seen.clear()
        return
    if version >= _FETCH_WITH_SESSION:
        for _ in range(read_count(cursor, is_compact=is_compact)):
            skip_topic(cursor, has_id=has_id, is_compact=is_compact)
            count = read_count(cursor, is_compact=is_compact)
            cursor.skip(_INT32_BYTES * count)
            if is_compact:
                cursor.skip_tagged_fields()
    if version >= _FETCH_WITH_RACK:
        note(seen, "client.rack", read_string(cursor, is_compact=is_compact) or None)


def _read_fetched(cursor: Cursor, version: int, seen: Seen) -> None:
    """Pass over the partitions of a fetch; the first one says how much it may be."""
    is_compact, has_id = version >= FETCH_FLEXIBLE, version >= _FETCH_BY_TOPIC_ID
    # Partition and offset; then leader epoch, log start offset, last fetched epoch.
    before_max_bytes = (
        12
        + 4 * (version >= _FETCH_WITH_LEADER_EPOCH)
        + 8 * (version >= _FETCH_WITH_LOG_START)
        + 4 * is_compact
    )
    for _ in range(read_count(cursor, is_compact=is_compact)):
        skip_topic(cursor, has_id=has_id, is_compact=is_compact)
        for _ in range(read_count(cursor, is_compact=is_compact)):
            cursor.skip(before_max_bytes)
            max_bytes = cursor.read_int32()
            if "max.partition.fetch.bytes" not in seen:
                seen["max.partition.fetch.bytes"] = str(max_bytes)
            if is_compact:
                cursor.skip_tagged_fields()
        if is_compact:
            cursor.skip_tagged_fields()


def read_init_producer_id(cursor: Cursor, version: int, seen: Seen) -> None:
    """Read an InitProducerId request, as far as its timeout."""
    transactional_id = read_string(cursor, is_compact=version >= INIT_FLEXIBLE)
    timeout_ms = cursor.read_int32()
    # Nobody else asks for a producer id.
    seen["enable.idempotence"] = "true"
    if transactional_id is not None:
        seen["transactional.id"] = transactional_id
        seen["transaction.timeout.ms"] = str(timeout_ms)


_CONSUMERS = "consumer"
"""Protocol type of groups of consumers; others (connect) have configs of their own."""
_MOST_ASSIGNORS = 32
_UNCHANGED_MS = -1
# The first version with what each name says.
_JOIN_WITH_INSTANCE = 5
JOIN_FLEXIBLE = 6


def read_join_group(cursor: Cursor, version: int, seen: Seen) -> None:
    """Read a JoinGroup request of a consumer."""
    is_compact = version >= JOIN_FLEXIBLE
    group_id = read_string(cursor, is_compact=is_compact)
    session_timeout_ms = cursor.read_int32()
    rebalance_timeout_ms = cursor.read_int32() if version >= 1 else None
    read_string(cursor, is_compact=is_compact)  # the member
    instance_id = None
    if version >= _JOIN_WITH_INSTANCE:
        instance_id = read_string(cursor, is_compact=is_compact)
    if read_string(cursor, is_compact=is_compact) != _CONSUMERS:
        return
    note(seen, "group.id", group_id)
    seen["group.protocol"] = "classic"
    seen["session.timeout.ms"] = str(session_timeout_ms)
    note(seen, "group.instance.id", instance_id)
    if rebalance_timeout_ms is not None:
        seen["max.poll.interval.ms"] = str(rebalance_timeout_ms)
    names = []
    for _ in range(min(read_count(cursor, is_compact=is_compact), _MOST_ASSIGNORS)):
        names.append(read_string(cursor, is_compact=is_compact) or "")
        cursor.skip(read_count(cursor, is_compact=is_compact))  # the subscription
        if is_compact:
            cursor.skip_tagged_fields()
    seen["partition.assignment.strategy"] = ",".join(names)


def read_consumer_group_heartbeat(cursor: Cursor, version: int, seen: Seen) -> None:
    """Read a ConsumerGroupHeartbeat request."""
    group_id = cursor.read_compact_string()
    cursor.read_compact_string()  # the member
    cursor.read_int32()  # its epoch
    # What is null, or -1, is as it was.
    instance_id, rack = cursor.read_compact_string(), cursor.read_compact_string()
    rebalance_timeout_ms = cursor.read_int32()
    for _ in range(read_count(cursor, is_compact=True)):
        cursor.read_compact_string()  # a topic
    if version >= 1:
        cursor.read_compact_string()  # the pattern of topics
    assignor = cursor.read_compact_string()
    note(seen, "group.id", group_id)
    seen["group.protocol"] = "consumer"
    note(seen, "group.instance.id", instance_id)
    note(seen, "client.rack", rack or None)
    if rebalance_timeout_ms != _UNCHANGED_MS:
        seen["max.poll.interval.ms"] = str(rebalance_timeout_ms)
    note(seen, "group.remote.assignor", assignor)


def read_share_group_heartbeat(cursor: Cursor, _version: int, seen: Seen) -> None:
    """Read a ShareGroupHeartbeat request."""
    group_id = cursor.read_compact_string()
    cursor.read_compact_string()  # the member
    cursor.read_int32()  # its epoch
    rack = cursor.read_compact_string()
    note(seen, "group.id", group_id)
    note(seen, "client.rack", rack or None)


def read_share_fetch(cursor: Cursor, _version: int, seen: Seen) -> None:
    """Read a ShareFetch request, as far as its sizes."""
    group_id = cursor.read_compact_string()
    cursor.read_compact_string()  # the member
    if cursor.read_int32() == _FINAL_EPOCH:
        return
    max_wait_ms, min_bytes = cursor.unpack(_TWO_INT32)
    max_bytes = cursor.read_int32()
    note(seen, "group.id", group_id)
    seen["fetch.max.wait.ms"] = str(max_wait_ms)
    seen["fetch.min.bytes"] = str(min_bytes)
    seen["fetch.max.bytes"] = str(max_bytes)


PRODUCE, FETCH, JOIN_GROUP, INIT_PRODUCER_ID = 0, 1, 11, 22
CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT, SHARE_FETCH = 68, 76, 78


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """One API whose requests show something."""

    versions: range
    first_flexible: int
    client_type: str
    """Of clients that send it."""
    read: Callable[[Cursor, int, Seen], None]
    """Takes the body, its version, and what is seen, to which it adds."""


def read_wire_configs(
    api_key: int, api_version: int, head_rest: bytes, client_id_bytes: int, seen: Seen
) -> str | None:
    """Note what one request shows.

    Args:
        api_key: One of WIRE_REQUESTS.
        head_rest: The request from its client id on, behind that one's length.
        client_id_bytes: That length; -1 for null.
        seen: Gets the values, each once it is whole.
    Returns: The client id; null where it is.
    Raises: MalformedBytes where the bytes end too early, or are no such request.
    """
    request = WIRE_REQUESTS[api_key]
    client_id = None
    if client_id_bytes >= 0:
        client_id = head_rest[:client_id_bytes].decode("utf-8", errors="replace")
    cursor = Cursor(head_rest)
    cursor.skip(max(client_id_bytes, 0))
    if api_version >= request.first_flexible:
        cursor.skip_tagged_fields()
    request.read(cursor, api_version, seen)
    return client_id


_PRODUCER, _CONSUMER, _SHARE_CONSUMER = "producer", "consumer", "share_consumer"


def _request(
    versions: range,
    first_flexible: int,
    client_type: str,
    read: Callable[[Cursor, int, Seen], None],
) -> WireRequest:
    return WireRequest(
        versions=versions,
        first_flexible=first_flexible,
        client_type=client_type,
        read=read,
    )


WIRE_REQUESTS: Mapping[int, WireRequest] = {
    PRODUCE: _request(range(14), PRODUCE_FLEXIBLE, _PRODUCER, read_produce),
    FETCH: _request(range(19), FETCH_FLEXIBLE, _CONSUMER, read_fetch),
    JOIN_GROUP: _request(range(10), JOIN_FLEXIBLE, _CONSUMER, read_join_group),
    INIT_PRODUCER_ID: _request(
        range(7), INIT_FLEXIBLE, _PRODUCER, read_init_producer_id
    ),
    CONSUMER_GROUP_HEARTBEAT: _request(
        range(2), 0, _CONSUMER, read_consumer_group_heartbeat
    ),
    SHARE_GROUP_HEARTBEAT: _request(
        range(1, 2), 0, _SHARE_CONSUMER, read_share_group_heartbeat
    ),
    SHARE_FETCH: _request(range(1, 3), 0, _SHARE_CONSUMER, read_share_fetch),
}
"""By API key; a version that is not here shows nothing."""
