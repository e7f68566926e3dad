"""Kernels as DataFrame steps; their meaning stands in the kernels."""

# Longer than 250 lines: the types of all wrappers stand beside the first of them.

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from .daily_files import DailyFiles, WrittenPart
from .envelopes import RECORD_SCHEMA
from .otlp_metrics import POINT_SCHEMA, PUSH_SCHEMA, DecodedPushes, iter_decoded
from .push_files import PushTables, write_pushes
from .table_files import TableFile, TableLayout

__all__ = [
    "PushTables",
    "StoreFile",
    "TableLayout",
    "decode_pushes",
    "encode_push_files",
    "encode_row_files",
]

_PUSH = ("topic", "partition", "offset", "push_id")
_INPUT = (*_PUSH, "compression_type_id", "body")
_PRIMITIVES: dict[pa.DataType, DataType] = {
    pa.binary(): BinaryType(),
    pa.bool_(): BooleanType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.float64(): DoubleType(),
    pa.string(): StringType(),
    pa.timestamp("us", "UTC"): TimestampType(),
}


def spark_type(arrow_type: pa.DataType) -> DataType:
    """Say what a kernel's Arrow type becomes.

    Args:
        arrow_type: As kernels use them.
    Returns: The Spark type.
    """
    if pa.types.is_map(arrow_type):
        key, item = arrow_type.key_type, arrow_type.item_type
        return MapType(spark_type(key), spark_type(item))
    if pa.types.is_list(arrow_type):
        return ArrayType(spark_type(arrow_type.value_type))
    if pa.types.is_struct(arrow_type):
        return StructType(spark_fields(arrow_type))
    return _PRIMITIVES[arrow_type]


def spark_fields(fields: pa.Schema | pa.StructType) -> list[StructField]:
    """Say what the fields of a schema become.

    Args:
        fields: Of kernels.
    Returns: Those of Spark, same order.
    """
    return [StructField(field.name, spark_type(field.type)) for field in fields]


POINT_TYPE = StructType(spark_fields(POINT_SCHEMA))
"""One data point, as the kernel's POINT_SCHEMA has it."""
DECODED_TYPE = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("push_id", StringType()),
        *spark_fields(PUSH_SCHEMA),
        StructField("points", ArrayType(POINT_TYPE)),
    ]
)
"""One push: what names it, what became of it, its points."""


def _output_batch(keys: list[pa.Array], decoded: DecodedPushes) -> pa.RecordBatch:
    """Put keys, results and points of some pushes side by side."""
    points = pa.ListArray.from_arrays(decoded.offsets, decoded.points.to_struct_array())
    return pa.RecordBatch.from_arrays(
        [*keys, *decoded.pushes.columns, points],
        names=DECODED_TYPE.names,
    )


def _decode_batches(
    batches: Iterator[pa.RecordBatch], max_decompressed_bytes: int
) -> Iterator[pa.RecordBatch]:
    """Decode batch by batch; each part that the kernel gives is a batch of its own."""
    for batch in batches:
        keys = [batch.column(name) for name in _PUSH]
        done = 0
        for decoded in iter_decoded(
            batch.column("body"),
            batch.column("compression_type_id"),
            max_decompressed_bytes=max_decompressed_bytes,
        ):
            pushes = decoded.pushes.num_rows
            part = [column.slice(done, pushes) for column in keys]
            yield _output_batch(part, decoded)
            done += pushes


def decode_pushes(pushes: DataFrame, *, max_decompressed_bytes: int) -> DataFrame:
    """Decode the bodies of pushes; use with transform.

    Args:
        pushes: topic string, partition int, offset long, push_id string,
            compression_type_id int, body binary. Other columns are not sent to Python
            and do not come back.
        max_decompressed_bytes: Largest push after decompression, in bytes.
    Returns: DECODED_TYPE; points are an array of structs.
    Shape: One row a push, in the order of its partition.
    Units: Times are UTC.
    Nulls: As in `otlp_metrics.iter_decoded`; points are empty, never null.
    Errors: decode_status and detail, as in `otlp_metrics.iter_decoded`; never raises
        for data.
    """

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _decode_batches(batches, max_decompressed_bytes)

    return pushes.select(*_INPUT).mapInArrow(decode, DECODED_TYPE)


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
    schema = to_arrow_schema(ENCODED_TYPE, timezone="UTC")

    def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = write_pushes(batches, tables, push_columns)
        for part in _limit_deciding(parts, max_deciding_bytes):
            for row in _result_rows(part, store):
                # Each by itself: several files are too much to be sent at once.
                yield pa.RecordBatch.from_pylist([row], schema=schema)

    return records.select(*RECORD_SCHEMA.names).mapInArrow(encode, ENCODED_TYPE)


def encode_row_files(
    rows: DataFrame, layout: TableLayout, date_column: str
) -> DataFrame:
    """Write rows of a table into files; use with transform.

    Spark's own writer would make one of all NaNs.

    Args:
        rows: The layout's columns and date_column.
        layout: What the files look like.
        date_column: date; each day has files of its own.
    Returns: FILE_TYPE.
    Nulls: A null in a required column, or in date_column, fails the task.
    """
    schema = to_arrow_schema(FILE_TYPE, timezone="UTC")

    def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        writers = DailyFiles(layout)
        for batch in batches:
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            dates = columns[date_column].cast(pa.int32()).to_numpy()
            for file in writers.write(columns, dates):
                yield pa.RecordBatch.from_pylist([file_row(file)], schema)
        for file in writers.end():
            yield pa.RecordBatch.from_pylist([file_row(file)], schema)

    return rows.select(*layout.columns, date_column).mapInArrow(encode, FILE_TYPE)


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
