"""Bombs of every codec are refused before they take memory."""

import gzip
import struct
import tracemalloc

import lz4.frame
import pyarrow as pa
import pytest

from tests.unit.udfs.compression.test_codecs import (
    LIMIT,
    outcome,
    raw_snappy,
    xerial,
    zstd,
)
from udfs.compression.codecs import GZIP, LZ4, SNAPPY, ZSTD

BOMB_BYTES = 64 << 20
BOMBS = {
    "gzip": lambda: (GZIP, gzip.compress(bytes(BOMB_BYTES))),
    "raw snappy": lambda: (SNAPPY, raw_snappy(bytes(BOMB_BYTES))),
    "xerial snappy": lambda: (SNAPPY, xerial(bytes(BOMB_BYTES), BOMB_BYTES)),
    "lz4": lambda: (LZ4, lz4.frame.compress(bytes(BOMB_BYTES))),
    "zstd": lambda: (ZSTD, zstd(bytes(BOMB_BYTES))),
    "zstd of unknown size": lambda: (ZSTD, zstd(bytes(BOMB_BYTES), states_size=False)),
    "zstd in many frames": lambda: (ZSTD, zstd(bytes(1 << 20)) * 64),
    "gzip in many members": lambda: (GZIP, gzip.compress(bytes(1 << 20)) * 64),
}


@pytest.mark.parametrize("make", BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_is_refused_before_it_takes_memory(make):
    codec_id, bomb = make()
    arrow_bytes = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        assert outcome(bomb, codec_id) == "too_large"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * LIMIT
    # Less where a collection has freed what others had left.
    assert pa.total_allocated_bytes() <= arrow_bytes


def test_a_zstd_frame_that_claims_a_huge_size_is_not_believed():
    single_segment_of_8_gib = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 8 << 30)
    empty_last_block = b"\x01\x00\x00"
    assert outcome(single_segment_of_8_gib + empty_last_block, ZSTD) == "too_large"


def test_a_zstd_frame_that_wants_a_huge_window_is_refused():
    window_of_2_gib = b"\x28\xb5\x2f\xfd\x00" + bytes([(31 - 10) << 3])
    assert outcome(window_of_2_gib + b"\x01\x00\x00", ZSTD) == "too_large"


def test_snappy_that_claims_4_gib_is_refused_by_its_claim():
    assert outcome(b"\xff\xff\xff\xff\x0f\xf5abc", SNAPPY) == "wrong_codec"
    assert outcome(b"\xff\xff\xff\xff\x0f\x08abc", SNAPPY) == "too_large"
