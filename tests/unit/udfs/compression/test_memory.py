"""A bomb of any codec takes little memory, whatever its header claims."""

import gzip
import struct
import subprocess
import sys
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from tests.unit.udfs.compression.test_codecs import HEADER, raw_snappy
from udfs.compression.codecs import GZIP, LZ4, SNAPPY, ZSTD

PROGRAM = Path(__file__).with_name("peak_memory.py")
LIMIT = 16 << 20
GRANTED = 8 << 20
ZEROS = bytes(128 << 20)
SNAPPY_ZEROS = bytes(24 << 20)


def zstd(*, window_log=21, states_size):
    parameters = zstandard.ZstdCompressionParameters.from_level(
        3, window_log=window_log, write_content_size=states_size
    )
    return zstandard.ZstdCompressor(compression_params=parameters).compress(ZEROS)


def zstd_that_claims(size):
    """A frame whose header states another size than it holds."""
    frame = bytearray(zstandard.ZstdCompressor().compress(ZEROS))
    # The size takes four bytes, after the byte of the window.
    assert frame[4] & 0xE0 == 0x80
    frame[6:10] = struct.pack("<I", size)
    return bytes(frame)


def lz4_frame(*, states_size):
    return lz4.frame.compress(ZEROS, block_size=7, store_size=states_size)


def lz4_that_claims(size):
    frame = bytearray(lz4_frame(states_size=True))
    frame[6:14] = struct.pack("<Q", size)
    return bytes(frame)


def framed_snappy(*pieces):
    blocks = [raw_snappy(piece) for piece in pieces]
    return HEADER + b"".join(struct.pack(">i", len(b)) + b for b in blocks)


def snappy_that_claims(size):
    block = raw_snappy(SNAPPY_ZEROS)
    claimed = bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14 & 0x7F])
    return claimed + block[4:]


BOMBS = {
    "gzip": (GZIP, lambda: gzip.compress(ZEROS)),
    "gzip in many members": (GZIP, lambda: gzip.compress(bytes(1 << 20)) * 128),
    "raw snappy": (SNAPPY, lambda: raw_snappy(SNAPPY_ZEROS)),
    "raw snappy that claims little": (SNAPPY, lambda: snappy_that_claims(1 << 20)),
    "framed snappy, one block": (SNAPPY, lambda: framed_snappy(SNAPPY_ZEROS)),
    "framed snappy, blocks of 1 MiB": (
        SNAPPY,
        lambda: framed_snappy(*[bytes(1 << 20)] * 24),
    ),
    "framed snappy, one byte too many": (
        SNAPPY,
        lambda: framed_snappy(bytes(LIMIT), b"x"),
    ),
    "lz4 of stated size": (LZ4, lambda: lz4_frame(states_size=True)),
    "lz4 of unknown size": (LZ4, lambda: lz4_frame(states_size=False)),
    "lz4 that claims little": (LZ4, lambda: lz4_that_claims(100)),
    "zstd of stated size": (ZSTD, lambda: zstd(states_size=True)),
    "zstd of unknown size": (ZSTD, lambda: zstd(states_size=False)),
    "zstd, window of 8 MiB": (ZSTD, lambda: zstd(window_log=23, states_size=False)),
    "zstd, window of 128 MiB": (ZSTD, lambda: zstd(window_log=27, states_size=False)),
    "zstd that claims little": (ZSTD, lambda: zstd_that_claims(100)),
    "zstd that claims the limit": (ZSTD, lambda: zstd_that_claims(LIMIT)),
    "zstd in many frames": (
        ZSTD,
        lambda: zstandard.ZstdCompressor().compress(bytes(1 << 20)) * 128,
    ),
}
LIARS = {name for name in BOMBS if "claims" in name}


@pytest.fixture(scope="module")
def peaks(tmp_path_factory):
    """Status and bytes at the peak of each bomb."""
    if sys.platform != "linux":
        pytest.skip("the peak of a process is read from /proc")
    folder = tmp_path_factory.mktemp("bombs")
    pushes = []
    for number, (codec_id, make) in enumerate(BOMBS.values()):
        path = folder / str(number)
        path.write_bytes(make())
        pushes.append(f"{codec_id}:{path}")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(LIMIT), *pushes],
        check=True,
        capture_output=True,
        text=True,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    return {
        name: (status, int(peak))
        for name, (status, peak) in zip(BOMBS, lines, strict=True)
    }


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_the_limit_and_8_mib_at_most(name, peaks):
    status, peak = peaks[name]
    assert status in (
        {"corrupt_frame", "too_large"} if name in LIARS else {"too_large"}
    )
    assert peak <= LIMIT + GRANTED
