# Strategy: every reader stops at one byte more than it may return, whatever the frame
# header claims; claims are compared with the limit before memory is taken. A push that
# is larger than usual is measured first, and read again into memory of its size: a bomb
# takes no more than the reader's own window.
#
# What comes back is data or a reason, never an exception: the bytes are the peer's.
# What follows a frame is treated as the JVM's readers do. gzip: another member is read
# on, other bytes are ignored. lz4: Kafka's reader ends with the first frame.
#
# Source: RFC 1952 (gzip), lz4_Frame_format.md; GZIPInputStream of the JDK,
# Lz4BlockInputStream of Kafka.
"""Bounded readers of gzip and lz4 frames, and what readers of all codecs share."""

import zlib
from collections.abc import Callable
from typing import NamedTuple, Protocol

import lz4.frame

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


class Decompressed(NamedTuple):
    """A push without its compression, or why that failed."""

    data: bytes | bytearray
    """Empty where there is a reason."""
    reason: str | None = None
    """None, or one of the reason codes of this module."""
    detail: str | None = None
    """A sentence about the reason, without any text of the push."""


class Content:
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
        """Keep a piece, or only count it.

        Args:
            piece: What follows the last one.
        """
        end = self.size + len(piece)
        if self._is_kept and end > max(len(self.data), OUTPUT_BYTES):
            self.data = bytearray()
            self._is_kept = False
        if self._is_kept:
            self.data[self.size : end] = piece
        self.size = end


def read_measured(read: Callable[[Content], Decompressed | None]) -> Decompressed:
    """Read once, and again if there is more than a usual push.

    Args:
        read: Adds the content of a push; returns what is wrong with it, if anything.
    Returns: The data, or what is wrong.
    """
    content = Content()
    fault = read(content)
    if fault is None and not content.is_whole:
        content = Content(content.size)
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
    reader: FrameReader, codec: str, body: bytes, content: Content, max_bytes: int
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


def _copy_gzip(body: bytes, content: Content, max_bytes: int) -> Decompressed | None:
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


def _copy_lz4(body: bytes, content: Content, max_bytes: int) -> Decompressed | None:
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
    return read_measured(lambda content: _copy_gzip(body, content, max_bytes))


def read_lz4(body: bytes, max_bytes: int) -> Decompressed:
    """Read the first lz4 frame, as Kafka does; what follows it is ignored.

    Args:
        body: As received, beginning as lz4 does.
        max_bytes: Largest result, in bytes.
    Returns: The data, or a reason.
    Errors: truncated_frame, corrupt_frame, too_large.
    Source: lz4_Frame_format.md; Lz4BlockInputStream of Kafka.
    """
    return read_measured(lambda content: _copy_lz4(body, content, max_bytes))
