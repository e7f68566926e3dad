"""Where the rows of some keys are in a table, read from its files without Spark.

A batch of some thousand keys concerns every file of a table of millions, and Spark then
makes a row of each of its keys to join them. Where the files are on a disk of this
machine, Arrow reads the one column of the key and looks each of them up; the columns
that say how new a row is are read where a key was found. Nothing is remembered, so that
it does not matter who has written to the table.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .deletion_vectors import FILE_PATH, LOCAL, ROW_INDEX, StoredVectors
from .delta_transactions import list_files

ROWS_AT_ONCE = 1 << 18
_MAPPED = '"delta.columnMapping.mode"'
Places = npt.NDArray[np.int64]


def can_read(snapshot: Any) -> bool:  # noqa: ANN401 - an object of the JVM
    """Return whether the files of a table can be read from here.

    They can where they are on a disk of this machine and hold the columns by the names
    that the table has for them.
    """
    location = snapshot.deltaLog().dataPath().toUri()
    is_local = (location.getScheme() or LOCAL) == LOCAL
    return is_local and _MAPPED not in snapshot.metadata().json()


def find_rows(
    jvm: Any,  # noqa: ANN401 - as py4j has it
    snapshot: Any,  # noqa: ANN401 - an object of the JVM
    vectors: StoredVectors,
    wanted: pa.Table,
) -> pa.Table | None:
    """Return the rows of some keys, as far as it takes to compare them.

    Args:
        jvm: As py4j has it.
        snapshot: A version of a table for which can_read.
        vectors: The deletion vectors of that version.
        wanted: Keys, each once, in the first column; then columns of the table by which
            rows are compared, left to right.
    Returns: The same columns, FILE_PATH and ROW_INDEX of each row that there is, as
        Spark's _metadata has them; None where there is none.
    Nulls: Columns behind the first of those that are compared are null where that one
        differs from the wanted one, for then nobody asks for them.
    """
    wanted = wanted.combine_chunks()
    find = partial(_find_in_file, wanted=wanted)
    parts = list(_find_in_files(jvm, snapshot, vectors, find))
    return pa.concat_tables(parts) if parts else None


def find_whole_rows(
    jvm: Any,  # noqa: ANN401 - as py4j has it
    snapshot: Any,  # noqa: ANN401 - an object of the JVM
    vectors: StoredVectors,
    keys: pa.Table,
    schema: pa.Schema,
) -> pa.Table:
    """Return the rows of some keys.

    Args:
        jvm: As py4j has it.
        snapshot: A version of a table for which can_read.
        vectors: The deletion vectors of that version.
        keys: One column, each once.
        schema: Of the table; a column that an old file lacks is null in it.
    Returns: The columns of schema, FILE_PATH and ROW_INDEX of each row that there is.
    """
    listed = pa.schema([*schema, pa.field(ROW_INDEX, pa.int64())])
    find = partial(_read_in_file, keys=keys.combine_chunks(), listed=listed)
    empty = listed.append(pa.field(FILE_PATH, pa.string())).empty_table()
    parts = _find_in_files(jvm, snapshot, vectors, find)
    return pa.concat_tables([empty, *parts])


def _find_in_files(
    jvm: Any,  # noqa: ANN401 - as py4j has it
    snapshot: Any,  # noqa: ANN401 - an object of the JVM
    vectors: StoredVectors,
    find: Callable[[str], pa.Table | None],
) -> Iterator[pa.Table]:
    """Yield what is found in each file, without the rows that are marked as gone."""
    log = snapshot.deltaLog()
    files = list(list_files(jvm, snapshot))
    places = [file.absolutePath(log).toUri() for file in files]
    paths = [place.getPath() for place in places]
    with ThreadPoolExecutor(pa.cpu_count()) as readers:
        found = readers.map(find, paths)
        for file, place, rows in zip(files, places, found, strict=True):
            if rows is None:
                continue
            vector = file.deletionVector()
            gone = () if vector is None else vectors.read(vector)
            left = rows.filter(pa.array(~np.isin(rows.column(ROW_INDEX), gone)))
            # Rows that were found may all be marked as gone.
            if len(left):
                path = pa.repeat(place.toString(), len(left))
                yield left.append_column(FILE_PATH, path)


def _open(path: str) -> pq.ParquetFile:
    # Spark's writer has times in nanoseconds, which end in 2262.
    return pq.ParquetFile(path, coerce_int96_timestamp_unit="us")


def _find_in_file(path: str, wanted: pa.Table) -> pa.Table | None:
    """Return the columns of wanted and ROW_INDEX of the rows that a file has."""
    file = _open(path)
    key, compared, *rest = wanted.column_names
    keys = wanted.column(key).combine_chunks()
    places, which, first = [], [], 0
    for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=[key]):
        number = pc.index_in(batch.column(0), value_set=keys)
        found = np.flatnonzero(number.is_valid().to_numpy(zero_copy_only=False))
        places.append(first + found)
        which.append(number.drop_null())
        first += batch.num_rows
    if not any(map(len, places)):
        return None
    indices = pa.array(np.concatenate(places), pa.int64())
    asked = wanted.take(pa.concat_arrays(which))
    columns = {key: asked.column(key)}
    columns |= _read_columns(file, [compared], indices, wanted.schema)
    is_tied = pc.any(pc.equal(columns[compared], asked.column(compared))).as_py()
    columns |= (
        _read_columns(file, rest, indices, wanted.schema)
        if is_tied
        else {name: pa.nulls(len(indices), asked.field(name).type) for name in rest}
    )
    return pa.table(columns | {ROW_INDEX: indices})


def _read_in_file(path: str, keys: pa.Table, listed: pa.Schema) -> pa.Table | None:
    """Return the listed columns, ROW_INDEX last, of the rows that a file has.

    Row groups without any are passed over: who came together asks together, later.
    """
    file = _open(path)
    (key,), (wanted,) = keys.column_names, keys.columns
    names = [name for name in listed.names if name in file.schema_arrow.names]
    parts, first = [], 0
    for group in range(file.num_row_groups):
        rows = file.read_row_group(group, columns=[key]).column(0)
        places = np.flatnonzero(pc.is_in(rows, value_set=wanted.chunk(0)))
        if len(places):
            parts.append(_take_rows(file, group, names, places, first))
        first += len(rows)
    if not parts:
        return None
    found = pa.concat_tables(parts)
    columns = [
        found.column(one.name).cast(one.type)
        if one.name in found.column_names
        else pa.nulls(found.num_rows, one.type)
        for one in listed
    ]
    return pa.table(columns, schema=listed)


def _take_rows(
    file: pq.ParquetFile, group: int, names: list[str], places: Places, first: int
) -> pa.Table:
    """Return columns of some rows of a row group, and ROW_INDEX.

    Args:
        places: In the row group, in order.
        first: Index of its first row in the file.
    """
    parts, begin = [], 0
    batches = file.iter_batches(ROWS_AT_ONCE, row_groups=[group], columns=names)
    for batch in batches:
        low, high = np.searchsorted(places, (begin, begin + batch.num_rows))
        parts.append(batch.take(pa.array(places[low:high] - begin)))
        begin += batch.num_rows
    indices = pa.array(first + places, pa.int64())
    return pa.Table.from_batches(parts).append_column(ROW_INDEX, indices)


def _read_columns(
    file: pq.ParquetFile, names: Sequence[str], indices: pa.Array, schema: pa.Schema
) -> dict[str, pa.ChunkedArray]:
    """Return columns of some rows; times get their zone, which old files lack."""
    rows = file.read(columns=list(names)).take(indices)
    return {name: rows.column(name).cast(schema.field(name).type) for name in names}
