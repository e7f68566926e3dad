"""The decode of a cluster's records as a DataFrame step; its meaning stands below."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from udfs.cluster.cluster_records import CLUSTER_RECORD_SCHEMA
from udfs.files.cluster_record_files import (
    KEYED_RECORD_SCHEMA,
    REASONS,
    ClusterTables,
    write_cluster_records,
)
from udfs.files.daily_files import WrittenPart

from .spark import encode_files

__all__ = ["REASONS", "ClusterTables", "encode_cluster_files"]


def encode_cluster_files(records: DataFrame, tables: ClusterTables) -> DataFrame:
    """Decode records of the cluster's feed; use with transform.

    Args:
        records: Columns of Spark's Kafka source, headers included.
        tables: What to write.
    Returns: ENCODED_TYPE, and push struct of CLUSTER_RECORD_SCHEMA.
    Shape: As encode_push_files, and a row for each record whose envelope was read.
    Errors: As in `cluster_record_files.write_cluster_records`; never raises for data.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        return write_cluster_records(batches, tables)

    return encode_files(
        records,
        write,
        CLUSTER_RECORD_SCHEMA,
        CLUSTER_RECORD_SCHEMA.names,
        record_columns=KEYED_RECORD_SCHEMA.names,
    )
