"""Kernels as DataFrame steps; their meaning stands in the kernels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BinaryType,
    DateType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from udfs.envelopes.readers import RECORD_SCHEMA
from udfs.files.daily_files import WrittenPart
from udfs.files.push_files import PushTables, write_pushes
from udfs.files.table_files import TableFile, TableLayout
from udfs.otlp.metrics import POINT_SCHEMA, PUSH_SCHEMA, DecodedPushes, iter_decoded

from .spark_types import arrow_schema, spark_fields, spark_type
from .spark_workers import keeping_loaded

__all__ = [
    "PushTables",
    "StoreFile",
    "TableLayout",
    "decode_points",
    "decode_pushes",
    "encode_files",
    "encode_push_files",
]

POINT_TYPE = StructType(spark_fields(POINT_SCHEMA))
"""One data point, as the kernel's POINT_SCHEMA has it."""
RESULT_TYPE = StructType(spark_fields(PUSH_SCHEMA))
"""What became of one push, as the kernel's PUSH_SCHEMA has it."""
POINTS_BATCH_BYTES = 8 << 20
"""Of points that are sent at once, about; as much as a worker gets at once."""


def decode_pushes(pushes: DataFrame, *, max_decompressed_bytes: int) -> DataFrame:
    """Put beside each push what became of it; use with transform.

    Its points are for decode_points: as a value of a row they could be 64 MiB.

    Args:
        pushes: compression_type_id int, body binary. Other columns stay beside the
            results, but for those with the name of a result.
        max_decompressed_bytes: Largest push after decompression, in bytes.
    Returns: The columns of pushes and those of RESULT_TYPE.
    Shape: One row a push, in the order of its partition.
    Nulls: As in `otlp.metrics.iter_decoded`.
    Errors: decode_status and detail, as in `otlp.metrics.iter_decoded`; never raises
        for data.
    """
    sent = pushes.drop(*RESULT_TYPE.names)
    returned = StructType([*sent.schema.fields, *RESULT_TYPE.fields])

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part, decoded in _decode_batches(batches, max_decompressed_bytes):
            columns = [*part.columns, *decoded.pushes.columns]
            yield pa.RecordBatch.from_arrays(columns, names=returned.names)

    return sent.mapInArrow(keeping_loaded(decode), returned)


def decode_points(
    pushes: DataFrame, kept: Sequence[str], *, max_decompressed_bytes: int
) -> DataFrame:
    """Make a row of each point of pushes; use with transform.

    Args:
        pushes: compression_type_id int, body binary, and kept.
        kept: Columns that each point has of its push: numbers, texts, times. Others
            are not sent to Python.
        max_decompressed_bytes: Largest push after decompression, in bytes.
    Returns: kept, then POINT_TYPE.
    Shape: One row a point, in the order of the pushes; a push without points, or one
        that cannot be decoded, makes none. However many a push has, few are sent at
        once.
    Units: Times are UTC.
    Nulls: As in `otlp.metrics.iter_decoded`.
    """
    sent = pushes.select(*kept, "compression_type_id", "body")
    returned = StructType([*sent.schema.fields[: len(kept)], *POINT_TYPE.fields])

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part, decoded in _decode_batches(batches, max_decompressed_bytes):
            yield from _point_batches(part.select(kept), decoded, returned.names)

    return sent.mapInArrow(keeping_loaded(decode), returned)


def _decode_batches(
    batches: Iterator[pa.RecordBatch], max_decompressed_bytes: int
) -> Iterator[tuple[pa.RecordBatch, DecodedPushes]]:
    """Decode batch by batch; each part that the kernel gives is beside its pushes."""
    for batch in batches:
        done = 0
        for decoded in iter_decoded(
            batch.column("body"),
            batch.column("compression_type_id"),
            max_decompressed_bytes=max_decompressed_bytes,
        ):
            yield batch.slice(done, decoded.pushes.num_rows), decoded
            done += decoded.pushes.num_rows


def _point_batches(
    part: pa.RecordBatch, decoded: DecodedPushes, names: list[str]
) -> Iterator[pa.RecordBatch]:
    """Put the columns of its push beside each point, in batches of bounded size."""
    points = decoded.points
    if not points.num_rows:
        return
    counts = np.diff(decoded.offsets.to_numpy())
    push_of_point = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    # The kernel bounds the points of a part, and not what each has of its push.
    sizes = _row_bytes(part) + points.nbytes // points.num_rows
    places = np.cumsum(sizes[push_of_point]) // POINTS_BATCH_BYTES
    starts = [0, *(1 + np.flatnonzero(np.diff(places))).tolist(), points.num_rows]
    for start, end in pairwise(starts):
        own = part.take(pa.array(push_of_point[start:end]))
        columns = [*own.columns, *points.slice(start, end - start).columns]
        yield pa.RecordBatch.from_arrays(columns, names=names)


