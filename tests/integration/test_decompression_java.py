"""Frames, cut and followed by others, are read as Kafka's own classes read them."""

import base64
import gzip
import random
import struct
import subprocess
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from tests.support.clients.java_clients import PROGRAMS_PATH
from tests.support.kafka.kafka_commands import SHORT_LIVED
from tests.unit.udfs.compression.test_codecs import (
    FRAMES,
    HEADER,
    LIMIT,
    TEXT,
    raw_snappy,
    xerial,
    zstd,
)
from udfs.compression.codecs import GZIP, LZ4, SNAPPY, ZSTD, decompress

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = PROGRAMS_PATH / "DecompressInJava.java"
SKIPPABLE = b"\x53\x2a\x4d\x18" + struct.pack("<I", 5) + b"hello"
# More than GZIPInputStream's buffer holds, so that it asks what is available.
NOISE = random.Random(1).randbytes(20_000)  # noqa: S311 - the same in every run


def kafka_lz4(data):
    """Kafka reads no frame whose blocks depend on one another."""
    return lz4.frame.compress(data, block_linked=False, block_checksum=True)


def gz(data):
    return gzip.compress(data, mtime=0)


def unsized(data):
    return zstd(data, states_size=False)


def windowed(window_log):
    parameters = zstandard.ZstdCompressionParameters.from_level(
        3, window_log=window_log, write_content_size=False
    )
    return zstandard.ZstdCompressor(compression_params=parameters).compress(TEXT)


def damaged(frame, at=-1):
    out = bytearray(frame)
    out[at] ^= 0x55
    return bytes(out)


FOLLOWED = {
    GZIP: [
        *(gz(b""), gz(TEXT) + gz(TEXT), gz(b"") + gz(TEXT) + gz(b"")),
        *(gz(TEXT) + rest for rest in (b"x", b"x" * 8, b"x" * 19, b"x" * 40)),
        gz(TEXT) + gz(b"")[:18],
        gz(TEXT) + b"\x1f\x8b\x07" + bytes(30),
        gz(TEXT) + b"\x1f\x8b\x08\x00" + bytes(6) + b"\xff" * 30,
        *(gz(NOISE) + rest for rest in (b"xyz", b"x" * 30, gz(TEXT), gz(NOISE)[:99])),
        damaged(gz(TEXT), -6),
    ],
    LZ4: [
        *(kafka_lz4(b""), kafka_lz4(b"") + kafka_lz4(TEXT)),
        *(kafka_lz4(TEXT) + rest for rest in (b"x", b"not a frame", kafka_lz4(TEXT))),
        SKIPPABLE + kafka_lz4(TEXT),
        lz4.frame.compress(TEXT, block_linked=False, store_size=False),
    ],
    ZSTD: [
        *(zstd(b""), unsized(b""), zstd(TEXT) + unsized(TEXT)),
        zstd(b"") + zstd(TEXT) + zstd(b""),
        *(zstd(TEXT) + rest for rest in (b"x", b"garbage!!", b"\x28\xb5", SKIPPABLE)),
        *(SKIPPABLE, SKIPPABLE + zstd(TEXT) + SKIPPABLE, SKIPPABLE[:-1]),
        damaged(zstd(TEXT)),
        *(windowed(21), windowed(23), windowed(28), windowed(30)),
    ],
    SNAPPY: [
        *(raw_snappy(b""), HEADER, HEADER + xerial(TEXT), xerial(TEXT) + HEADER[:9]),
        *(xerial(TEXT) + rest for rest in (b"ab", bytes(4), b"\xff" * 4)),
        HEADER + struct.pack(">i", 1) + b"\x00",
    ],
}
CUT = [
    *((codec_id, frame) for codec_id, frame in FRAMES.values() if codec_id != LZ4),
    *((LZ4, kafka_lz4(TEXT)), (LZ4, kafka_lz4(TEXT) + kafka_lz4(TEXT))),
    *((GZIP, gz(TEXT) + gz(TEXT)), (ZSTD, zstd(TEXT) + unsized(TEXT))),
    *((SNAPPY, xerial(TEXT) + xerial(TEXT)), (ZSTD, SKIPPABLE + zstd(TEXT))),
]
# No bytes are an empty push to us, whatever the codec; some of Kafka's readers refuse.
BODIES = [
    *((codec_id, body) for codec_id, bodies in FOLLOWED.items() for body in bodies),
    *(
        (codec_id, frame[:cut])
        for codec_id, frame in CUT
        for cut in range(1, len(frame))
    ),
]


@pytest.fixture(scope="module")
def in_java(java):
    listed = subprocess.run(
        [java, "--list-modules"], check=True, capture_output=True, text=True
    )
    if "jdk.compiler" not in listed.stdout:
        pytest.skip("this Java has no compiler, and the program comes as source")
    lines = (f"{codec} {base64.b64encode(body).decode()}" for codec, body in BODIES)
    jars = ROOT / ".cache" / "jars" / "kafka" / "*"
    done = subprocess.run(
        [java, *SHORT_LIVED, "-cp", str(jars), str(PROGRAM)],
        input="\n".join(lines),
        check=True,
        capture_output=True,
        text=True,
    )
    answers = [line.partition(" ") for line in done.stdout.splitlines()]
    return [base64.b64decode(r) if how == "read" else None for how, _, r in answers]


def test_frames_are_read_and_refused_as_kafka_does(in_java):
    ours = [decompress(body, codec_id, LIMIT) for codec_id, body in BODIES]
    read = [None if one.reason else bytes(one.data) for one in ours]
    different = [
        (codec_id, body.hex(), answer, one.reason)
        for (codec_id, body), answer, one, data in zip(
            BODIES, in_java, ours, read, strict=True
        )
        if data != answer
    ]
    assert different == []
    assert len([answer for answer in in_java if answer is not None]) > 100
    assert len([answer for answer in in_java if answer is None]) > 1_000
