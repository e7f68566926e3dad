"""MetricsData bytes to data points: the decode of whole batches of pushes.

A batch goes through four steps: decompression, the walk (`walk`), the exact
decoder for what the walk does not find plain (`otlp_exact`), Arrow (`otlp_flatten`).
"""

from collections import deque
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from udfs.compression import codecs

from . import exact
from . import walk as w
from .chunks import CHUNK_BYTES, Chunk, read_chunks
from .columns import offsets
from .fields import field_table, reset_table
from .flatten import arrow_points
from .limits import MAX_ROWS
from .pushes import arrow_pushes
from .schema import IDENTITY_ATTRIBUTES, POINT_SCHEMA, PUSH_SCHEMA, DecodedPushes
from .tables import (
    KNOWN,
    KNOWN_ENDS,
    MAX_ARROW_BYTES,
    USUAL_ROWS,
    Tables,
    arrow_words,
    make_tables,
)

__all__ = [
    "IDENTITY_ATTRIBUTES",
    "POINT_SCHEMA",
    "PUSH_SCHEMA",
    "DecodedPushes",
    "decode_pushes",
    "iter_decoded",
]

FIELDS = field_table()
RESETS = reset_table()
EXACT = 1


def _settle(chunk: Chunk, push: int, found: w.Table) -> bytes:
    """Let the exact decoder decide one push; returns its plain form, or nothing."""
    start, end, _ = chunk.spans[push].tolist()
    body = chunk.data[start:end].tobytes()
    status, at, size, _ = found.tolist()
    is_exact = status == w.NO_ROOM or chunk.spans[push, 2] == EXACT
    plain = None if is_exact else exact.plain_bytes(body)
    if plain is not None:
        return plain
    refusal = exact.refusal(status, at, size)
    if chunk.codec_ids[push] == codecs.NONE:
        codec = codecs.other_codec(body, codecs.NONE)
        if codec is not None:
            detail = f"none: the push begins as {codec} does"
            refusal = (codecs.WRONG_CODEC, detail)
    chunk.refusals[push] = refusal
    return b""


def _settle_all(chunk: Chunk, results: w.Table, first: int) -> bool:
    """Settle every push of a walk that is not plain; says whether there was one."""
    unsettled = first + np.flatnonzero(results[first:, 0] != w.OK)
    if len(unsettled) == 0:
        return False
    pieces = [chunk.data.tobytes()]
    end = len(chunk.data)
    for push in unsettled.tolist():
        plain = _settle(chunk, push, results[push])
        pieces.append(plain)
        chunk.spans[push] = end, end + len(plain), EXACT
        end += len(plain)
    chunk.data = np.frombuffer(b"".join(pieces), np.uint8)
    return True


def _walk(chunk: Chunk, tables: Tables, first: int, results: w.Table) -> int:
    """Walk pushes from `first` on; returns the first push that was not walked."""
    tables.clear()
    return w.walk_pushes(
        chunk.data,
        chunk.spans,
        first,
        MAX_ARROW_BYTES,
        KNOWN,
        KNOWN_ENDS,
        FIELDS,
        RESETS,
        *tables,
        results,
        np.empty(w.REGISTERS, np.int64),
        np.empty((w.MAX_FRAMES, w.FRAME_WIDTH), np.int64),
        np.empty(w.ROLLED_BACK, np.int64),
        np.empty(2, np.int64),
    )


class _Workspace:
    """Memory that one decode after another uses; fresh memory is slow."""

    def __init__(self) -> None:
        """Take it, without touching it."""
        self.room = np.empty(CHUNK_BYTES, np.uint8)
        self.tables = make_tables(CHUNK_BYTES, USUAL_ROWS)


# What ended decodes have left, at most one: decodes at the same time have their own.
_SPARE: deque[_Workspace] = deque(maxlen=1)


def _take_workspace() -> _Workspace:
    """Return the workspace that is left, or a new one."""
    try:
        return _SPARE.pop()
    except IndexError:
        return _Workspace()