def _row_bytes(rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """Return about what each row takes: a word a column, and its texts."""
    sizes = np.full(rows.num_rows, 8 * rows.num_columns, np.int64)
    for column in rows.columns:
        if pa.types.is_string(column.type):
            lengths = pc.fill_null(pc.binary_length(column), 0)
            sizes += lengths.to_numpy(zero_copy_only=False)
    return sizes


StoreFile = Callable[[TableFile], str]
"""Puts a file where its table is, and returns its path below the table's folder."""

FILE_TYPE = StructType(
    [
        StructField("table", StringType()),
        StructField("event_date", DateType()),
        StructField("row_count", LongType()),
        StructField("statistics", StringType()),
        StructField("size", LongType()),
        StructField("path", StringType()),
        StructField("content", BinaryType()),
    ]
)
"""A file for a table, stored at path or with its content; see table_files.TableFile."""
ENCODED_TYPE = StructType(
    [
        StructField("records", LongType()),
        StructField("deciding", BinaryType()),
        *FILE_TYPE.fields,
    ]
)
"""What becomes of records; see encode_push_files."""
DECIDING_BYTES = 4 << 20
"""Of the pushes of one row, about."""
TOO_MUCH = b""
"""In the place of an Arrow stream: a task has more to tell than was allowed."""


def encode_push_files(
    records: DataFrame,
    tables: PushTables,
    push_columns: Sequence[str],
    store: StoreFile | None,
    *,
    max_deciding_bytes: int | None = None,
) -> DataFrame:
    """Decode pushes into files of three tables; use with transform.

    Args:
        records: Columns of Spark's Kafka source, headers included.
        tables: What to write.
        push_columns: What comes back of the pushes that decide.
        store: Called by the Python workers for each file; None hands the bytes back.
        max_deciding_bytes: Of all that a task may say of client instances.
    Returns: ENCODED_TYPE.
    Shape: Rows of three kinds: `records` counts records that rows before it stand for,
        `deciding` is an Arrow stream of pushes that say who their client instances
        are, or TOO_MUCH once where that would be more than is allowed, all others are
        those of a `table_files.TableFile`. The columns of other kinds are null.
    Nulls: Of a file, either path or content.
    Errors: As in `push_files.write_pushes`; never raises for data.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        parts = write_pushes(batches, tables, push_columns)
        return _limit_deciding(parts, max_deciding_bytes)

    return encode_parts(records, write, store)


def encode_parts(
    records: DataFrame,
    write: Callable[[Iterator[pa.RecordBatch]], Iterator[WrittenPart]],
    store: StoreFile | None = None,
) -> DataFrame:
    """Return the parts that a kernel writes, as rows of ENCODED_TYPE.

    Args:
        records: Columns of RECORD_SCHEMA.
        write: The kernel.
        store: As encode_push_files takes it.
    """
    schema = arrow_schema(ENCODED_TYPE)

    def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in write(batches):
            for row in _result_rows(part, store):
                # Each by itself: several files are too much to be sent at once.
                yield pa.RecordBatch.from_pylist([row], schema=schema)

    return records.select(*RECORD_SCHEMA.names).mapInArrow(
        keeping_loaded(encode), ENCODED_TYPE
    )


def encode_files(
    records: DataFrame,
    write: Callable[[Iterator[pa.RecordBatch]], Iterator[WrittenPart]],
    known: pa.Schema,
    push_columns: Sequence[str],
    *,
    record_columns: Sequence[str] = tuple(RECORD_SCHEMA.names),
) -> DataFrame:
    """Return what a kernel writes: files, counts, and columns of what is in them.

    Args:
        write: The kernel.
        known: Types of the columns of what it hands on.
        push_columns: Which of them come back.
        record_columns: What it is given of each record.
    Returns: ENCODED_TYPE, and push struct of push_columns.
    """
    kinds = {field.name: spark_type(field.type) for field in known}
    push_type = StructType([StructField(name, kinds[name]) for name in push_columns])
    output = StructType([*ENCODED_TYPE.fields, StructField("push", push_type)])
    schema = arrow_schema(output)

    def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in write(batches):
            if part.pushes is not None:
                yield _as_rows(part.pushes, schema)
            rows: list[dict[str, object]] = [file_row(file) for file in part.files]
            if part.records:
                rows.append({"records": part.records})
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=schema)

    return records.select(*record_columns).mapInArrow(keeping_loaded(encode), output)


def _as_rows(pushes: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows that have a push and nulls in the other columns."""
    fields = list(schema.field("push").type)
    arrays = [pushes.column(field.name).cast(field.type) for field in fields]
    structs = pa.StructArray.from_arrays(arrays, fields=fields)
    columns = [
        structs if field.name == "push" else pa.nulls(len(structs), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def file_row(file: TableFile, store: StoreFile | None = None) -> dict[str, object]:
    """Return a file as a row.

    Args:
        file: From a kernel.
        store: Keeps it somewhere; without it, its bytes are in the row.
    Returns: The fields of FILE_TYPE.
    """
    return {
        "table": file.table,
        "event_date": file.event_date,
        "row_count": file.row_count,
        "statistics": file.statistics,
        "size": len(file.content),
        "path": None if store is None else store(file),
        "content": file.content if store is None else None,
    }


def _limit_deciding(
    parts: Iterator[WrittenPart], max_bytes: int | None
) -> Iterator[WrittenPart]:
    """Leave out all that decides from where it is more than may be told."""
    told = 0
    for part in parts:
        size = 0 if part.deciding is None else part.deciding.nbytes
        was_within = max_bytes is None or told <= max_bytes
        told += size
        if max_bytes is None or told <= max_bytes:
            yield part
        else:
            yield replace(part, deciding=None, is_too_much=was_within)


def _result_rows(
    part: WrittenPart, store: StoreFile | None
) -> Iterator[dict[str, object]]:
    """Return what a part has become as rows of ENCODED_TYPE, none of them large."""
    for file in part.files:
        yield file_row(file, store)
    if part.records:
        yield {"records": part.records}
    if part.is_too_much:
        yield {"deciding": TOO_MUCH}
    if part.deciding is not None:
        pieces = 1 + part.deciding.nbytes // DECIDING_BYTES
        rows = -(-part.deciding.num_rows // pieces)
        for start in range(0, part.deciding.num_rows, rows):
            yield {"deciding": _as_stream(part.deciding.slice(start, rows))}


def _as_stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    content: bytes = sink.getvalue().to_pybytes()
    return content
