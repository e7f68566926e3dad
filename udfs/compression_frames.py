# Strategy: every reader stops at one byte more than it may return, whatever the frame
# header claims; claims are compared with the limit before memory is taken.
#
# What comes back is data or a reason, never an exception: the bytes are the peer's.
# Frames that follow one another are read on, as the readers of the JVM do; as there,
# bytes after a gzip member that begin no other member are ignored.
#
# Source: RFC 1952 (gzip), RFC 8878 (zstd), lz4_Frame_format.md.
"""Bounded readers of gzip, lz4 and zstd frames."""

import zlib
from collections.abc import Callable
from typing import NamedTuple, Protocol

import lz4.frame
import zstandard

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)

WRONG_CODEC = "wrong_codec"
TRUNCATED_FRAME = "truncated_frame"
CORRUPT_FRAME = "corrupt_frame"
TOO_LARGE = "too_large"

# lz4 and zstd share frames that a reader skips: 0x184D2A50 to 0x184D2A5F.
SKIPPABLE_MAGICS = tuple(bytes([low, 0x2A, 0x4D, 0x18]) for low in range(0x50, 0x60))
SKIPPABLE_HEADER_BYTES = 8
FRAME_MAGICS = {
    GZIP: (b"\x1f\x8b",),
    LZ4: (b"\x04\x22\x4d\x18", *SKIPPABLE_MAGICS),
    ZSTD: (b"\x28\xb5\x2f\xfd", *SKIPPABLE_MAGICS),
}
# Input is fed in pieces, so that a push of very many frames is not copied once a frame.
INPUT_BYTES = 64 << 10
# What is read at once: room for a usual push first, as making room costs time.
FIRST_OUTPUT_BYTES, OUTPUT_BYTES = 32 << 10, 256 << 10
# What GZIPInputStream wants to see before it tries another member.
MIN_GZIP_MEMBER_BYTES = 18
GZIP_WINDOW_BITS = 31
# The largest window zstd's own decoder takes unasked (2^27), as zstd-jni does.
MAX_ZSTD_WINDOW_BYTES = 1 << 27
MAX_ZSTD_HEADER_BYTES = 18


class Decompressed(NamedTuple):
    """A push without its compression, or why that failed."""

    data: bytes
    """Empty where there is a reason."""
    reason: str | None = None
    """None, or one of the reason codes of this module."""
    detail: str | None = None
    """A sentence about the reason, without any text of the push."""


class FrameReader(Protocol):
    """What the streaming readers of zlib and lz4 have in common."""

    @property
    def eof(self) -> bool:
        """Whether the frame has ended."""

    @property
    def unused_data(self) -> bytes | None:
        """What was fed after the end of the frame."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return at most max_length bytes."""


def refuse(reason: str, codec: str, text: str) -> Decompressed:
    """Return a refusal with a sentence.

    Args:
        reason: A reason code.
        codec: Its name, or that of the codec that was stated.
        text: What is wrong, without any text of the push.
    Returns: No data, the reason, and a sentence.
    """
    return Decompressed(b"", reason, f"{codec}: {text}")


def refuse_large(codec: str, max_bytes: int) -> Decompressed:
    """Return the refusal of a push that is larger than the limit.

    Args:
        codec: The codec that was stated.
        max_bytes: The limit, in bytes.
    Returns: No data and too_large.
    """
    return refuse(TOO_LARGE, codec, f"more than {max_bytes} bytes uncompressed")


def _read_frames(
    body: bytes,
    codec: str,
    make_reader: Callable[[], FrameReader],
    max_bytes: int,
    *,
    is_frame: Callable[[bytes], bool],
) -> Decompressed:
    """Read frame after frame; is_frame says of 19 bytes whether to go on."""
    pieces: list[bytes] = []
    room = max_bytes + 1
    at = 0
    while at < len(body) and (at == 0 or is_frame(body[at : at + 19])):
        reader = make_reader()
        while not reader.eof:
            if at >= len(body):
                return refuse(TRUNCATED_FRAME, codec, "the frame ends early")
            fed = body[at : at + INPUT_BYTES]
            at += len(fed)
            try:
                piece = reader.decompress(fed, room)
            except (zlib.error, RuntimeError):
                return refuse(CORRUPT_FRAME, codec, "the frame is not valid")
            pieces.append(piece)
            room -= len(piece)
            if room <= 0:
                return refuse_large(codec, max_bytes)
        at -= len(reader.unused_data or b"")
    return Decompressed(b"".join(pieces))


