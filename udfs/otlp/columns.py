"""Arrow columns made from numpy arrays without a change of any bit."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import walk as w

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.number]

UINT32_MASK = 0xFFFF_FFFF


def column(numbers: Numbers, arrow_type: pa.DataType, is_known: Flags) -> pa.Array:
    """Return numbers as an Arrow column, null where they are not known.

    Args:
        numbers: Of the width that the type has; NaN keeps its bits.
        arrow_type: A primitive type.
        is_known: One a number.
    Returns: As many values, in the same order.
    """
    bitmap = np.packbits(is_known, bitorder="little")
    # A copy, since the tables are filled again.
    content = numbers.copy()
    return pa.Array.from_buffers(
        arrow_type, len(numbers), [pa.py_buffer(bitmap), pa.py_buffer(content)]
    )


def texts(words: pa.StringArray, numbers: w.Table) -> pa.StringArray:
    """Return the strings of some numbers.

    Args:
        words: All strings.
    Returns: One string a number.
    Nulls: Number 0.
    """
    if not numbers.any():
        return pa.nulls(len(numbers), pa.string())
    # Arrow takes by indices of 32 bits in two thirds of the time.
    return words.take(pa.array(numbers.astype(np.int32)))


def distinct(numbers: w.Table) -> w.Table:
    """Return the distinct numbers of some strings, in order.

    Args:
        numbers: Of strings, none negative.
    Returns: Each once.
    """
    return np.flatnonzero(np.bincount(numbers))


def choices(names: list[str | None], numbers: npt.NDArray[np.integer]) -> pa.Array:
    """Return one of a few names for each number.

    Args:
        names: The names, in the order of their numbers; one may be null.
        numbers: One a row.
    Returns: One name a number.
    """
    return pa.array(names, pa.string()).take(pa.array(numbers.astype(np.int32)))


def offsets(ends: npt.NDArray[np.int64]) -> pa.Int32Array:
    """Return list offsets from the ends of the lists.

    Args:
        ends: Of lists that follow one another.
    Returns: One more than there are lists; the first is 0.
    """
    starts = np.zeros(len(ends) + 1, np.int32)
    starts[1:] = ends
    return pa.array(starts)


def as_double(bits: w.Table) -> npt.NDArray[np.float64]:
    """Return a copy of numbers whose bits were read as integers.

    Args:
        bits: One a number.
    Returns: The numbers, no bit changed.
    """
    return bits.copy().view(np.float64)


def as_uint32(numbers: w.Table) -> w.Table:
    """Cut varints to 32 bits, as protobuf does with a uint32.

    Args:
        numbers: As read, 64 bits.
    Returns: 0 to 2^32 - 1.
    """
    return numbers & UINT32_MASK


def as_int32(numbers: w.Table) -> npt.NDArray[np.int32]:
    """Cut varints to 32 bits, as protobuf does with an int32 or an enum.

    Args:
        numbers: As read, 64 bits.
    Returns: Signed numbers of 32 bits.
    """
    return as_uint32(numbers).astype(np.uint32).view(np.int32)


def as_sint32(numbers: w.Table) -> npt.NDArray[np.int32]:
    """Undo the zigzag of a sint32, once it is cut to 32 bits.

    Args:
        numbers: As read, 64 bits.
    Returns: Signed numbers of 32 bits.
    """
    cut = as_uint32(numbers)
    return ((cut >> 1) ^ -(cut & 1)).astype(np.int32)
