import gzip
import struct

import lz4.frame
import pyarrow as pa
import pytest
import zstandard

from udfs.compression.codecs import (
    COMPRESSION_NAMES,
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    ZSTD,
    decompress,
    other_codec,
)

TEXT = b"org.apache.kafka.producer." * 9 + bytes(range(256)) * 3
LIMIT = 1 << 20
HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


def raw_snappy(data):
    return pa.Codec("snappy").compress(data, asbytes=True)


def xerial(data, block_bytes=400):
    """As snappy-java's SnappyOutputStream writes it."""
    out = [HEADER]
    for at in range(0, len(data), block_bytes):
        block = raw_snappy(data[at : at + block_bytes])
        out.append(struct.pack(">i", len(block)) + block)
    return b"".join(out)


def zstd(data, *, states_size=True, checksum=True):
    compressor = zstandard.ZstdCompressor(
        write_content_size=states_size, write_checksum=checksum
    )
    return compressor.compress(data)


def lz4_frame(data):
    return lz4.frame.compress(data, content_checksum=True, block_checksum=True)


FRAMES = {
    "gzip": (GZIP, gzip.compress(TEXT)),
    "raw snappy": (SNAPPY, raw_snappy(TEXT)),
    "xerial snappy": (SNAPPY, xerial(TEXT)),
    "lz4": (LZ4, lz4_frame(TEXT)),
    "zstd": (ZSTD, zstd(TEXT)),
    "zstd of unknown size": (ZSTD, zstd(TEXT, states_size=False)),
}
# Kafka's own reader of lz4 ends with the first frame.
READ_ON = [name for name in FRAMES if name not in {"raw snappy", "lz4"}]
each_frame = pytest.mark.parametrize(
    ("codec_id", "frame"), FRAMES.values(), ids=FRAMES.keys()
)


def outcome(body, codec_id, max_bytes=LIMIT):
    read = decompress(body, codec_id, max_bytes)
    assert (read.reason is None) == (read.detail is None)
    assert not (read.reason and read.data)
    return read.reason or bytes(read.data)


@each_frame
def test_a_whole_frame_is_read(codec_id, frame):
    assert outcome(frame, codec_id) == TEXT


