# Strategy: as in frames. A usual push, one frame, is read in one call, into
# memory of the size that it states, which is compared with the limit first, or of a
# guess.
#
# Frames that follow one another are read on; a last one may be cut, as the reader of
# zstd-jni does not ask how it ends; other bytes are corrupt.
#
# Source: RFC 8878; ZstdInputStreamNoFinalizer of zstd-jni.
"""Bounded reader of zstd frames."""

import threading

import zstandard

from .frames import (
    CORRUPT_FRAME,
    FRAME_MAGICS,
    OUTPUT_BYTES,
    SKIPPABLE_HEADER_BYTES,
    SKIPPABLE_MAGICS,
    TOO_LARGE,
    TRUNCATED_FRAME,
    ZSTD,
    Content,
    Decompressed,
    read_measured,
    refuse,
    refuse_large,
)

# What RFC 8878 asks of every decoder, less what a decoder needs beside its window.
# Clients' frames want 2 MiB; zstd's own limit of 128 MiB would let a small push take
# as much.
MAX_ZSTD_WINDOW_BYTES = 8 << 20
# How zstandard says that a frame does not state the size of its content.
UNKNOWN_ZSTD_SIZE = (1 << 64) - 1
# A guess at how much smaller zstd makes a push; beyond it the slower way is taken.
USUAL_ZSTD_RATIO = 16
MAX_ZSTD_HEADER_BYTES = 18


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


def _copy_zstd(body: bytes, content: Content, max_bytes: int) -> Decompressed | None:
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
    return read_measured(lambda content: _copy_zstd(body, content, max_bytes))
