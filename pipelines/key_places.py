"""Where the rows of some keys are in a table, read from its files without Spark.

A batch of some thousand keys concerns every file of a table of millions, and Spark then
makes a row of each of its keys to join them. Where the files are on a disk of this
machine, Arrow reads the one column of the key and looks each of them up; the columns
that say how new a row is are read where a key was found. Nothing is remembered, so that
it does not matter who has written to the table.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from udfs.row_bitmaps import read_rows

from .deletion_vectors import FILE_PATH, ROW_INDEX, read_vector
from .delta_transactions import list_files

ROWS_AT_ONCE = 1 << 18
TIME = pa.timestamp("us", "UTC")
_LOCAL = "file"
_MAPPED = '"delta.columnMapping.mode"'


def can_read(snapshot: Any) -> bool:  # noqa: ANN401 - an object of the JVM
    """Return whether the files of a table can be read from here.

    They can where they are on a disk of this machine and hold the columns by the names
    that the table has for them.
    """
    location = snapshot.deltaLog().dataPath().toUri()
    is_local = (location.getScheme() or _LOCAL) == _LOCAL
    return is_local and _MAPPED not in snapshot.metadata().json()


def find_rows(
    jvm: Any,  # noqa: ANN401 - as py4j has it
    snapshot: Any,  # noqa: ANN401 - an object of the JVM
    wanted: pa.Array,
    key: str,
    columns: Sequence[str],
) -> pa.Table | None:
    """Return the rows of some keys.

    Args:
        jvm: As py4j has it.
        snapshot: A version of a table for which can_read.
        wanted: Different keys, string.
        key: Column of the table.
        columns: More columns of it.
    Returns: key, columns, FILE_PATH and ROW_INDEX of each row that there is, as Spark's
        _metadata has them; None where there is none.
    """
    root = snapshot.deltaLog().dataPath().toString().rstrip("/")
    parts = []
    for file in list_files(jvm, snapshot):
        path = f"{root}/{file.path()}"
        rows = _find_in_file(unquote(urlsplit(path).path), wanted, key, columns)
        vector = file.deletionVector()
        if rows is not None and vector is not None:
            gone = read_rows(read_vector(jvm, snapshot, vector))
            is_gone = np.isin(rows.column(ROW_INDEX).to_numpy(), gone)
            rows = rows.filter(pa.array(~is_gone))
        if rows is not None:
            parts.append(rows.append_column(FILE_PATH, pa.array([path] * len(rows))))
    return pa.concat_tables(parts) if parts else None


def _find_in_file(
    path: str, wanted: pa.Array, key: str, columns: Sequence[str]
) -> pa.Table | None:
    """Return key, columns and ROW_INDEX of the rows of some keys."""
    # Spark's writer has times in nanoseconds, which end in 2262.
    file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
    found, first = [], 0
    for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=[key]):
        is_wanted = pc.is_in(batch.column(0), value_set=wanted)
        places = np.flatnonzero(is_wanted.to_numpy(zero_copy_only=False))
        found.append(first + places)
        first += batch.num_rows
    indices = pa.array(np.concatenate(found) if found else [], pa.int64())
    if len(indices) == 0:
        return None
    rows = file.read(columns=[key, *columns]).take(indices)
    return _in_utc(rows).append_column(ROW_INDEX, indices)


def _in_utc(rows: pa.Table) -> pa.Table:
    """Give times their zone, which Parquet's old type for them does not state."""
    kinds = [
        TIME if pa.types.is_timestamp(one.type) else one.type for one in rows.schema
    ]
    return rows.cast(
        pa.schema(
            [one.with_type(kind) for one, kind in zip(rows.schema, kinds, strict=True)]
        )
    )
