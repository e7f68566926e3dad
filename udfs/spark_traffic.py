"""The kernel of clients' data as DataFrame steps; its meaning stands there."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from udfs.envelopes.readers import RECORD_SCHEMA, read_traffic_envelopes
from udfs.files.client_traffic_files import (
    TRAFFIC_ROW_SCHEMA,
    TrafficTables,
    write_client_traffic,
)
from udfs.files.daily_files import WrittenPart

from .spark import encode_files

__all__ = ["TrafficTables", "encode_traffic_files"]


def encode_traffic_files(
    records: DataFrame, tables: TrafficTables, row_columns: Sequence[str]
) -> DataFrame:
    """Decode what clients produce and fetch; use with transform.

    Args:
        records: Columns of Spark's Kafka source, headers included.
        tables: What to write.
        row_columns: What comes back of each row.
    Returns: ENCODED_TYPE, and push struct of row_columns.
    Shape: As encode_push_files, and a row for each record and broker.
    Errors: As in `client_traffic_files.write_client_traffic`; never raises for data.
    """
    nothing = pa.RecordBatch.from_pylist([], schema=RECORD_SCHEMA)
    known = pa.schema([*read_traffic_envelopes(nothing).schema, *TRAFFIC_ROW_SCHEMA])

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        return write_client_traffic(batches, tables)

    return encode_files(records, write, known, row_columns)
