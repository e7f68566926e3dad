"""Values of the cluster's topic to rows: one row a record, one struct a type.

Strategy: record after record by record_bytes, then one column a type. The loop over
rows is measured (docs/dev/benchmarks.md): a record is a handful of fields, and a
cluster writes few of these types.
"""

from typing import Any

import pyarrow as pa

from .record_bytes import MetadataRecord, read_record
from .record_schemas import RECORD_TYPES, RECORDS_SCHEMA


def read_metadata_records(values: pa.BinaryArray) -> pa.RecordBatch:
    """Read framed metadata records.

    Args:
        values: binary, of the cluster's topic or of a metadata log.
    Returns: RECORDS_SCHEMA.
    Shape: n records in, n rows out, same order.
    Nulls: A null value, like an empty one, is truncated. A tagged field that is absent
        is null, and so is what the version lacks; a struct is null unless the record is
        of its type.
    Errors: frame_error, as read_record of record_bytes says; never an exception.
    """
    records = [read_record(value) for value in values.to_pylist()]
    columns = [
        pa.array([one.record_type for one in records], pa.string()),
        pa.array([one.version for one in records], pa.int32()),
        pa.array([one.frame_error for one in records], pa.string()),
        *(_make_column(records, name, kind) for name, kind in RECORD_TYPES.items()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RECORDS_SCHEMA)


def _make_column(
    records: list[MetadataRecord], record_type: str, kind: pa.DataType
) -> pa.Array:
    fields: list[Any] = [
        one.fields if one.record_type == record_type else None for one in records
    ]
    return pa.array(fields, kind)