@each_frame
def test_a_frame_cut_at_any_byte_is_truncated(codec_id, frame):
    cuts = range(1, len(frame))
    found = {cut: outcome(frame[:cut], codec_id) for cut in cuts}
    # A stream of framed snappy has no end mark: where no length follows, it is whole.
    if frame.startswith(HEADER):
        is_whole = {cut for cut in cuts if isinstance(found[cut], bytes)}
        assert all(TEXT.startswith(found[cut]) for cut in is_whole)
        assert len(is_whole) == 4 * (1 + len(TEXT) // 400)
        cuts = set(cuts) - is_whole
    assert {cut: found[cut] for cut in cuts} == dict.fromkeys(cuts, "truncated_frame")


@each_frame
def test_a_frame_that_was_tampered_with_never_raises(codec_id, frame):
    for at in range(len(frame)):
        for bit in range(8):
            body = bytearray(frame)
            body[at] ^= 1 << bit
            outcome(bytes(body), codec_id)


@pytest.mark.parametrize("name", ["gzip", "lz4", "zstd"])
def test_a_wrong_checksum_is_a_corrupt_frame(name):
    codec_id, frame = FRAMES[name]
    at = -6 if name == "gzip" else -1
    body = bytearray(frame)
    body[at] ^= 0x55
    assert outcome(bytes(body), codec_id) == "corrupt_frame"


def test_snappy_that_copies_from_before_its_start_is_corrupt():
    assert outcome(b"\x0a\x00a\xfe\xff\x00", SNAPPY) == "corrupt_frame"


def test_snappy_that_holds_more_than_it_claims_is_corrupt():
    assert outcome(raw_snappy(b"abc") + b"\x00z", SNAPPY) == "corrupt_frame"


@pytest.mark.parametrize("length", [-1, 0])
def test_a_framed_snappy_block_without_length_is_corrupt(length):
    assert outcome(HEADER + struct.pack(">i", length), SNAPPY) == "corrupt_frame"


@each_frame
def test_a_frame_fits_a_limit_of_its_size_and_no_less(codec_id, frame):
    assert outcome(frame, codec_id, len(TEXT)) == TEXT
    assert outcome(frame, codec_id, len(TEXT) - 1) == "too_large"


def test_the_limit_holds_without_compression_too():
    assert outcome(TEXT, NONE, len(TEXT)) == TEXT
    assert outcome(TEXT, NONE, len(TEXT) - 1) == "too_large"


@pytest.mark.parametrize("name", READ_ON)
def test_frames_that_follow_one_another_are_read_on(name):
    codec_id, frame = FRAMES[name]
    assert outcome(frame + frame + frame, codec_id) == TEXT * 3
    assert outcome(frame * 3, codec_id, len(TEXT) * 3 - 1) == "too_large"


@pytest.mark.parametrize(
    ("codec_id", "empty"),
    [
        (GZIP, gzip.compress(b"")),
        (LZ4, lz4_frame(b"")),
        (ZSTD, zstd(b"")),
        (ZSTD, zstd(b"", states_size=False)),
        (SNAPPY, raw_snappy(b"")),
        (SNAPPY, HEADER),
    ],
    ids=["gzip", "lz4", "zstd", "zstd of unknown size", "raw snappy", "xerial snappy"],
)
def test_an_empty_frame_is_no_data(codec_id, empty):
    assert outcome(empty, codec_id) == b""


@pytest.mark.parametrize("codec_id", [GZIP, ZSTD])
def test_an_empty_frame_before_and_after_another_changes_nothing(codec_id):
    make = {GZIP: gzip.compress, ZSTD: zstd}[codec_id]
    assert outcome(make(b"") + make(TEXT) + make(b""), codec_id) == TEXT


def test_skippable_frames_are_skipped_in_zstd_only_as_the_jvm_does():
    skippable = b"\x53\x2a\x4d\x18" + struct.pack("<I", 5) + b"hello"
    assert outcome(skippable + zstd(TEXT) + skippable, ZSTD) == TEXT
    assert outcome(skippable + lz4_frame(TEXT), LZ4) == "wrong_codec"


def test_a_zstd_frame_that_is_cut_is_truncated_unless_another_was_whole():
    """The reader of zstd-jni does not ask how a later frame ends."""
    skippable = b"\x53\x2a\x4d\x18" + struct.pack("<I", 5) + b"hello"
    assert outcome(skippable[:-1], ZSTD) == "truncated_frame"
    assert outcome(zstd(TEXT) + skippable[:-1], ZSTD) == TEXT
    assert outcome(zstd(TEXT) + zstd(TEXT)[:-1], ZSTD) == TEXT + TEXT
    assert outcome(zstd(TEXT) + zstd(TEXT)[:9], ZSTD) == TEXT


def test_other_bytes_after_a_zstd_frame_are_corrupt():
    assert outcome(zstd(TEXT) + b"not a frame at all", ZSTD) == "corrupt_frame"


@pytest.mark.parametrize("rest", [b"not a frame", lz4_frame(TEXT), lz4_frame(TEXT)[:9]])
def test_whatever_follows_an_lz4_frame_is_ignored_as_kafka_does(rest):
    assert outcome(lz4_frame(TEXT) + rest, LZ4) == TEXT
    assert outcome(lz4_frame(b"") + rest, LZ4) == b""


def test_bytes_after_a_gzip_member_are_ignored_as_java_does():
    assert outcome(gzip.compress(TEXT) + b"not a member, 19 bytes", GZIP) == TEXT


def test_a_second_gzip_member_that_is_cut_is_truncated():
    frame = gzip.compress(TEXT)
    assert outcome(frame + frame[:-9], GZIP) == "truncated_frame"


@pytest.mark.parametrize("codec_id", [-1, 5, 127, None])
def test_another_number_or_none_is_an_unknown_codec(codec_id):
    assert outcome(TEXT, codec_id) == "unknown_codec"


@pytest.mark.parametrize("codec_id", [*COMPRESSION_NAMES, 9, None])
def test_no_bytes_are_no_data_whatever_the_codec(codec_id):
    assert outcome(b"", codec_id) == b""


@each_frame
def test_the_frame_of_another_codec_is_the_wrong_codec(codec_id, frame):
    others = {GZIP, SNAPPY, LZ4, ZSTD} - {codec_id}
    assert {outcome(frame, stated) for stated in others} == {"wrong_codec"}


@pytest.mark.parametrize("stated", [GZIP, SNAPPY, LZ4, ZSTD])
def test_bytes_without_compression_are_the_wrong_codec(stated):
    otlp = b"\x0a\x54\x0a\x00\x12\x50\x12\x4e\x0a\x3b" + b"o" * 70
    assert outcome(otlp, stated) == "wrong_codec"


def test_a_magic_number_names_the_codec_it_belongs_to():
    found = {name: other_codec(frame, NONE) for name, (_, frame) in FRAMES.items()}
    assert found == {
        "gzip": "gzip",
        "raw snappy": None,
        "xerial snappy": "snappy",
        "lz4": "lz4",
        "zstd": "zstd",
        "zstd of unknown size": "zstd",
    }
    assert other_codec(FRAMES["gzip"][1], GZIP) is None
    assert other_codec(b"", NONE) is None


def test_details_hold_no_text_of_the_push():
    secret = b"password-of-the-client"
    bodies = [(codec_id, secret + frame) for codec_id, frame in FRAMES.values()]
    bodies += [(codec_id, frame[:-3] + secret) for codec_id, frame in FRAMES.values()]
    for codec_id, body in bodies:
        assert "password" not in (decompress(body, codec_id, LIMIT).detail or "")
