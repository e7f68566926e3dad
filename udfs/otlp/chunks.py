"""Pushes that are decoded together: their bytes, and what refused them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from udfs.compression import codecs

from . import walk as w
from .schema import NULL_VALUE

# Bytes of pushes, uncompressed, that are decoded together. Few enough for the caches,
# and for the usual tables to hold what is in them; more costs more than it saves.
CHUNK_BYTES = 4 << 20


@dataclass(slots=True)
class Chunk:
    """Pushes that are decoded together."""

    data: w.Bytes
    """The bytes of all pushes, uncompressed; a refused push has none."""
    spans: w.Table
    """start, end, whether the exact decoder has spoken; one row a push."""
    refusals: list[tuple[str, str | None] | None]
    """Reason code and detail; None for a good push."""
    codec_ids: list[int | None]
    """Compression types as stated."""


@dataclass(slots=True)
class _Pushes:
    """Pushes that become a chunk."""

    ends: list[int] = field(default_factory=list)
    refusals: list[tuple[str, str | None] | None] = field(default_factory=list)
    codec_ids: list[int | None] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return self.ends[-1] if self.ends else 0

    def add(self, read: codecs.Decompressed, stated: int | None) -> None:
        """Note a push whose bytes follow those of the last one."""
        self.ends.append(self.size + len(read.data))
        is_good = read.reason is None
        self.refusals.append(None if is_good else (read.reason or "", read.detail))
        self.codec_ids.append(stated)

    def as_chunk(self, data: w.Bytes) -> Chunk:
        """Return them with their bytes."""
        spans = np.zeros((len(self.ends), 3), np.int64)
        spans[1:, 0], spans[:, 1] = self.ends[:-1], self.ends
        return Chunk(data[: self.size], spans, self.refusals, self.codec_ids)


def _decompress(
    body: pa.BinaryScalar, stated: int | None, max_bytes: int
) -> codecs.Decompressed:
    """Undo the compression of one push, if there is one."""
    sent = body.as_py()
    if sent is None:
        return codecs.Decompressed(b"", NULL_VALUE, "the push has no body")
    return codecs.decompress(sent, stated, max_bytes)


def read_chunks(
    bodies: pa.BinaryArray,
    compression_types: pa.Int32Array,
    max_decompressed_bytes: int,
    room: w.Bytes,
) -> Iterator[Chunk]:
    """Decompress pushes and put them into chunks of bounded size.

    Args:
        bodies: The `Metrics` field of each push as received.
        compression_types: Kafka's number of the compression of each.
        max_decompressed_bytes: Largest push after decompression, in bytes.
        room: Where their bytes are put: one push after the other leaves its memory to
            the next, as fresh memory costs more than the copy.
    Returns: Chunks, in order; each is valid until the next is asked for. A push that is
        larger than the room is a chunk of its own.
    Nulls: No body is null_value.
    Errors: Reason codes of `compression`, beside the push.
    """
    pushes = _Pushes()
    target = room.data
    stated_types = compression_types.to_pylist()
    for body, stated in zip(bodies, stated_types, strict=True):
        read = _decompress(body, stated, max_decompressed_bytes)
        start, end = pushes.size, pushes.size + len(read.data)
        if start > 0 and end > len(room):
            yield pushes.as_chunk(room)
            pushes = _Pushes()
            start, end = 0, len(read.data)
        pushes.add(read, stated)
        if end > len(room):
            yield pushes.as_chunk(np.frombuffer(read.data, np.uint8))
            pushes = _Pushes()
        else:
            target[start:end] = read.data
    if pushes.ends:
        yield pushes.as_chunk(room)
