"""Record batches of a metadata log: of segments, snapshots and answers to Fetch.

Strategy: a batch is cut off a stream when all of it is there; its checksum comes before
anything in it. Of a record that nobody wants nothing is read but its length and the API
key of its frame: a snapshot holds a million partitions beside a few brokers. What does
not look like the log's own records is read whole.
What comes back when bytes are short or bad: UnreadableBatch for one batch, which the
caller counts; MalformedBatches where not even the next one can be found. Every length
is compared with what is left before anything is made of it.
Deliberate differences from kio's reader: exact milliseconds, decompression, control
records apart, and API keys instead of messages.
Source: Kafka's documentation, "Record Batch"; KIP-630 (snapshots); ControlRecordType
and LeaderChangeMessage of Kafka 4.3.1.
"""

import struct
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from crc32c import crc32c

from pipelines.kafka_client.primitives import WireError
from udfs.cluster.record_fields import FRAME_VERSION


class MalformedBatches(WireError):
    """Raised when bytes are no record batch; where the next one begins is unknown."""


class UnreadableBatch(WireError):
    """Raised when one record batch cannot be read; the next one is not concerned."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(f"{reason}: {text}")
        self.reason = reason
        """A word to count by."""


WRONG_CRC, UNKNOWN_MAGIC, MALFORMED = "wrong_crc", "unknown_magic", "malformed"
UNKNOWN_CODEC = "unknown_codec"
MAX_BATCH_BYTES = 16 << 20
"""Of one batch, before and after decompression; a controller writes at most 8 MiB."""

SNAPSHOT_HEADER, SNAPSHOT_FOOTER, LEADER_CHANGE = 3, 4, 2
"""Types of control records; others may come and mean nothing here."""

UNKNOWN_FRAME = -1
"""In the place of an API key: a value whose frame begins with no known version."""

_LENGTH_END = 12
"""Bytes up to the end of a batch's length, which counts from there."""
_HEADER = struct.Struct(">qiibIhiqqqhii")
_CHECKED_FROM = 21
"""Where the bytes begin that the checksum is of."""
_MAGIC_AT = 16
_MAGIC = 2
_CODEC_BITS, _LOG_APPEND_TIME, _CONTROL = 0x07, 0x08, 0x20
_CONTROL_KEY = struct.Struct(">hh")
_SNAPSHOT_HEADER = struct.Struct(">hq")
_MORE = 0x80
_NULL = 1
"""The length -1 as it stands."""
_NOT_PEEKED = _MORE
"""In the place of an API key; no key of one byte is as large."""
_MAX_VARINT_SHIFT = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordBatch:
    """One batch: its head, and its bytes as they came."""

    base_offset: int
    last_offset: int
    epoch: int
    """Of the leader that wrote it."""
    is_control: bool
    codec_id: int
    base_timestamp_ms: int
    append_timestamp_ms: int | None
    """Of all records, where the log has set it."""
    record_count: int
    crc: int
    data: bytes


class LogRecord(NamedTuple):
    """One record of a metadata log."""

    offset: int
    epoch: int
    timestamp_ms: int
    """Exact milliseconds since 1970."""
    api_key: int
    value: bytes
    """The framed record."""


class ControlRecord(NamedTuple):
    """One record that the log wrote for itself."""

    offset: int
    control_type: int
    last_contained_ms: int | None
    """Of a snapshot's header: time of the last record that the snapshot contains."""


class BatchRecords(NamedTuple):
    """What was wanted of one batch."""

    records: list[LogRecord]
    passed_over: Counter[int]
    """API key to how many records of it were not looked at."""


