"""Sets of rows are written and read as Delta's deletion vectors have them."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.files.row_bitmaps import MalformedBitmap, read_rows, write_rows

# {1, 2, 65538}: by hand, after the two formats.
GOLDEN = bytes.fromhex(
    "d1d33964" "0100000000000000" "00000000"
    "3a300000" "02000000" "00000100" "01000000" "18000000" "1c000000"
    "01000200" "0200"
)  # fmt: skip


def rows_of(*numbers):
    return np.array(numbers, np.int64)


def test_a_set_has_the_golden_bytes():
    assert write_rows(rows_of(65_538, 2, 1)) == GOLDEN
    assert read_rows(GOLDEN).tolist() == [1, 2, 65_538]


@given(st.sets(st.one_of(st.integers(0, 200_000), st.integers(0, 2**34)), max_size=200))
def test_what_is_written_is_read(rows):
    found = read_rows(write_rows(rows_of(*rows)))
    assert found.tolist() == sorted(rows)


@pytest.mark.parametrize("count", [0, 1, 4_096, 4_097, 65_536, 200_000])
def test_lists_and_bits_are_read(count):
    rows = np.arange(count, dtype=np.int64) * 3 // 2
    assert read_rows(write_rows(rows)).tolist() == rows.tolist()


def test_runs_are_read():
    """Delta makes runs where they are shorter; here 10 to 19 and 30, then a list."""
    runs = struct.pack("<HHHHH", 2, 10, 9, 30, 0)
    bucket = struct.pack("<IB", 12_347 | (1 << 16), 1)
    heads = struct.pack("<HHHH", 0, 10, 2, 1)
    data = GOLDEN[:16] + bucket + heads + runs + struct.pack("<HH", 5, 6)
    wanted = [*range(10, 20), 30, 2 * 65_536 + 5, 2 * 65_536 + 6]
    assert read_rows(data).tolist() == wanted


@pytest.mark.parametrize("size", range(len(GOLDEN)))
def test_bytes_that_are_cut_anywhere_are_malformed(size):
    with pytest.raises(MalformedBitmap):
        read_rows(GOLDEN[:size])


def test_another_format_is_malformed():
    for at in (0, 16):
        changed = bytearray(GOLDEN)
        changed[at] ^= 64
        with pytest.raises(MalformedBitmap):
            read_rows(bytes(changed))
