# Strategy: what a block claims to hold is compared with the limit before memory is
# taken. Raw blocks are what librdkafka sends; Java clients put them behind a header,
# each with its length, and such streams may follow one another.
#
# Source: snappy's format_description.txt; SnappyOutputStream and SnappyInputStream of
# snappy-java.
"""Bounded reader of snappy, raw and as Java clients frame it."""

import pyarrow as pa

from .frames import (
    CORRUPT_FRAME,
    TRUNCATED_FRAME,
    WRONG_CODEC,
    Decompressed,
    refuse,
    refuse_large,
)

Block = bytes | memoryview

XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER_BYTES = 16
XERIAL_LENGTH_BYTES = 4
# Where a length is expected, this begins the header of the next stream.
XERIAL_NEXT_STREAM = XERIAL_MAGIC[:XERIAL_LENGTH_BYTES]
MAX_PREAMBLE_BYTES = 5
MAX_CLAIM = 0xFFFF_FFFF
# A literal's length stands in its tag up to 60, else in the next 1 to 4 bytes.
MAX_LITERAL_IN_TAG = 60
LITERAL, COPY_1, COPY_2, COPY_4 = range(4)
COPY_BYTES = {COPY_1: 2, COPY_2: 3, COPY_4: 5}


def _read_preamble(block: Block) -> tuple[int, int] | None:
    """Return what a block claims to hold and where its elements begin."""
    claim = 0
    for index, byte in enumerate(block[:MAX_PREAMBLE_BYTES]):
        claim |= (byte & 0x7F) << 7 * index
        if byte < 0x80:  # noqa: PLR2004 - the continuation bit of a varint
            return (claim, index + 1) if claim <= MAX_CLAIM else None
    return None


def _read_element(block: Block, at: int) -> tuple[int, int]:
    """Return how much the element there yields, and where the next one begins."""
    tag = block[at]
    if tag & 3 != LITERAL:
        length = (tag >> 2 & 7) + 4 if tag & 3 == COPY_1 else (tag >> 2) + 1
        return length, at + COPY_BYTES[tag & 3]
    length = (tag >> 2) + 1
    if length <= MAX_LITERAL_IN_TAG:
        return length, at + 1 + length
    size_bytes = length - MAX_LITERAL_IN_TAG
    stated = block[at + 1 : at + 1 + size_bytes]
    length = int.from_bytes(stated, "little") + 1
    return length, at + 1 + size_bytes + length


def _block_fault(block: Block, claim: int, first: int) -> Decompressed:
    """Say why a block that snappy refuses is bad: cut, or not valid."""
    at, held = first, 0
    while at < len(block) and held <= claim:
        length, at = _read_element(block, at)
        held += length
    if held <= claim and (at > len(block) or held < claim):
        return refuse(TRUNCATED_FRAME, "snappy", "the block ends early")
    return refuse(CORRUPT_FRAME, "snappy", "the block is not valid")


def _read_block(block: Block, max_bytes: int, room: int) -> Decompressed:
    """Read one raw block of at most `room` bytes."""
    preamble = _read_preamble(block)
    if preamble is None:
        is_cut = len(block) < MAX_PREAMBLE_BYTES
        reason = TRUNCATED_FRAME if is_cut else CORRUPT_FRAME
        return refuse(reason, "snappy", "the block states no length")
    claim, first = preamble
    if claim > room:
        return refuse_large("snappy", max_bytes)
    try:
        data = pa.Codec("snappy").decompress(block, claim, asbytes=True)
    except (OSError, pa.ArrowException):
        return _block_fault(block, claim, first)
    return Decompressed(data)


def _xerial_blocks(body: bytes) -> list[Block] | Decompressed:
    """Return the blocks behind a header; the magic number was seen."""
    blocks: list[Block] = []
    content = memoryview(body)
    at = XERIAL_HEADER_BYTES
    while at < len(body):
        stated = body[at : at + XERIAL_LENGTH_BYTES]
        if stated == XERIAL_NEXT_STREAM:
            at += XERIAL_HEADER_BYTES
            continue
        if len(stated) < XERIAL_LENGTH_BYTES:
            # SnappyInputStream ends where no length is left to read.
            break
        at += XERIAL_LENGTH_BYTES
        length = int.from_bytes(stated, "big", signed=True)
        if length <= 0:
            return refuse(CORRUPT_FRAME, "snappy", "a block has no length")
        if at + length > len(body):
            return refuse(TRUNCATED_FRAME, "snappy", "the last block ends early")
        blocks.append(content[at : at + length])
        at += length
    if at > len(body):
        return refuse(TRUNCATED_FRAME, "snappy", "the header ends early")
    return blocks


def _read_xerial(body: bytes, max_bytes: int) -> Decompressed:
    """Read framed blocks; their claims are added up before any of them is read."""
    blocks = _xerial_blocks(body)
    if isinstance(blocks, Decompressed):
        return blocks
    preambles = [_read_preamble(block) for block in blocks]
    size = sum(preamble[0] for preamble in preambles if preamble)
    if size > max_bytes:
        return refuse_large("snappy", max_bytes)
    data = bytearray(size)
    at = 0
    for block in blocks:
        read = _read_block(block, max_bytes, max_bytes)
        if read.reason is not None:
            return read
        data[at : at + len(read.data)] = read.data
        at += len(read.data)
    return Decompressed(data)


def _is_raw_start(body: bytes) -> bool:
    """Say whether bytes can begin a raw block: its first element yields new bytes."""
    preamble = _read_preamble(body)
    if preamble is None:
        # Five bytes that state no length cannot; fewer may have been cut.
        return len(body) < MAX_PREAMBLE_BYTES
    claim, first = preamble
    if first >= len(body):
        return True
    length, _ = _read_element(body, first)
    return body[first] & 3 == LITERAL and length <= claim


def read_snappy(body: bytes, max_bytes: int) -> Decompressed:
    """Read a push that says it is snappy.

    Args:
        body: As received, not empty.
        max_bytes: Largest result, in bytes.
    Returns: The data, or a reason.
    Errors: wrong_codec, truncated_frame, corrupt_frame, too_large.
    """
    if body.startswith(XERIAL_MAGIC):
        return _read_xerial(body, max_bytes)
    if XERIAL_MAGIC.startswith(body):
        return refuse(TRUNCATED_FRAME, "snappy", "the header ends early")
    if not _is_raw_start(body):
        return refuse(WRONG_CODEC, "snappy", "the push does not begin as snappy does")
    return _read_block(body, max_bytes, max_bytes)