class BatchStream:
    """Cuts batches off bytes that come piece by piece."""

    __slots__ = ("_buffer", "max_batch_bytes")

    def __init__(self, *, max_batch_bytes: int = MAX_BATCH_BYTES) -> None:
        self._buffer = bytearray()
        self.max_batch_bytes = max_batch_bytes

    @property
    def waiting_bytes(self) -> int:
        """How many bytes belong to a batch that is not whole yet."""
        return len(self._buffer)

    def receive_data(self, data: bytes) -> None:
        """Add bytes that follow the last ones."""
        self._buffer += data

    def next_batch(self) -> RecordBatch | None:
        """Return the next whole batch; None where more bytes are needed.

        Raises: MalformedBatches, as soon as a length is known to be no batch's.
            UnreadableBatch for a batch of an older format, which is passed over.
        """
        buffer = self._buffer
        if len(buffer) < _LENGTH_END:
            return None
        size = _LENGTH_END + int.from_bytes(buffer[8:_LENGTH_END], "big", signed=True)
        if not _MAGIC_AT < size <= self.max_batch_bytes:
            raise MalformedBatches(
                f"a batch of {size} bytes; at most {self.max_batch_bytes}"
            )
        if len(buffer) < size:
            return None
        data = bytes(memoryview(buffer)[:size])
        del buffer[:size]
        return _read_head(data)


def _read_head(data: bytes) -> RecordBatch:
    if data[_MAGIC_AT] != _MAGIC:
        raise UnreadableBatch(UNKNOWN_MAGIC, f"format {data[_MAGIC_AT]}")
    if len(data) < _HEADER.size:
        raise UnreadableBatch(MALFORMED, f"a batch of {len(data)} bytes")
    base, _, epoch, _, crc, attributes, last, first_ms, max_ms, _, _, _, count = (
        _HEADER.unpack_from(data)
    )
    return RecordBatch(
        base_offset=base,
        last_offset=base + last,
        epoch=epoch,
        is_control=bool(attributes & _CONTROL),
        codec_id=attributes & _CODEC_BITS,
        base_timestamp_ms=first_ms,
        append_timestamp_ms=max_ms if attributes & _LOG_APPEND_TIME else None,
        record_count=count,
        crc=crc,
        data=data,
    )


def read_records(batch: RecordBatch, wanted: Collection[int]) -> BatchRecords:
    """Read the records of a batch that somebody wants.

    Args:
        batch: From BatchStream.
        wanted: API keys of metadata records.
    Returns: Those records, in order; nothing of a control batch. Values that are null
        or begin with no known frame count as UNKNOWN_FRAME.
    Raises: UnreadableBatch (wrong_crc, unknown_codec, malformed, or as
        udfs/compression says).
    """
    if batch.is_control:
        return BatchRecords([], Counter())
    data, at = _open(batch)
    records: list[LogRecord] = []
    counts = [0] * (_MORE + 1)
    passed_over = Counter[int]()
    try:
        for _ in range(batch.record_count):
            start, at = _find_record(data, at)
            api_key = _peek_api_key(data, start, at)
            if api_key == _NOT_PEEKED or api_key in wanted:
                key = _keep_wanted(batch, data[start:at], wanted, records)
                passed_over.update(() if key is None else (key,))
            else:
                counts[api_key] += 1
    except IndexError:
        raise UnreadableBatch(MALFORMED, "a record ends early") from None
    if at != len(data):
        raise UnreadableBatch(MALFORMED, f"{len(data) - at} bytes behind the records")
    passed_over.update({key: count for key, count in enumerate(counts) if count})
    return BatchRecords(records, passed_over)


