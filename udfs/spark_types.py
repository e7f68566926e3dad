"""Types of kernels as Spark has them, and back; one to one."""

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

_PRIMITIVES: dict[pa.DataType, DataType] = {
    pa.binary(): BinaryType(),
    pa.bool_(): BooleanType(),
    pa.date32(): DateType(),
    pa.int8(): ByteType(),
    pa.int16(): ShortType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.float64(): DoubleType(),
    pa.string(): StringType(),
    pa.timestamp("us", "UTC"): TimestampType(),
}
_ARROW = {kind: arrow for arrow, kind in _PRIMITIVES.items()}


def spark_type(arrow_type: pa.DataType) -> DataType:
    """Return what a kernel's type becomes."""
    if pa.types.is_map(arrow_type):
        key, item = arrow_type.key_type, arrow_type.item_type
        return MapType(spark_type(key), spark_type(item))
    if pa.types.is_list(arrow_type):
        return ArrayType(spark_type(arrow_type.value_type))
    if pa.types.is_struct(arrow_type):
        return StructType(spark_fields(arrow_type))
    return _PRIMITIVES[arrow_type]


def spark_fields(fields: pa.Schema | pa.StructType) -> list[StructField]:
    """Return what the fields of a schema become, in the same order."""
    return [StructField(field.name, spark_type(field.type)) for field in fields]


def arrow_type(kind: DataType) -> pa.DataType:
    """Return what Spark takes from a kernel for a type, whichever release it is."""
    if isinstance(kind, MapType):
        return pa.map_(
            arrow_type(kind.keyType),
            pa.field(
                "value", arrow_type(kind.valueType), nullable=kind.valueContainsNull
            ),
        )
    if isinstance(kind, ArrayType):
        element = arrow_type(kind.elementType)
        return pa.list_(pa.field("element", element, nullable=kind.containsNull))
    if isinstance(kind, StructType):
        return pa.struct(list(arrow_schema(kind)))
    return _ARROW[kind]


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the same of the fields of a schema, in the same order."""
    return pa.schema(
        [
            pa.field(field.name, arrow_type(field.dataType), nullable=field.nullable)
            for field in schema.fields
        ]
    )