def read_gzip(body: bytes, max_bytes: int) -> Decompressed:
    """Read gzip members.

    Args:
        body: As received, beginning as gzip does.
        max_bytes: Largest result, in bytes.
    Returns: The data, or a reason.
    Errors: truncated_frame, corrupt_frame, too_large.
    Source: RFC 1952; GZIPInputStream for what may follow a member.
    """
    return _read_frames(
        body,
        "gzip",
        lambda: zlib.decompressobj(GZIP_WINDOW_BITS),
        max_bytes,
        is_frame=lambda start: (
            len(start) > MIN_GZIP_MEMBER_BYTES and start.startswith(b"\x1f\x8b\x08")
        ),
    )


def read_lz4(body: bytes, max_bytes: int) -> Decompressed:
    """Read lz4 frames; anything else after a frame is corrupt.

    Args:
        body: As received, beginning as lz4 does.
        max_bytes: Largest result, in bytes.
    Returns: The data, or a reason.
    Errors: truncated_frame, corrupt_frame, too_large.
    Source: lz4_Frame_format.md.
    """
    return _read_frames(
        body, "lz4", lz4.frame.LZ4FrameDecompressor, max_bytes, is_frame=bool
    )


def _zstd_block_end(body: bytes, at: int) -> int:
    """Return where the blocks and the checksum of a zstd frame end."""
    descriptor = body[at + 4]
    is_single_segment = descriptor >> 5 & 1
    size_bytes = (is_single_segment, 2, 4, 8)[descriptor >> 6]
    at += 5 + (1 - is_single_segment) + (0, 1, 2, 4)[descriptor & 3] + size_bytes
    is_last = False
    while not is_last and at + 3 <= len(body):
        header = int.from_bytes(body[at : at + 3], "little")
        is_last = bool(header & 1)
        is_repeated_byte = header >> 1 & 3 == 1
        at += 3 + (1 if is_repeated_byte else header >> 3)
    return at + 4 * (descriptor >> 2 & 1) if is_last else len(body) + 1


def _zstd_fault(body: bytes) -> Decompressed | None:
    """Return what is wrong with the frame structure, if anything.

    The streaming reader returns less, without an error, where a frame ends early.
    """
    at = 0
    while at < len(body):
        start = body[at : at + MAX_ZSTD_HEADER_BYTES]
        if start.startswith(SKIPPABLE_MAGICS):
            size = int.from_bytes(start[4:SKIPPABLE_HEADER_BYTES], "little")
            end = at + SKIPPABLE_HEADER_BYTES + size
        elif start.startswith(FRAME_MAGICS[ZSTD]):
            try:
                frame = zstandard.get_frame_parameters(start)
            except zstandard.ZstdError:
                is_cut = len(start) < MAX_ZSTD_HEADER_BYTES
                reason = TRUNCATED_FRAME if is_cut else CORRUPT_FRAME
                return refuse(reason, "zstd", "the frame header is not whole")
            if frame.window_size > MAX_ZSTD_WINDOW_BYTES:
                return refuse(TOO_LARGE, "zstd", "the frame wants too large a window")
            end = _zstd_block_end(body, at)
        elif any(magic.startswith(start) for magic in FRAME_MAGICS[ZSTD]):
            end = len(body) + 1
        else:
            return refuse(CORRUPT_FRAME, "zstd", "other bytes follow the frame")
        if end > len(body):
            return refuse(TRUNCATED_FRAME, "zstd", "the frame ends early")
        at = end
    return None


def read_zstd(body: bytes, max_bytes: int) -> Decompressed:
    """Read zstd frames; anything else after a frame is corrupt.

    Args:
        body: As received, beginning as zstd does.
        max_bytes: Largest result, in bytes.
    Returns: The data, or a reason.
    Errors: truncated_frame, corrupt_frame, too_large (also for a window beyond 2^27).
    Source: RFC 8878.
    """
    decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW_BYTES)
    reader = decompressor.stream_reader(body, read_across_frames=True)
    pieces: list[bytes] = []
    room = max_bytes + 1
    step = FIRST_OUTPUT_BYTES
    try:
        while room > 0 and (piece := reader.read(min(room, step))):
            pieces.append(piece)
            room -= len(piece)
            step = OUTPUT_BYTES if len(piece) == step else step
    except zstandard.ZstdError:
        fault = _zstd_fault(body)
        return fault or refuse(CORRUPT_FRAME, "zstd", "the frame is not valid")
    if room <= 0:
        return refuse_large("zstd", max_bytes)
    return _zstd_fault(body) or Decompressed(b"".join(pieces))
