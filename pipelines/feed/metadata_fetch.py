"""Fetch and FetchSnapshot of the metadata log, asked of a controller.

Strategy: written and read by hand, since kio reads records of its own kind in place of
their bytes, cuts timestamps to seconds, and takes a snapshot's piece for whole batches.
One topic with one partition is asked for, so an answer has one partition, or an error
of its own. Versions 13 and 16 are spoken: 13 is the first with topic ids, 16 the first
that says where the leader is.
What comes back when bytes are short or bad: MalformedBytes, and nothing else.
Source: Kafka 4.3, FetchRequest.json, FetchResponse.json, FetchSnapshotRequest.json,
FetchSnapshotResponse.json; KIP-595, KIP-630.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from pipelines.kafka_client.primitives import (
    NO_TAGGED_FIELDS,
    Cursor,
    MalformedBytes,
    write_compact_string,
    write_uvarint,
)

FETCH, FETCH_SNAPSHOT = 1, 59
OLD_FETCH_VERSION, FETCH_VERSION, SNAPSHOT_VERSION = 13, 16, 1
METADATA_TOPIC = "__cluster_metadata"
METADATA_TOPIC_ID = bytes(15) + b"\x01"
"""AAAAAAAAAAAAAAAAAAAAAQ."""
_NO_REPLICA, _UNSET_64 = -1, -1
_FINAL_EPOCH = -1
_ONE, _NONE = b"\x02", b"\x01"
"""Compact arrays: of one item, without items."""
_INT64 = struct.Struct(">q")
_ITEM_BYTES = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotId:
    """A snapshot: all that was so before an offset."""

    end_offset: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """Who leads the quorum, as a node knows."""

    leader_id: int
    leader_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a node answers to a Fetch."""

    error_code: int
    """Of the whole answer, else of the partition."""
    high_watermark: int = -1
    records: bytes = b""
    """Batches; the last one may be cut off."""
    diverging_end_offset: int | None = None
    """Where the log parts from what we have read; None: it does not."""
    leader: Leader | None = None
    snapshot_id: SnapshotId | None = None
    """What must be read in place of records that are gone."""
    endpoints: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    """Node id to host and port, of leaders that the answer names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedSnapshot:
    """A piece of a snapshot, or why there is none."""

    error_code: int
    size_bytes: int = 0
    """Of the whole snapshot."""
    position: int = 0
    piece: bytes = b""
    leader: Leader | None = None


def write_fetch(
    api_version: int,
    *,
    offset: int,
    last_epoch: int,
    leader_epoch: int,
    max_wait_ms: int,
    max_bytes: int,
    cluster_id: str,
) -> bytes:
    """Write the body of a Fetch.

    Args:
        api_version: OLD_FETCH_VERSION or FETCH_VERSION.
        offset: First one that is wanted.
        last_epoch: Of the record before it.
        leader_epoch: The quorum's own; any other is refused.
        cluster_id: A node of another cluster says so.
    """
    replica = b"" if api_version > OLD_FETCH_VERSION else _int32(_NO_REPLICA)
    wait = struct.pack(">iiibii", max_wait_ms, 1, max_bytes, 0, 0, _FINAL_EPOCH)
    partition = struct.pack(
        ">iiqiqi", 0, leader_epoch, offset, last_epoch, _UNSET_64, max_bytes
    )
    topic = METADATA_TOPIC_ID + _ONE + partition + NO_TAGGED_FIELDS + NO_TAGGED_FIELDS
    no_forgotten_topics, no_rack = _NONE, write_compact_string("")
    return b"".join(
        (replica, wait, _ONE, topic, no_forgotten_topics, no_rack, _tag(cluster_id))
    )


def write_fetch_snapshot(
    snapshot_id: SnapshotId,
    *,
    position: int,
    leader_epoch: int,
    max_bytes: int,
    cluster_id: str,
) -> bytes:
    """Write the body of a FetchSnapshot, which asks for bytes from a position on."""
    wanted = (
        struct.pack(">qi", snapshot_id.end_offset, snapshot_id.epoch) + NO_TAGGED_FIELDS
    )
    partition = struct.pack(">ii", 0, leader_epoch) + wanted + _INT64.pack(position)
    topic = (
        write_compact_string(METADATA_TOPIC)
        + _ONE
        + partition
        + NO_TAGGED_FIELDS
        + NO_TAGGED_FIELDS
    )
    head = struct.pack(">ii", _NO_REPLICA, max_bytes)
    return head + _ONE + topic + _tag(cluster_id)


def read_fetch(body: bytes) -> Fetched:
    """Read the answer to a Fetch of either version.

    Raises: MalformedBytes.
    """
    try:
        return _read_fetch(Cursor(body))
    except MalformedBytes as error:
        raise MalformedBytes(f"Fetch: {error}") from None


def read_fetch_snapshot(body: bytes) -> FetchedSnapshot:
    """Read the answer to a FetchSnapshot.

    Raises: MalformedBytes.
    """
    try:
        return _read_snapshot(Cursor(body))
    except MalformedBytes as error:
        raise MalformedBytes(f"FetchSnapshot: {error}") from None


def _read_fetch(cursor: Cursor) -> Fetched:
    cursor.skip(4)  # throttle time
    error_code = cursor.read_int16()
    cursor.skip(4)  # session id
    found = Fetched(error_code=error_code)
    for _ in range(_count(cursor)):
        cursor.skip(len(METADATA_TOPIC_ID))
        for _ in range(_count(cursor)):
            found = _read_partition(cursor, error_code)
        cursor.skip_tagged_fields()
    for tag, value in _read_tags(cursor):
        if tag == 0:
            return replace(found, endpoints=_read_endpoints(value))
    return found


def _read_partition(cursor: Cursor, error_code: int) -> Fetched:
    cursor.skip(4)  # index
    error_code = cursor.read_int16() or error_code
    high_watermark = cursor.read_int64()
    cursor.skip(16)  # last stable offset, log start offset
    for _ in range(_count(cursor)):
        cursor.skip(16)  # an aborted transaction of a producer, which has none here
        cursor.skip_tagged_fields()
    cursor.skip(4)  # preferred read replica
    records = cursor.read_compact_bytes() or b""
    diverging = leader = snapshot_id = None
    for tag, value in _read_tags(cursor):
        if tag == 0:
            epoch, end_offset = value.read_int32(), value.read_int64()
            diverging = end_offset if epoch >= 0 else None
        elif tag == 1:
            leader = _read_leader(value)
        elif tag == 2:  # noqa: PLR2004 - of the message's schema
            end_offset, epoch = value.read_int64(), value.read_int32()
            if end_offset >= 0:
                snapshot_id = SnapshotId(end_offset=end_offset, epoch=epoch)
    return Fetched(
        error_code=error_code,
        high_watermark=high_watermark,
        records=records,
        diverging_end_offset=diverging,
        leader=leader,
        snapshot_id=snapshot_id,
    )


def _read_snapshot(cursor: Cursor) -> FetchedSnapshot:
    cursor.skip(4)  # throttle time
    error_code = cursor.read_int16()
    found = FetchedSnapshot(error_code=error_code)
    for _ in range(_count(cursor)):
        cursor.read_compact_string()
        for _ in range(_count(cursor)):
            found = _read_piece(cursor, error_code)
        cursor.skip_tagged_fields()
    cursor.skip_tagged_fields()
    return found


def _read_piece(cursor: Cursor, error_code: int) -> FetchedSnapshot:
    cursor.skip(4)  # index
    error_code = cursor.read_int16() or error_code
    cursor.skip(12)  # the snapshot's id, again
    cursor.skip_tagged_fields()
    size_bytes, position = cursor.read_int64(), cursor.read_int64()
    piece = cursor.read_compact_bytes() or b""
    leader = None
    for tag, value in _read_tags(cursor):
        if tag == 0:
            leader = _read_leader(value)
    return FetchedSnapshot(
        error_code=error_code,
        size_bytes=size_bytes,
        position=position,
        piece=piece,
        leader=leader,
    )


def _read_endpoints(cursor: Cursor) -> dict[int, tuple[str, int]]:
    endpoints = {}
    for _ in range(_count(cursor)):
        node_id = cursor.read_int32()
        host = cursor.read_compact_string() or ""
        endpoints[node_id] = host, cursor.read_int32()
        cursor.read_compact_string()  # rack
        cursor.skip_tagged_fields()
    return endpoints


def _read_leader(cursor: Cursor) -> Leader | None:
    leader_id, epoch = cursor.read_int32(), cursor.read_int32()
    return Leader(leader_id=leader_id, leader_epoch=epoch) if epoch >= 0 else None


def _read_tags(cursor: Cursor) -> Iterator[tuple[int, Cursor]]:
    for _ in range(cursor.read_uvarint()):
        tag, size = cursor.read_uvarint(), cursor.read_uvarint()
        yield tag, Cursor(cursor.take(size))


def _count(cursor: Cursor) -> int:
    return cursor.read_array_length(is_compact=True, item_bytes=_ITEM_BYTES) or 0


def _int32(value: int) -> bytes:
    return struct.pack(">i", value)


def _tag(cluster_id: str) -> bytes:
    """Write tagged fields: the cluster's id as number 0."""
    value = write_compact_string(cluster_id)
    return b"\x01\x00" + write_uvarint(len(value)) + value