def _find_record(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """Return where the next record begins, behind its length, and where it ends."""
    length = data[at]
    if length < _MORE:
        start, length = at + 1, (length >> 1) ^ -(length & 1)
    else:
        length, start = _read_varint(data, at)
    if length < 1 or start + length > len(data):
        raise UnreadableBatch(MALFORMED, f"a record of {length} bytes")
    return start, start + length


def _peek_api_key(data: bytes | bytearray, start: int, end: int) -> int:
    """Return the API key of a record, of which nothing else is looked at.

    Returns: _NOT_PEEKED for a record that does not look as the log's own do: without a
        key, in a frame of the one version, of a type with a small number.
    """
    at = start + 1
    while data[at] >= _MORE:  # the time
        at += 1
    at += 1
    while data[at] >= _MORE:  # the offset
        at += 1
    at += 1
    if data[at] != _NULL:
        return _NOT_PEEKED
    at += 1
    while data[at] >= _MORE:  # the length of the value
        at += 1
    if at + 2 >= end or data[at + 1] != FRAME_VERSION:
        return _NOT_PEEKED
    return min(data[at + 2], _NOT_PEEKED)


def _keep_wanted(
    batch: RecordBatch,
    data: bytes | bytearray,
    wanted: Collection[int],
    records: list[LogRecord],
) -> int | None:
    """Read a whole record, and keep it; returns the API key of one that is not kept."""
    timestamp_ms, offset, _, value = _read_record(batch, data)
    try:
        frame_version, at = _read_uvarint(value or b"", 0)
        api_key, _ = _read_uvarint(value or b"", at)
    except (IndexError, UnreadableBatch):
        # The batch is intact: only this value is no frame of the log.
        return UNKNOWN_FRAME
    if frame_version != FRAME_VERSION:
        return UNKNOWN_FRAME
    if value is None or api_key not in wanted:
        return api_key
    records.append(LogRecord(offset, batch.epoch, timestamp_ms, api_key, value))
    return None


def read_control_records(batch: RecordBatch) -> list[ControlRecord]:
    """Read the records of a control batch; none of any other.

    Raises: UnreadableBatch, as read_records.
    """
    if not batch.is_control:
        return []
    data, at = _open(batch)
    controls = []
    try:
        for _ in range(batch.record_count):
            start, at = _find_record(data, at)
            _, offset, key, value = _read_record(batch, data[start:at])
            controls.append(_read_control(offset, key, value))
    except (IndexError, struct.error):
        raise UnreadableBatch(MALFORMED, "a control record ends early") from None
    return controls


def _read_control(offset: int, key: bytes | None, value: bytes | None) -> ControlRecord:
    _, control_type = _CONTROL_KEY.unpack_from(key or b"")
    if control_type != SNAPSHOT_HEADER:
        return ControlRecord(offset, control_type, None)
    _, last_contained_ms = _SNAPSHOT_HEADER.unpack_from(value or b"")
    return ControlRecord(offset, control_type, last_contained_ms)


def _open(batch: RecordBatch) -> tuple[bytes | bytearray, int]:
    """Check a batch; returns the bytes of its records and where they begin."""
    if crc32c(memoryview(batch.data)[_CHECKED_FROM:]) != batch.crc:
        raise UnreadableBatch(WRONG_CRC, f"the batch at offset {batch.base_offset}")
    if not batch.codec_id:
        return batch.data, _HEADER.size
    return _decompress(batch.data[_HEADER.size :], batch.codec_id), 0


def _decompress(body: bytes, codec_id: int) -> bytes | bytearray:
    """Undo the compression that no controller uses; its codecs are not always there."""
    try:
        from udfs.compression.codecs import decompress  # noqa: PLC0415 - see above
    except ImportError:
        raise UnreadableBatch(UNKNOWN_CODEC, "no codec is installed here") from None
    content = decompress(body, codec_id, MAX_BATCH_BYTES)
    if content.reason is not None:
        raise UnreadableBatch(content.reason, content.detail or "")
    return content.data


def _read_record(
    batch: RecordBatch, data: bytes | bytearray
) -> tuple[int, int, bytes | None, bytes | None]:
    """Return time, offset, key and value of a record; its headers are not looked at."""
    time_delta, at = _read_varint(data, 1)
    offset_delta, at = _read_varint(data, at)
    key, at = _read_bytes(data, at)
    value, at = _read_bytes(data, at)
    timestamp_ms = batch.append_timestamp_ms
    if timestamp_ms is None:
        timestamp_ms = batch.base_timestamp_ms + time_delta
    return timestamp_ms, batch.base_offset + offset_delta, key, value


def _read_bytes(data: bytes | bytearray, at: int) -> tuple[bytes | None, int]:
    length, at = _read_varint(data, at)
    if length < 0:
        return None, at
    if at + length > len(data):
        raise IndexError
    return bytes(data[at : at + length]), at + length


def _read_varint(data: bytes | bytearray, at: int) -> tuple[int, int]:
    value, at = _read_uvarint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _read_uvarint(data: bytes | bytearray, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & ~_MORE) << shift
        if byte < _MORE:
            return value, at
        shift += 7
        if shift > _MAX_VARINT_SHIFT:
            raise UnreadableBatch(MALFORMED, "a variable-length integer is too long")
