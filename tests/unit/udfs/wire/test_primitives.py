"""Kafka's primitive types: written, read back, cut at each byte, and lied about."""

import struct

import pytest

from udfs.wire.primitives import (
    NO_TAGGED_FIELDS,
    Cursor,
    MalformedBytes,
    TruncatedBytes,
    write_compact_string,
    write_uvarint,
)

LARGEST = 2**31 - 1


@pytest.mark.parametrize(
    ("value", "size"), [(0, 1), (127, 1), (128, 2), (16_383, 2), (LARGEST, 5)]
)
def test_uvarint_is_read_back_and_its_cut_bytes_are_truncated(value, size):
    written = write_uvarint(value)
    assert len(written) == size
    cursor = Cursor(written + b"rest")
    assert cursor.read_uvarint() == value
    assert cursor.take(cursor.remaining_bytes) == b"rest"
    for end in range(size):
        with pytest.raises(TruncatedBytes):
            Cursor(written[:end]).read_uvarint()


@pytest.mark.parametrize("written", [b"\xff" * 5 + b"\1", b"\xff\xff\xff\xff\x0f"])
def test_uvarint_beyond_31_bits_is_malformed(written):
    with pytest.raises(MalformedBytes) as raised:
        Cursor(written).read_uvarint()
    assert not isinstance(raised.value, TruncatedBytes)


@pytest.mark.parametrize("text", ["", "a", "ä" * 70, "x" * 20_000, None])
def test_compact_string_is_read_back_and_its_cut_bytes_are_truncated(text):
    written = write_compact_string(text)
    assert Cursor(written).read_compact_string() == text
    for end in range(min(len(written), 300)):
        with pytest.raises(TruncatedBytes):
            Cursor(written[:end]).read_compact_string()


def test_array_that_claims_more_items_than_bytes_is_truncated():
    for is_compact, length in ((True, write_uvarint(6)), (False, b"\0\0\0\5")):
        cursor = Cursor(length + bytes(9))
        with pytest.raises(TruncatedBytes):
            cursor.read_array_length(is_compact=is_compact, item_bytes=2)


def test_fixed_fields_are_read_in_order():
    written = struct.pack(">hiq?", -2, -3, -4, True) + NO_TAGGED_FIELDS
    cursor = Cursor(written)
    assert cursor.read_int16() == -2
    assert cursor.read_int32() == -3
    assert cursor.read_int64() == -4
    assert cursor.read_bool() is True
    cursor.skip_tagged_fields()
    assert not cursor.remaining_bytes
