"""A comparison of tables that takes no two bits for the same, NaNs excepted.

A NaN is a NaN: Spark's writer, which is in every SQL statement that rewrites rows,
knows one only.
"""

import math
import struct
from collections import Counter
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from pipelines.delta_tables.locations import identify_table
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES, QUARANTINE

NAN_BITS = struct.unpack("<q", struct.pack("<d", math.nan))[0]
TABLES = (CLIENT_METRICS, CLIENT_PUSHES, QUARANTINE)


def find_bit_differences(spark, settings, reference, *, slices=1):
    """Say in which tables and columns two runs differ; empty where nowhere.

    Rows are read from the files of both tables, doubles are compared as the 64 bits
    that stand there, all NaNs as one. Who rejected a record is not compared.
    """
    differences = {}
    for contract in TABLES:
        key = [*contract.merge_key]
        without = {"event_date", "source_job"}
        names = [c.name for c in contract.columns if c.name not in without]
        found, wanted = (
            _dataset(spark, identify_table(spark, which.tables, contract))
            for which in (settings, reference)
        )
        for number in range(slices):
            part = [
                _read(dataset, names, key, number, slices)
                for dataset in (found, wanted)
            ]
            what = _compare(*part)
            if what:
                differences.setdefault(contract.name, []).append(what)
    return differences


def _dataset(spark, table):
    files = [unquote(urlsplit(name).path) for name in spark.table(table).inputFiles()]
    return pyarrow.dataset.dataset(files, format="parquet") if files else None


def _read(dataset, names, key, number, slices):
    if dataset is None:
        return pa.table({name: pa.array([], pa.int64()) for name in names})
    offset = pc.field("offset")
    is_mine = pc.bit_wise_and(offset, pa.scalar(slices - 1, pa.int64())) == number
    table = dataset.to_table(columns=names, filter=is_mine if slices > 1 else None)
    return table.sort_by([(name, "ascending") for name in key])


def _compare(found, wanted):
    if found.num_rows != wanted.num_rows:
        return f"{found.num_rows} rows for {wanted.num_rows}"
    differing = Counter()
    for name in wanted.column_names:
        pair = [_as_bits(t[name].combine_chunks()) for t in (found, wanted)]
        if not pair[0].equals(pair[1]):
            differing[name] += 1
    return ", ".join(sorted(differing))


def _as_bits(array):
    """Return an array whose doubles are the integers of the same bits."""
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else array
    kind = array.type
    if pa.types.is_float64(kind):
        bits = array.view(pa.int64())
        return pc.if_else(pc.fill_null(pc.is_nan(array), False), NAN_BITS, bits)
    if pa.types.is_struct(kind):
        fields = [_as_bits(array.field(i)) for i in range(kind.num_fields)]
        names = [kind.field(i).name for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, names, mask=array.is_null())
    if pa.types.is_list(kind):
        values = _as_bits(array.flatten())
        lengths = pc.fill_null(pc.list_value_length(array), 0)
        offsets = pa.concat_arrays(
            [pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())]
        )
        return pa.ListArray.from_arrays(offsets, values, mask=array.is_null())
    return array
