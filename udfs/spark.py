"""Kernels as DataFrame steps; their meaning stands in the kernels."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

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

from .daily_files import WrittenPart
from .envelopes import RECORD_SCHEMA, read_envelopes
from .otlp_metrics import POINT_SCHEMA, PUSH_SCHEMA, DecodedPushes, iter_decoded
from .push_files import PushTables, write_pushes
from .table_files import TableFile

__all__ = [
    "PushTables",
    "decode_pushes",
    "encode_push_files",
]

_COORDINATES = ("topic", "partition", "offset")
_INPUT = (*_COORDINATES, "compression_type_id", "body")
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
        *spark_fields(PUSH_SCHEMA),
        StructField("points", ArrayType(POINT_TYPE)),
    ]
)
"""One push: its coordinates, what became of it, its points."""


def _output_batch(
    coordinates: list[pa.Array], decoded: DecodedPushes
) -> pa.RecordBatch:
    """Put coordinates, results and points of some pushes side by side."""
    points = pa.ListArray.from_arrays(decoded.offsets, decoded.points.to_struct_array())
    return pa.RecordBatch.from_arrays(
        [*coordinates, *decoded.pushes.columns, points],
        names=DECODED_TYPE.names,
    )


def _decode_batches(
    batches: Iterator[pa.RecordBatch], max_decompressed_bytes: int
) -> Iterator[pa.RecordBatch]:
    """Decode batch by batch; each part that the kernel gives is a batch of its own."""
    for batch in batches:
        coordinates = [batch.column(name) for name in _COORDINATES]
        done = 0
        for decoded in iter_decoded(
            batch.column("body"),
            batch.column("compression_type_id"),
            max_decompressed_bytes=max_decompressed_bytes,
        ):
            pushes = decoded.pushes.num_rows
            part = [column.slice(done, pushes) for column in coordinates]
            yield _output_batch(part, decoded)
            done += pushes


def decode_pushes(pushes: DataFrame, *, max_decompressed_bytes: int) -> DataFrame:
    """Decode the bodies of pushes; use with transform.

    Args:
        pushes: topic string, partition int, offset long, compression_type_id int, body
            binary. Other columns are not sent to Python and do not come back.
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


FILE_TYPE = StructType(
    [
        StructField("table", StringType()),
        StructField("event_date", DateType()),
        StructField("row_count", LongType()),
        StructField("statistics", StringType()),
        StructField("content", BinaryType()),
    ]
)
"""A file for a table, or part of it; see `table_files.TableFile`."""


def encode_push_files(
    records: DataFrame, tables: PushTables, push_columns: Sequence[str]
) -> DataFrame:
    """Decode pushes into files of three tables; use with transform.

    Args:
        records: Columns of Spark's Kafka source, headers included.
        tables: What to write.
        push_columns: What comes back of each usable push.
    Returns: records long, push struct of push_columns, file FILE_TYPE.
    Shape: Rows of three kinds: `records` counts records that rows before it stand for,
        `push` is a usable push, `file` is a file. The other columns are null there.
    Errors: As in `push_files.write_pushes`; never raises for data.
    """
    envelope = read_envelopes(pa.RecordBatch.from_pylist([], schema=RECORD_SCHEMA))
    known = [*envelope.schema, *PUSH_SCHEMA]
    return encode_files(
        records, partial(write_pushes, tables=tables), known, push_columns
    )


def encode_files(
    records: DataFrame,
    write: Callable[[Iterator[pa.RecordBatch]], Iterator[WrittenPart]],
    known: Iterable[pa.Field],
    push_columns: Sequence[str],
) -> DataFrame:
    """Make files of records by a kernel.

    Args:
        records: Columns of Spark's Kafka source, headers included.
        write: The kernel; it is sent to workers.
        known: Columns of the pushes that it gives back.
        push_columns: Those of them that come back.
    Returns: As encode_push_files.
    Shape: As encode_push_files.
    """
    kinds = {field.name: spark_type(field.type) for field in known}
    push_type = StructType([StructField(name, kinds[name]) for name in push_columns])
    output = StructType(
        [
            StructField("records", LongType()),
            StructField("push", push_type),
            StructField("file", FILE_TYPE),
        ]
    )
    schema = to_arrow_schema(output, timezone="UTC")

    def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in write(batches):
            if part.pushes is not None:
                yield _single_column("push", _as_structs(part.pushes, schema), schema)
            if part.records:
                counted = pa.array([part.records])
                yield _single_column("records", counted, schema)
            for file in part.files:
                yield _single_column("file", _file_row(file, schema), schema)

    return records.select(*RECORD_SCHEMA.names).mapInArrow(encode, output)


def _single_column(name: str, column: pa.Array, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows that have one column and nulls in the others."""
    arrays = [
        column if field.name == name else pa.nulls(len(column), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _as_structs(pushes: pa.RecordBatch, schema: pa.Schema) -> pa.StructArray:
    fields = list(schema.field("push").type)
    arrays = [pushes.column(field.name).cast(field.type) for field in fields]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _file_row(file: TableFile, schema: pa.Schema) -> pa.StructArray:
    row = {name: getattr(file, name) for name in FILE_TYPE.names}
    return pa.array([row], schema.field("file").type)
