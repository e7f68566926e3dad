"""Rows of a table that agree with some keys, read from its files by Arrow.

A batch of some thousand keys concerns every file of a table of millions, and Spark then
makes a row of each of its keys to join them. If the files are on the local file system,
Arrow reads the columns of the keys, and the other columns only of row groups with a
match. Nothing is cached, so it does not matter who wrote to the table. Other tables are
joined by Spark.
"""

import re
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .kernel import Bounds, KernelTable

MAX_ROWS = 10_000_000
"""Rows of the files that Arrow reads; Spark joins larger tables."""
_ROWS_AT_ONCE = 1 << 18
_LOCAL = re.compile(r"(file:)?/+")
"""Beginning of a path on the local file system."""
Numbers = npt.NDArray[np.int64]


def find_rows(
    table: KernelTable, keys: pa.Table, schema: pa.Schema, max_rows: int
) -> pa.Table | None:
    """Return the rows that agree with a row of keys in all columns of keys.

    Args:
        table: Version of the table to read.
        keys: Columns of the table, at least one row; nulls agree with nulls.
        schema: Columns to return; a column that a file lacks is null.
        max_rows: Maximum number of rows in the files.

    Returns:
        The columns of schema; None if Arrow cannot read the files from here.
    """
    bounds = find_bounds(keys)
    files = table.list_files(bounds) if bounds else table.files
    if any(file.has_vector or not _LOCAL.match(file.path) for file in files):
        return None
    paths = [_LOCAL.sub("/", file.path, count=1) for file in files]
    counts = [
        pq.read_metadata(path).num_rows if file.row_count is None else file.row_count
        for path, file in zip(paths, files, strict=True)
    ]
    if sum(counts) > max_rows:
        return None
    find = partial(_find_in_file, keys=_Keys(keys), schema=schema)
    with ThreadPoolExecutor(pa.cpu_count()) as readers:
        found = [part for part in readers.map(find, paths) if part is not None]
    return pa.concat_tables([schema.empty_table(), *found])


def join_rows(table: DataFrame, keys: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the same rows, found by a join of Spark."""
    for name, (lowest, highest) in find_bounds(keys).items():
        first, last = (F.timestamp_micros(F.lit(one)) for one in (lowest, highest))
        table = table.where(F.col(name).between(first, last))
    wanted = table.sparkSession.createDataFrame(keys).toDF(
        *(f"key_{name}" for name in keys.column_names)
    )
    agrees = [
        F.col(name).eqNullSafe(F.col(f"key_{name}")) for name in keys.column_names
    ]
    found = table.join(F.broadcast(wanted), agrees, "left_semi")
    return found.select(*schema.names).toArrow().cast(schema)


def find_bounds(keys: pa.Table) -> Bounds:
    """Return the bounds of each timestamp column of keys that has no null."""
    bounds = {}
    for name in keys.column_names:
        column = keys.column(name)
        if pa.types.is_timestamp(column.type) and len(column) and not column.null_count:
            limits = pc.min_max(column.cast(pa.timestamp("us", "UTC")).cast(pa.int64()))
            bounds[name] = (limits["min"].as_py(), limits["max"].as_py())
    return bounds


class _Keys:
    """Keys of one or more columns, compared column by column."""

    def __init__(self, keys: pa.Table) -> None:
        """Number the distinct values of each column and the rows so far, nulls too."""
        self.names = keys.column_names
        self._steps: list[tuple[pa.Array, Numbers]] = []
        numbers = np.zeros(keys.num_rows, np.int64)
        for column in keys.columns:
            values = pc.unique(column.combine_chunks())
            numbers = numbers * len(values) + _find_places(column, values)
            wanted, numbers = np.unique(numbers, return_inverse=True)
            self._steps.append((values, wanted))

    def find(self, columns: Iterable[pa.ChunkedArray]) -> Numbers:
        """Return the indices of the rows that agree with a key.

        Args:
            columns: The columns of the keys, in their order; later ones are read only
                if earlier ones agree.
        """
        rows: Numbers | None = None
        numbers = np.zeros(1, np.int64)
        for column, (values, wanted) in zip(columns, self._steps, strict=False):
            place = _find_places(column.cast(values.type), values)
            if rows is None:
                rows, numbers = np.arange(len(place)), np.zeros(len(place), np.int64)
            place = place[rows]
            numbers = numbers * len(values) + place
            at = np.searchsorted(wanted, numbers).clip(max=len(wanted) - 1)
            agrees = (place >= 0) & (wanted[at] == numbers)
            rows, numbers = rows[agrees], at[agrees]
            if not len(rows):
                break
        return np.zeros(0, np.int64) if rows is None else rows


def _find_places(column: pa.ChunkedArray, values: pa.Array) -> Numbers:
    """Return the place of each value among others, null included, or -1."""
    places = pc.index_in(column, value_set=values).fill_null(-1)
    found: Numbers = places.to_numpy().astype(np.int64)
    return found


def _find_in_file(path: str, keys: _Keys, schema: pa.Schema) -> pa.Table | None:
    """Return the rows of one file; None if there are none."""
    # Spark writes times as INT96, in nanoseconds, which end in 2262.
    file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
    there = set(file.schema_arrow.names)
    names = [name for name in schema.names if name in there]
    parts = []
    for group in range(file.num_row_groups):
        read = (_read_column(file, group, name, there) for name in keys.names)
        rows = keys.find(read)
        if len(rows):
            parts.append(_take_rows(file, group, names, rows))
    if not parts:
        return None
    found = pa.concat_tables(parts)
    columns = [
        found.column(field.name).cast(field.type)
        if field.name in there
        else pa.nulls(found.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _read_column(
    file: pq.ParquetFile, group: int, name: str, there: Collection[str]
) -> pa.ChunkedArray:
    if name in there:
        return file.read_row_group(group, columns=[name]).column(0)
    return pa.chunked_array([pa.nulls(file.metadata.row_group(group).num_rows)])


def _take_rows(
    file: pq.ParquetFile, group: int, names: list[str], rows: Numbers
) -> pa.Table:
    """Return columns of some rows of a row group.

    Args:
        rows: Indices in the row group, in order.
    """
    parts, begin = [], 0
    batches = file.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=names)
    for batch in batches:
        low, high = np.searchsorted(rows, (begin, begin + batch.num_rows))
        if high > low:
            parts.append(batch.take(pa.array(rows[low:high] - begin)))
        begin += batch.num_rows
    return pa.Table.from_batches(parts)
