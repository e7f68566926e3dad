"""Kernels as DataFrame steps; their meaning stands in the kernels."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from .otlp_metrics import POINT_SCHEMA, PUSH_SCHEMA, DecodedPushes, iter_decoded

_COORDINATES = ("topic", "partition", "offset")
_INPUT = (*_COORDINATES, "compression_type_id", "body")
_PRIMITIVES: dict[pa.DataType, DataType] = {
    pa.bool_(): BooleanType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.float64(): DoubleType(),
    pa.string(): StringType(),
    pa.timestamp("us", "UTC"): TimestampType(),
}


def _spark_type(arrow_type: pa.DataType) -> DataType:
    """Return the Spark type that a kernel's Arrow type becomes."""
    if pa.types.is_map(arrow_type):
        key, item = arrow_type.key_type, arrow_type.item_type
        return MapType(_spark_type(key), _spark_type(item))
    if pa.types.is_list(arrow_type):
        return ArrayType(_spark_type(arrow_type.value_type))
    if pa.types.is_struct(arrow_type):
        return StructType(_spark_fields(arrow_type))
    return _PRIMITIVES[arrow_type]


def _spark_fields(fields: pa.Schema | pa.StructType) -> list[StructField]:
    return [StructField(field.name, _spark_type(field.type)) for field in fields]


POINT_TYPE = StructType(_spark_fields(POINT_SCHEMA))
"""One data point, as the kernel's POINT_SCHEMA has it."""
DECODED_TYPE = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        *_spark_fields(PUSH_SCHEMA),
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