def _decode_chunk(chunk: Chunk, workspace: _Workspace) -> Iterator[DecodedPushes]:
    """Decode a chunk, in as many parts as its tables fill."""
    results = np.zeros((len(chunk.spans), 4), np.int64)
    # A push that is larger than the room may hold more text than the usual tables.
    is_usual = len(chunk.data) <= CHUNK_BYTES
    tables = workspace.tables
    if not is_usual:
        tables = make_tables(len(chunk.data), MAX_ROWS)
    first = 0
    while first < len(chunk.spans):
        following = _walk(chunk, tables, first, results)
        if is_usual and results[first, 0] == w.NO_ROOM:
            tables = make_tables(len(chunk.data), MAX_ROWS)
            is_usual = False
            continue
        if _settle_all(chunk, results[:following], first):
            continue
        words = arrow_words(tables)
        ends = results[first:following, 3].copy()
        refusals = chunk.refusals[first:following]
        yield DecodedPushes(
            pushes=arrow_pushes(tables, words, ends, first, refusals),
            points=arrow_points(tables, words, ends),
            offsets=offsets(ends),
        )
        first = following


def iter_decoded(
    bodies: pa.BinaryArray,
    compression_types: pa.Int32Array,
    *,
    max_decompressed_bytes: int,
) -> Iterator[DecodedPushes]:
    """Decode pushes in parts, so that memory stays bounded whatever they hold.

    Args:
        bodies: The `Metrics` field of each push as received.
        compression_types: Kafka's number of the compression of each.
        max_decompressed_bytes: Largest push after decompression, in bytes.
    Returns: Parts, in order; each has whole pushes.
    Shape: n pushes in, n rows of `pushes` out, in the same order; a push of any number
        of points.
    Units: Times are nanoseconds and microseconds since 1970-01-01T00:00:00Z.
    Nulls: No body is `null_value`, no compression type is `unknown_codec`; in points,
        what was not sent is null.
    Errors: decode_status is "ok" or: null_value, unknown_codec, wrong_codec,
        truncated_frame, corrupt_frame, too_large, truncated_otlp, malformed_otlp,
        invalid_utf8. Such a push has no points and does not touch its neighbours.
        Never raises for data.
    Source: KIP-714; opentelemetry-proto metrics/v1/metrics.proto.
    """
    workspace = _take_workspace()
    try:
        for chunk in read_chunks(
            bodies, compression_types, max_decompressed_bytes, workspace.room
        ):
            yield from _decode_chunk(chunk, workspace)
    finally:
        _SPARE.append(workspace)


def decode_pushes(
    bodies: pa.BinaryArray,
    compression_types: pa.Int32Array,
    *,
    max_decompressed_bytes: int,
) -> DecodedPushes:
    """Decode pushes into one part; see `iter_decoded`, which bounds memory.

    Args:
        bodies: The `Metrics` field of each push as received.
        compression_types: Kafka's number of the compression of each.
        max_decompressed_bytes: Largest push after decompression, in bytes.
    Returns: All pushes and all points.
    Shape: n pushes in, n rows of `pushes` out, in the same order.
    Nulls: As in `iter_decoded`.
    Errors: As in `iter_decoded`.
    Source: KIP-714; opentelemetry-proto metrics/v1/metrics.proto.
    """
    parts = list(
        iter_decoded(
            bodies, compression_types, max_decompressed_bytes=max_decompressed_bytes
        )
    )
    counts = np.concatenate(
        [np.zeros(0, np.int64), *(np.diff(part.offsets) for part in parts)]
    )
    return DecodedPushes(
        pushes=_join_batches([part.pushes for part in parts], PUSH_SCHEMA),
        points=_join_batches([part.points for part in parts], POINT_SCHEMA),
        offsets=offsets(np.cumsum(counts)),
    )


def _join_batches(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Join record batches, of which there may be none."""
    if len(batches) == 1:
        return batches[0]
    if not batches:
        columns = [pa.array([], column.type) for column in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)
    return pa.concat_batches(batches)
