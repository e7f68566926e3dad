"""What requests show of the configuration of the client that sends them.

Strategy: each reader goes through a request as far as there is something to see, and
notes a value once it is whole; so of a request that is cut off, what stands before the
cut is seen. Of records only the head of the first batch is read. Nothing is reserved
for a length that a peer claims, and each step of a loop takes bytes.
What comes back when bytes are short or bad: MalformedRequest from the cursor.
Source: as the readers name it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .cursor import Cursor
from .wire_data_requests import (
    FETCH_FLEXIBLE,
    INIT_FLEXIBLE,
    PRODUCE_FLEXIBLE,
    read_fetch,
    read_init_producer_id,
    read_produce,
)
from .wire_fields import Seen
from .wire_group_requests import (
    JOIN_FLEXIBLE,
    read_consumer_group_heartbeat,
    read_join_group,
    read_share_fetch,
    read_share_group_heartbeat,
)

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
        api_version: One of its versions.
        head_rest: The request from its client id on, behind that one's length.
        client_id_bytes: That length; -1 for null.
        seen: Gets the values, each once it is whole.
    Returns: The client id; null where it is.
    Raises: MalformedRequest where the bytes end too early, or are no such request.
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
