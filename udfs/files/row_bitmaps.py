"""Sets of rows of a file as Delta's deletion vectors have them.

Strategy: a 64-bit roaring bitmap is a list of 32-bit ones, each of them a list of
containers of up to 65,536 numbers, kept as a list, as bits or as runs. It is written
with lists and bits; all three kinds are read. Bytes that are short or of another format
are a fault of the file, and raise.
Source: Delta's PROTOCOL.md, "Deletion Vector Format"; RoaringFormatSpec.
"""

import struct

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]

_MAGIC = 1_681_511_377
_HEAD = struct.Struct("<iq")
_NO_RUNS, _RUNS = 12_346, 12_347
_MAX_LISTED = 4_096
"""Numbers of a container that is a list; more are bits."""
_BITS_BYTES = 8_192
_OFFSETS_FROM = 4
"""Containers from which on a bitmap with runs says where each begins."""
_CONTAINER_BITS, _BUCKET_BITS = 16, 32


class MalformedBitmap(ValueError):
    """Raised for bytes that are no such set."""


def write_rows(rows: Rows) -> bytes:
    """Return the bytes of a set of rows.

    Args:
        rows: int64, from 0 on, in any order; one that is there twice counts once.
    Returns: The portable form, with Delta's head before it.
    """
    if len(rows) == 0:
        return _HEAD.pack(_MAGIC, 0)
    ordered = np.unique(rows)
    buckets, starts = np.unique(ordered >> _BUCKET_BITS, return_index=True)
    parts = [_HEAD.pack(_MAGIC, len(buckets))]
    for bucket, low in zip(
        buckets.tolist(), np.split(ordered, starts[1:]), strict=True
    ):
        parts += [struct.pack("<I", bucket), _write_bucket(low & (2**32 - 1))]
    return b"".join(parts)


def _write_bucket(rows: Rows) -> bytes:
    keys, starts = np.unique(rows >> _CONTAINER_BITS, return_index=True)
    groups = np.split((rows & (2**16 - 1)).astype("<u2"), starts[1:])
    sizes = np.array([len(group) for group in groups])
    heads = np.stack([keys, sizes - 1], axis=1).astype("<u2").tobytes()
    bodies = [_write_container(group) for group in groups]
    first = 8 + len(heads) + 4 * len(bodies)
    ends = np.cumsum([len(body) for body in bodies])
    offsets = (first + np.concatenate([[0], ends[:-1]])).astype("<u4").tobytes()
    return (
        struct.pack("<II", _NO_RUNS, len(groups)) + heads + offsets + b"".join(bodies)
    )


def _write_container(rows: npt.NDArray[np.uint16]) -> bytes:
    if len(rows) <= _MAX_LISTED:
        return rows.tobytes()
    bits = np.zeros(8 * _BITS_BYTES, np.uint8)
    bits[rows] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def read_rows(data: bytes) -> Rows:
    """Return the rows of a set.

    Args:
        data: As write_rows writes them, or with runs, as Delta does.
    Returns: int64, ascending.
    Raises: MalformedBitmap where the bytes are short or of another format.
    """
    try:
        magic, count = _HEAD.unpack_from(data)
        if magic != _MAGIC:
            raise MalformedBitmap(f"magic number {magic} is not {_MAGIC}")
        at, found = _HEAD.size, [np.zeros(0, np.int64)]
        for _ in range(count):
            (bucket,) = struct.unpack_from("<I", data, at)
            low, at = _read_bucket(data, at + 4)
            found.append(low + (bucket << _BUCKET_BITS))
    except (struct.error, ValueError) as error:
        raise MalformedBitmap(str(error)) from None
    return np.concatenate(found)


def _read_bucket(data: bytes, at: int) -> tuple[Rows, int]:
    (cookie,) = struct.unpack_from("<I", data, at)
    at += 4
    if cookie & 0xFFFF == _RUNS:
        count = (cookie >> 16) + 1
        flags = np.frombuffer(data, np.uint8, (count + 7) // 8, at)
        is_run = np.unpackbits(flags, bitorder="little")[:count].astype(bool)
        at += len(flags)
        has_offsets = count >= _OFFSETS_FROM
    elif cookie == _NO_RUNS:
        (count,) = struct.unpack_from("<I", data, at)
        is_run, has_offsets = np.zeros(count, bool), True
        at += 4
    else:
        raise MalformedBitmap(f"cookie {cookie}")
    heads = np.frombuffer(data, "<u2", 2 * count, at).reshape(count, 2).astype(np.int64)
    at += 4 * count + (4 * count if has_offsets else 0)
    found = [np.zeros(0, np.int64)]
    for (key, last), is_one_of_runs in zip(
        heads.tolist(), is_run.tolist(), strict=True
    ):
        read = _read_runs if is_one_of_runs else _read_plain
        rows, at = read(data, at, last + 1)
        found.append(rows + (key << _CONTAINER_BITS))
    return np.concatenate(found), at


def _read_plain(data: bytes, at: int, count: int) -> tuple[Rows, int]:
    if count <= _MAX_LISTED:
        rows = np.frombuffer(data, "<u2", count, at).astype(np.int64)
        return rows, at + 2 * count
    bits = np.frombuffer(data, np.uint8, _BITS_BYTES, at)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little")), at + _BITS_BYTES


def _read_runs(data: bytes, at: int, _count: int) -> tuple[Rows, int]:
    (count,) = struct.unpack_from("<H", data, at)
    runs = np.frombuffer(data, "<u2", 2 * count, at + 2).reshape(count, 2)
    parts = [np.arange(first, first + more + 1) for first, more in runs.tolist()]
    rows = np.concatenate([np.zeros(0, np.int64), *parts])
    return rows, at + 2 + 4 * count
