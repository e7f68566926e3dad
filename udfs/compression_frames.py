# Strategy: every reader stops at one byte more than it may return, whatever the frame
# header claims; claims are compared with the limit before memory is taken. A push that
# is larger than usual is measured first, and read again into memory of its size: a bomb
# takes no more than the reader's own window.
#
# What comes back is data or a reason, never an exception: the bytes are the peer's.
# What follows a frame is treated as the JVM's readers do. gzip: another member is read
# on, other bytes are ignored. zstd: other frames are read on, a last one may be cut,
# other bytes are corrupt.
# lz4: Kafka's reader ends with the first frame, whatever follows.
#
# Source: RFC 1952 (gzip), RFC 8878 (zstd), lz4_Frame_format.md; GZIPInputStream of the
# JDK, ZstdInputStreamNoFinalizer of zstd-jni, Lz4BlockInputStream of Kafka.
"""Bounded readers of gzip, lz4 and zstd frames."""

import threading
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

# Frames that a reader of zstd skips; Kafka's reader of lz4 refuses them.
SKIPPABLE_MAGICS = tuple(bytes([low, 0x2A, 0x4D, 0x18]) for low in range(0x50, 0x60))
SKIPPABLE_HEADER_BYTES = 8
FRAME_MAGICS = {
    GZIP: (b"\x1f\x8b",),
    LZ4: (b"\x04\x22\x4d\x18",),
    ZSTD: (b"\x28\xb5\x2f\xfd", *SKIPPABLE_MAGICS),
}
# Input is fed in pieces, so that a push of very many frames is not copied once a frame.
INPUT_BYTES = 64 << 10
# What is read at once. A push up to this size is read once, a larger one twice.
OUTPUT_BYTES = 64 << 10
# What GZIPInputStream wants to see before it tries another member.
MIN_GZIP_MEMBER_BYTES = 18
GZIP_MEMBER = b"\x1f\x8b\x08"
GZIP_WINDOW_BITS = 31
# What RFC 8878 asks of every decoder, less what a decoder needs beside its window.
# Clients' frames want 2 MiB; zstd's own limit of 128 MiB would let a small push take
# as much.
MAX_ZSTD_WINDOW_BYTES = 8 << 20
# How zstandard says that a frame does not state the size of its content.
UNKNOWN_ZSTD_SIZE = (1 << 64) - 1
# A guess at how much smaller zstd makes a push; beyond it the slower way is taken.
USUAL_ZSTD_RATIO = 16
MAX_ZSTD_HEADER_BYTES = 18


class Decompressed(NamedTuple):
    """A push without its compression, or why that failed."""

    data: bytes | bytearray
    """Empty where there is a reason."""
    reason: str | None = None
    """None, or one of the reason codes of this module."""
    detail: str | None = None
    """A sentence about the reason, without any text of the push."""


class _Content:
    """What was read so far: of a usual push its bytes, of a larger one its size.

    With the size known, it is made again, with room for all bytes.
    """

    def __init__(self, size: int = 0) -> None:
        """Make it with room for so many bytes, or for those of a usual push."""
        self.data = bytearray(size)
        self.size = 0
        self._is_kept = True

    @property
    def is_whole(self) -> bool:
        """Whether all that was read is in data."""
        return self._is_kept

    def add(self, piece: bytes) -> None:
        """Keep a piece, or only count it."""
        end = self.size + len(piece)
        if self._is_kept and end > max(len(self.data), OUTPUT_BYTES):
            self.data = bytearray()
            self._is_kept = False
        if self._is_kept:
            self.data[self.size : end] = piece
        self.size = end


def _read_measured(read: Callable[[_Content], Decompressed | None]) -> Decompressed:
    """Read once, and again if there is more than a usual push."""
    content = _Content()
    fault = read(content)
    if fault is None and not content.is_whole:
        content = _Content(content.size)
        fault = read(content)
    return fault or Decompressed(content.data)


class FrameReader(Protocol):
    """What the streaming readers of gzip and lz4 have in common."""

    @property
    def eof(self) -> bool:
        """Whether the frame has ended."""

    @property
    def needs_input(self) -> bool:
        """Whether all that was fed is used up."""

    @property
    def unused_data(self) -> bytes | None:
        """What was fed after the end of the frame."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return at most max_length bytes."""


