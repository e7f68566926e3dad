"""Pushes that are decoded together: their payloads, joined, and what refused them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from . import compression
from . import otlp_walk as w
from .otlp_schema import NULL_VALUE

# Decompressed bytes after which a chunk ends. Small enough for the caches, and for the
# tables, to hold what a chunk needs; a larger one costs more than it saves.
MAX_CHUNK_BYTES = 4 << 20


@dataclass(slots=True)
class Chunk:
    """Pushes that are decoded together."""

    payloads: list[bytes | bytearray] = field(default_factory=list)
    """Uncompressed; empty for a refused push."""
    refusals: list[tuple[str, str | None] | None] = field(default_factory=list)
    """Reason code and detail; None for a good push."""
    codec_ids: list[int | None] = field(default_factory=list)
    """Compression types as stated."""
    payload_bytes: int = 0


@dataclass(slots=True)
class Payload:
    """The bytes of a chunk and where its pushes are in them."""

    data: w.Bytes
    spans: w.Table
    """start, end, whether the exact decoder has spoken; one row a push."""


def read_chunks(
    bodies: pa.BinaryArray,
    compression_types: pa.Int32Array,
    max_decompressed_bytes: int,
) -> Iterator[Chunk]:
    """Decompress pushes and put them into chunks of bounded size.

    Args:
        bodies: The `Metrics` field of each push as received.
        compression_types: Kafka's number of the compression of each.
        max_decompressed_bytes: Largest push after decompression, in bytes.
    Returns: Chunks, in order.
    Nulls: No body is null_value.
    Errors: Reason codes of `compression`, beside the push.
    """
    chunk = Chunk()
    stated_types = compression_types.to_pylist()
    # Bodies one by one: as a list they would all be alive twice.
    for body, stated in zip(bodies, stated_types, strict=True):
        sent = body.as_py()
        if sent is None:
            read = compression.Decompressed(b"", NULL_VALUE, "the push has no body")
        else:
            read = compression.decompress(sent, stated, max_decompressed_bytes)
        chunk.payloads.append(read.data)
        chunk.codec_ids.append(stated)
        is_good = read.reason is None
        chunk.refusals.append(None if is_good else (read.reason or "", read.detail))
        chunk.payload_bytes += len(read.data)
        if chunk.payload_bytes >= MAX_CHUNK_BYTES:
            yield chunk
            chunk = Chunk()
    if chunk.payloads:
        yield chunk


def join_payloads(chunk: Chunk, room: w.Bytes) -> Payload:
    """Join the payloads of a chunk and let go of the pieces.

    Args:
        chunk: Loses its payloads.
        room: Where they are put, if they fit; fresh memory costs more than the copy.
    Returns: Their bytes, and a span for each.
    """
    ends = np.cumsum([len(payload) for payload in chunk.payloads], dtype=np.int64)
    spans = np.zeros((len(ends), 3), np.int64)
    spans[1:, 0], spans[:, 1] = ends[:-1], ends
    if len(ends) == 1:
        data = np.frombuffer(chunk.payloads[0], np.uint8)
    elif chunk.payload_bytes > len(room):
        data = np.frombuffer(b"".join(chunk.payloads), np.uint8)
    else:
        target = room.data
        at = 0
        for payload in chunk.payloads:
            target[at : at + len(payload)] = payload
            at += len(payload)
        data = room[:at]
    chunk.payloads.clear()
    return Payload(data, spans)
