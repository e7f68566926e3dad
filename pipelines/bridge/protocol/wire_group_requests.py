"""What requests of groups show of their client's configuration.

Strategy and errors: as in wire_configs.
Source: Kafka, JoinGroupRequest.json, ConsumerGroupHeartbeatRequest.json,
ShareGroupHeartbeatRequest.json, ShareFetchRequest.json.
"""

import struct

from .cursor import Cursor
from .wire_fields import Seen, note, read_count, read_string

_TWO_INT32 = struct.Struct(">ii")
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
    cursor.read_int32()  # the epoch of its session
    max_wait_ms, min_bytes = cursor.unpack(_TWO_INT32)
    max_bytes = cursor.read_int32()
    note(seen, "group.id", group_id)
    seen["fetch.max.wait.ms"] = str(max_wait_ms)
    seen["fetch.min.bytes"] = str(min_bytes)
    seen["fetch.max.bytes"] = str(max_bytes)
