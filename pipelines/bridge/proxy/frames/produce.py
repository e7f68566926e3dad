"""Whether a Produce request is answered at all, from its first bytes.

Source: Kafka, ProduceRequest.json: header, transactional id (from version 3), acks.
"""

import struct

from pipelines.kafka_client.primitives import Cursor, MalformedBytes

_ACKS = struct.Struct(">h")
_FIRST_WITH_TRANSACTIONAL_ID = 3
_FIRST_FLEXIBLE_VERSION = 9
_MOST_HEAD_BYTES = 2**17
"""More than a client id and a transactional id can take."""
_NO_TAGS_NULL_ID = b"\0\0"
_NULL_ID = b"\xff\xff"


def has_answer(
    data: bytes, at: int, api_version: int, client_id_length: int, end: int
) -> bool | None:
    """Say whether acks is anything but 0.

    Args:
        data: Bytes that hold a request.
        at: Where its client id begins, behind the length.
        api_version: Of the request.
        client_id_length: As it stands in the request; -1 for none.
        end: Where the request ends; its bytes may end before.
    Nulls: None where the bytes end before acks.
    Raises: MalformedBytes for a head that goes on for ever, or is cut off by the
        end of its own request.
    """
    at += max(client_id_length, 0)
    # Mostly there are no tagged fields and no transaction.
    if api_version >= _FIRST_FLEXIBLE_VERSION:
        is_usual = data[at : at + 2] == _NO_TAGS_NULL_ID
    else:
        is_usual = (
            api_version >= _FIRST_WITH_TRANSACTIONAL_ID
            and data[at : at + 2] == _NULL_ID
        )
    if is_usual and at + 4 <= len(data) and at + 4 <= end:
        return data[at + 2 : at + 4] != b"\0\0"
    return _read_acks(data, at, api_version, end)


def _read_acks(data: bytes, at: int, api_version: int, end: int) -> bool | None:
    if at > end:
        raise _cut_off()
    if at > len(data):
        return None
    cursor = Cursor(data, at)
    try:
        if api_version >= _FIRST_FLEXIBLE_VERSION:
            cursor.skip_tagged_fields()
            cursor.read_compact_string()
        elif api_version >= _FIRST_WITH_TRANSACTIONAL_ID:
            cursor.read_legacy_string()
        has_acks = bool(cursor.unpack(_ACKS)[0])
    except MalformedBytes:
        if end <= len(data) or len(data) - at > _MOST_HEAD_BYTES:
            raise
        return None
    if len(data) - cursor.remaining_bytes > end:
        raise _cut_off()
    return has_acks


def _cut_off() -> MalformedBytes:
    return MalformedBytes("a Produce request that ends before acks")
