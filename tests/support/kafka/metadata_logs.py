"""Bytes of a metadata log, as a controller would write them."""

import gzip
import struct

import lz4.frame
import pyarrow as pa
import zstandard
from crc32c import crc32c

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
COMPRESS = {
    NONE: bytes,
    GZIP: gzip.compress,
    SNAPPY: lambda body: pa.Codec("snappy").compress(body, asbytes=True),
    LZ4: lz4.frame.compress,
    ZSTD: zstandard.compress,
}
START_MS = 1_700_000_000_123
_CONTROL, _APPEND_TIME = 0x20, 0x08


def varint(value):
    """Return a signed variable-length integer."""
    rest = (value << 1) ^ (value >> 63)
    written = bytearray()
    while rest >= 0x80:
        written.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*written, rest])


def write_record(value, *, key=None, offset_delta=0, time_delta=0):
    """Return one record of a batch; None is null."""
    body = b"\x00" + varint(time_delta) + varint(offset_delta)
    for one in (key, value):
        body += varint(-1) if one is None else varint(len(one)) + one
    body += varint(0)
    return varint(len(body)) + body


def write_batch(
    values,
    *,
    base_offset=0,
    epoch=1,
    codec=NONE,
    codec_id=None,
    is_control=False,
    append_ms=None,
    base_ms=START_MS,
    keys=None,
):
    """Return a batch of records whose times are one millisecond apart."""
    records = b"".join(
        write_record(
            value, key=keys and keys[index], offset_delta=index, time_delta=index
        )
        for index, value in enumerate(values)
    )
    return wrap_batch(
        COMPRESS[codec](records),
        count=len(values),
        base_offset=base_offset,
        epoch=epoch,
        attributes=(codec if codec_id is None else codec_id)
        | (_CONTROL if is_control else 0)
        | (_APPEND_TIME if append_ms is not None else 0),
        base_ms=base_ms,
        max_ms=base_ms + len(values) if append_ms is None else append_ms,
    )


def wrap_batch(
    body,
    *,
    count,
    base_offset=0,
    epoch=1,
    attributes=0,
    base_ms=START_MS,
    max_ms=START_MS,
    magic=2,
):
    """Return a batch around the bytes of its records, with a right checksum."""
    checked = struct.pack(
        ">hiqqqhii", attributes, count - 1, base_ms, max_ms, -1, -1, -1, count
    )
    checked += body
    head = struct.pack(">ibI", epoch, magic, crc32c(checked))
    rest = head + checked
    return struct.pack(">qi", base_offset, len(rest)) + rest


def write_snapshot(values, *, epoch=1, last_contained_ms=START_MS, batch_records=100):
    """Return a snapshot of these records, header and footer included."""
    header = struct.pack(">hqb", 0, last_contained_ms, 0)
    written = [control_batch(3, header, epoch=epoch)]
    for start in range(0, len(values), batch_records):
        batch = values[start : start + batch_records]
        written.append(write_batch(batch, base_offset=1 + start, epoch=epoch))
    written.append(
        control_batch(4, b"\x00\x00\x00", base_offset=1 + len(values), epoch=epoch)
    )
    return b"".join(written)


def control_batch(control_type, value, *, base_offset=0, epoch=1):
    """Return a control batch of one record."""
    return write_batch(
        [value],
        keys=[struct.pack(">hh", 0, control_type)],
        base_offset=base_offset,
        epoch=epoch,
        is_control=True,
    )
