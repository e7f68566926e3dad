"""What Produce, Fetch and InitProducerId show of their client's configuration.

Strategy and errors: as in wire_configs.
Source: Kafka, ProduceRequest.json, FetchRequest.json, InitProducerIdRequest.json;
KIP-98 for the head of a record batch.
"""

import struct

from .cursor import Cursor
from .wire_fields import Seen, note, read_count, read_string, skip_topic

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
    seen["fetch.max.wait.ms"] = str(max_wait_ms)
    seen["fetch.min.bytes"] = str(min_bytes)
    if version >= _FETCH_WITH_MAX_BYTES:
        seen["fetch.max.bytes"] = str(cursor.read_int32())
    if version >= _FETCH_WITH_ISOLATION:
        level = _ISOLATION_LEVELS.get(cursor.unpack(_BYTE)[0])
        note(seen, "isolation.level", level)
    if version >= _FETCH_WITH_SESSION:
        cursor.skip(_TWO_INT32.size)  # the session
    _read_fetched(cursor, version, seen)
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