class GzipReader:
    """A gzip member, read as the FrameReader of lz4 is."""

    def __init__(self) -> None:
        """Begin before the header."""
        self._member = zlib.decompressobj(GZIP_WINDOW_BITS)

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""
        return self._member.eof

    @property
    def needs_input(self) -> bool:
        """Whether all that was fed is used up."""
        return not self._member.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        """What was fed after the end of the member."""
        return self._member.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return at most max_length bytes."""
        return self._member.decompress(self._member.unconsumed_tail + data, max_length)


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


def _read_frame(
    reader: FrameReader, codec: str, body: bytes, content: _Content, max_bytes: int
) -> Decompressed | int:
    """Add the content of a frame; returns where it ends, or what is wrong."""
    at = 0
    while not reader.eof:
        is_at_end = reader.needs_input and at == len(body)
        fed = body[at : at + INPUT_BYTES] if reader.needs_input else b""
        at += len(fed)
        room = max_bytes + 1 - content.size
        try:
            piece = reader.decompress(fed, min(room, OUTPUT_BYTES))
        except (zlib.error, RuntimeError):
            return refuse(CORRUPT_FRAME, codec, "the frame is not valid")
        content.add(piece)
        if content.size > max_bytes:
            return refuse_large(codec, max_bytes)
        if is_at_end and not (piece or reader.eof):
            return refuse(TRUNCATED_FRAME, codec, "the frame ends early")
    return at - len(reader.unused_data or b"")


def _copy_gzip(body: bytes, content: _Content, max_bytes: int) -> Decompressed | None:
    """Add the content of all members; returns what is wrong."""
    rest = body
    is_member = True
    while is_member:
        end = _read_frame(GzipReader(), "gzip", rest, content, max_bytes)
        if not isinstance(end, int):
            return end
        rest = rest[end:]
        is_member = len(rest) > MIN_GZIP_MEMBER_BYTES and rest.startswith(GZIP_MEMBER)
    return None


def _copy_lz4(body: bytes, content: _Content, max_bytes: int) -> Decompressed | None:
    """Add the content of the first frame; returns what is wrong."""
    reader = lz4.frame.LZ4FrameDecompressor()
    end = _read_frame(reader, "lz4", body, content, max_bytes)
    return None if isinstance(end, int) else end


def read_gzip(body: bytes, max_bytes: int) -> Decompressed:
    """Read gzip members.

    Args:
        body: As received, beginning as gzip does.
        max_bytes: Largest result, in bytes.
    Returns: The data, or a reason.
    Errors: truncated_frame, corrupt_frame, too_large.
    Source: RFC 1952; GZIPInputStream for what may follow a member.
    """
    return _read_measured(lambda content: _copy_gzip(body, content, max_bytes))


def read_lz4(body: bytes, max_bytes: int) -> Decompressed:
    """Read the first lz4 frame, as Kafka does; what follows it is ignored.

    Args:
        body: As received, beginning as lz4 does.
        max_bytes: Largest result, in bytes.
    Returns: The data, or a reason.
    Errors: truncated_frame, corrupt_frame, too_large.
    Source: lz4_Frame_format.md; Lz4BlockInputStream of Kafka.
    """
    return _read_measured(lambda content: _copy_lz4(body, content, max_bytes))


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


def _zstd_cut(at: int, text: str) -> Decompressed | None:
    """Return the refusal of a frame that ends early, unless another came before it.

    The reader of zstd-jni asks only whether some frame was whole, and so do we.
    """
    return refuse(TRUNCATED_FRAME, "zstd", text) if at == 0 else None


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
                text = "the frame header is not whole"
                is_cut = len(start) < MAX_ZSTD_HEADER_BYTES
                return (
                    _zstd_cut(at, text)
                    if is_cut
                    else refuse(CORRUPT_FRAME, "zstd", text)
                )
            if frame.window_size > MAX_ZSTD_WINDOW_BYTES:
                return refuse(TOO_LARGE, "zstd", "the frame wants too large a window")
            end = _zstd_block_end(body, at)
        elif any(magic.startswith(start) for magic in FRAME_MAGICS[ZSTD]):
            end = len(body) + 1
        else:
            return refuse(CORRUPT_FRAME, "zstd", "other bytes follow the frame")
        if end > len(body):
            return _zstd_cut(at, "the frame ends early")
        at = end
    return None


class _ThreadLocal(threading.local):
    """A decompressor for each thread: making one costs more than a push."""

    def __init__(self) -> None:
        """Make it when a thread first asks."""
        self.zstd = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW_BYTES)


_LOCAL = _ThreadLocal()


def _read_usual_zstd(body: bytes, max_bytes: int) -> Decompressed | None:
    """Read a push that is one frame of a usual size; None where it is not.

    Memory is taken for what the header states, which the limit bounds, or for a guess.
    """
    if not body.startswith(FRAME_MAGICS[ZSTD][0]):
        return None
    try:
        stated = zstandard.get_frame_parameters(body).content_size
        if stated == UNKNOWN_ZSTD_SIZE:
            guess = max(OUTPUT_BYTES, USUAL_ZSTD_RATIO * len(body))
            stated = min(max_bytes, guess)
        elif stated > max_bytes:
            return refuse_large("zstd", max_bytes)
        # The decompressor would return the first of several frames.
        if stated == 0 or _zstd_block_end(body, 0) != len(body):
            return None
        return Decompressed(_LOCAL.zstd.decompress(body, max_output_size=stated))
    except zstandard.ZstdError:
        return None


def _copy_zstd(body: bytes, content: _Content, max_bytes: int) -> Decompressed | None:
    """Add the content of all frames; returns what is wrong."""
    reader = _LOCAL.zstd.stream_reader(body, read_across_frames=True)
    try:
        while content.size <= max_bytes:
            piece = reader.read(min(max_bytes + 1 - content.size, OUTPUT_BYTES))
            if not piece:
                return _zstd_fault(body)
            content.add(piece)
    except zstandard.ZstdError:
        fault = _zstd_fault(body)
        return fault or refuse(CORRUPT_FRAME, "zstd", "the frame is not valid")
    return refuse_large("zstd", max_bytes)


def read_zstd(body: bytes, max_bytes: int) -> Decompressed:
    """Read zstd frames; anything else after a frame is corrupt.

    Args:
        body: As received, beginning as zstd does.
        max_bytes: Largest result, in bytes.
    Returns: The data, or a reason.
    Errors: truncated_frame, corrupt_frame, too_large (also for a window beyond 8 MiB of
        a frame that does not state its size).
    Source: RFC 8878.
    """
    usual = _read_usual_zstd(body, max_bytes)
    if usual is not None:
        return usual
    return _read_measured(lambda content: _copy_zstd(body, content, max_bytes))
