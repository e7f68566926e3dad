"""Decompression of one push, bounded in memory."""

from .frames import (
    CORRUPT_FRAME,
    FRAME_MAGICS,
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    TOO_LARGE,
    TRUNCATED_FRAME,
    WRONG_CODEC,
    ZSTD,
    Decompressed,
    read_gzip,
    read_lz4,
    refuse,
    refuse_large,
)
from .snappy import XERIAL_MAGIC, read_snappy
from .zstd import read_zstd

__all__ = [
    "COMPRESSION_NAMES",
    "CORRUPT_FRAME",
    "GZIP",
    "LZ4",
    "NONE",
    "SNAPPY",
    "TOO_LARGE",
    "TRUNCATED_FRAME",
    "UNKNOWN_CODEC",
    "WRONG_CODEC",
    "ZSTD",
    "Decompressed",
    "decompress",
    "other_codec",
]

UNKNOWN_CODEC = "unknown_codec"

COMPRESSION_NAMES = {
    NONE: "none",
    GZIP: "gzip",
    SNAPPY: "snappy",
    LZ4: "lz4",
    ZSTD: "zstd",
}
READERS = {GZIP: read_gzip, SNAPPY: read_snappy, LZ4: read_lz4, ZSTD: read_zstd}
# The first of each; the others are frames to be skipped.
MAGICS = {FRAME_MAGICS[codec_id][0]: codec_id for codec_id in FRAME_MAGICS}
MAGICS[XERIAL_MAGIC] = SNAPPY


def other_codec(body: bytes, codec_id: int) -> str | None:
    """Return the codec whose magic number the bytes begin with, if not the stated one.

    Args:
        body: A push as received.
        codec_id: The stated compression type.
    Returns: Its name.
    Nulls: None where the bytes begin with no magic number, or the stated codec's.
    """
    for magic, found_id in MAGICS.items():
        if body.startswith(magic) and found_id != codec_id:
            return COMPRESSION_NAMES[found_id]
    return None


def decompress(body: bytes, codec_id: int | None, max_bytes: int) -> Decompressed:
    """Undo the compression of one push.

    Args:
        body: The `Metrics` field as received.
        codec_id: Kafka's compression type: 0 none, 1 gzip, 2 snappy (raw or as Java
            clients frame it), 3 lz4 frame, 4 zstd.
        max_bytes: Largest result, in bytes.
    Returns: The data, or a reason with a sentence that holds no text of the push.
    Nulls: No codec_id is unknown_codec.
    Errors: unknown_codec, wrong_codec (the bytes begin otherwise than the codec does),
        truncated_frame (begins right, ends early), corrupt_frame (checksum or structure
        is wrong), too_large. No bytes are no data with any codec, and no error.
    Source: KIP-714, PushTelemetry CompressionType; Kafka, CompressionType.
    """
    if not body:
        return Decompressed(b"")
    if codec_id is None or codec_id not in COMPRESSION_NAMES:
        return Decompressed(b"", UNKNOWN_CODEC, f"compression type {codec_id}")
    if codec_id == NONE:
        is_large = len(body) > max_bytes
        return refuse_large("none", max_bytes) if is_large else Decompressed(body)
    return _check_start(body, codec_id) or READERS[codec_id](body, max_bytes)


def _check_start(body: bytes, codec_id: int) -> Decompressed | None:
    """Return what is wrong with the first bytes, if anything."""
    magics = FRAME_MAGICS.get(codec_id)
    if magics is not None and body.startswith(magics):
        return None
    codec = COMPRESSION_NAMES[codec_id]
    found = other_codec(body, codec_id)
    if found is not None:
        return refuse(WRONG_CODEC, codec, f"the push begins as {found} does")
    if magics is None:
        return None
    if any(magic.startswith(body) for magic in magics):
        return refuse(TRUNCATED_FRAME, codec, "the frame ends early")
    return refuse(WRONG_CODEC, codec, f"the push does not begin as {codec} does")
