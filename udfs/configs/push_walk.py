# Strategy: one pass over the bytes of many PushConfig bodies, twice: the first counts
# entries, the second notes where their keys and values stand, so that nothing grows and
# no claim of a peer reserves memory. A length that claims more than is left ends the
# push there. A body that is bad has a status and no entries, and the walk goes on.
# Source: KIP-1324, PushConfigRequest; KIP-482 for compact fields and tagged fields.
#
# ruff: noqa: PLR0917 - numba has no keyword-only arguments
# ruff: noqa: PLR2004 - the numbers are those of the encoding
"""Walks the bytes of PushConfig v0 request bodies and notes where entries stand."""

from typing import cast

import numpy as np
import numpy.typing as npt

from udfs.compiled import compiled, compiled_part

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]
Table = npt.NDArray[np.int64]

# Statuses of a push; all constants are numpy's int64, as in otlp.walk.
OK, TRUNCATED, MALFORMED, TOO_LARGE, NULL = cast(
    "tuple[int, ...]", tuple(np.arange(5, dtype=np.int64))
)
# Rows of the table of entries.
KEY_AT, KEY_BYTES, VALUE_AT, VALUE_BYTES, TYPE_ID, IS_DEFAULT = cast(
    "tuple[int, ...]", tuple(np.arange(6, dtype=np.int64))
)
ENTRY_ROWS = 6
SMALLEST_ENTRY_BYTES, TYPE_AND_FLAG_BYTES, ZERO = cast(
    "tuple[int, int, int]", (np.int64(5), np.int64(2), np.int64(0))
)


@compiled_part
def _read_varint(data: Bytes, at: int, end: int) -> tuple[int, int, int]:
    """Return an unsigned varint, where it ends, and a status."""
    value = ZERO
    for place in range(5):
        if at >= end:
            return ZERO, at, TRUNCATED
        byte = int(data[at])
        at += 1
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            return value, at, OK
    return ZERO, at, MALFORMED


@compiled_part
def _skip_tagged_fields(data: Bytes, at: int, end: int) -> tuple[int, int]:
    count, at, status = _read_varint(data, at, end)
    for _ in range(count):
        if status != OK:
            return at, status
        _, at, status = _read_varint(data, at, end)
        if status != OK:
            return at, status
        size, at, status = _read_varint(data, at, end)
        if status == OK and size > end - at:
            return at, TRUNCATED
        at += size
    return at, status


@compiled_part
def _read_text(data: Bytes, at: int, end: int) -> tuple[int, int, int]:
    """Return where a compact string begins, where it ends, and a status."""
    size, at, status = _read_varint(data, at, end)
    if status != OK:
        return at, at, status
    if size == 0:
        return at, at, MALFORMED  # null
    if size - 1 > end - at:
        return at, at, TRUNCATED
    return at, at + size - 1, OK


@compiled_part
def _walk_entry(
    data: Bytes, at: int, end: int, entries: Table, place: int
) -> tuple[int, int]:
    """Return where an entry ends, and a status; keep it where there is room."""
    key_at, key_end, status = _read_text(data, at, end)
    if status != OK:
        return key_end, status
    value_at, value_end, status = _read_text(data, key_end, end)
    if status != OK:
        return value_end, status
    if end - value_end < TYPE_AND_FLAG_BYTES:
        return value_end, TRUNCATED
    if place < entries.shape[1]:
        entries[KEY_AT, place] = key_at
        entries[KEY_BYTES, place] = key_end - key_at
        entries[VALUE_AT, place] = value_at
        entries[VALUE_BYTES, place] = value_end - value_at
        entries[TYPE_ID, place] = np.int64(np.int8(data[value_end]))
        entries[IS_DEFAULT, place] = np.int64(data[value_end + 1] != 0)
    return _skip_tagged_fields(data, value_end + TYPE_AND_FLAG_BYTES, end)


@compiled_part
def _walk_push(
    data: Bytes, at: int, end: int, entries: Table, first: int
) -> tuple[int, int]:
    """Return how many entries a body has, and its status."""
    claimed, at, status = _read_varint(data, at, end)
    if status != OK:
        return ZERO, status
    if claimed == 0:
        return ZERO, MALFORMED  # null
    count = claimed - 1
    if count > (end - at) // SMALLEST_ENTRY_BYTES:
        return ZERO, TRUNCATED
    for place in range(first, first + count):
        at, status = _walk_entry(data, at, end, entries, place)
        if status != OK:
            return ZERO, status
    at, status = _skip_tagged_fields(data, at, end)
    if status == OK and at != end:
        return ZERO, MALFORMED  # trailing bytes
    return (count, OK) if status == OK else (ZERO, status)


@compiled
def walk_pushes(
    data: Bytes,
    offsets: Numbers,
    is_null: Bytes,
    max_bytes: int,
    entries: Table,
    counts: Numbers,
    statuses: Numbers,
) -> int:
    """Walk the bodies of many pushes.

    Args:
        data: Their bytes, one body after the other.
        offsets: Where each begins; one more than there are.
        is_null: 1 for a body that is not there.
        max_bytes: The largest body that is read.
        entries: ENTRY_ROWS by as many entries as are kept; with room for none the
            entries are only counted.
        counts: Filled with the entries of each push.
        statuses: Filled with the status of each push.
    Returns: Entries of all pushes.
    Shape: Entries stand in the order of the bytes.
    """
    done = ZERO
    for push in range(len(counts)):
        at, end = offsets[push], offsets[push + 1]
        if is_null[push]:
            count, status = ZERO, NULL
        elif end - at > max_bytes:
            count, status = ZERO, TOO_LARGE
        else:
            count, status = _walk_push(data, at, end, entries, done)
        counts[push] = count
        statuses[push] = status
        done += count
    return done


@compiled
def copy_texts(data: Bytes, starts: Numbers, ends: Numbers, out: Bytes) -> int:
    """Put texts that stand here and there one after the other.

    Args:
        data: Where they stand.
        starts: Where each begins.
        ends: Where each ends, in out.
        out: Filled with them.
    Returns: Bytes written.
    """
    done = ZERO
    for text in range(len(starts)):
        shift = starts[text] - done
        for place in range(done, ends[text]):
            out[place] = data[place + shift]
        done = ends[text]
    return done
