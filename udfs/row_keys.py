"""Keys of rows as numbers, so that rows of two tables can be compared by column.

Each different key has one number in all tables that are numbered together. A null is
a value of its own and equals other nulls.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.text_codes import CodedTexts, Codes, Mask, combine_codes

_SEPARATOR = "\x00"


def number_keys(tables: Sequence[pa.Table], names: Sequence[str]) -> list[Codes]:
    """Number the keys of the rows of tables.

    Args:
        tables: Tables that have the columns in the same types.
        names: Columns of the key.
    Returns: For each table the number of each row's key.
    """
    columns = []
    for name in names:
        chunks = [chunk for one in tables for chunk in one.column(name).chunks]
        kind = tables[0].schema.field(name).type
        whole = pa.chunked_array(chunks, kind).combine_chunks()
        coded = whole.dictionary_encode(null_encoding="encode")
        codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        columns.append(CodedTexts(codes, coded.dictionary))
    _, numbers = combine_codes(columns)
    ends = np.cumsum([one.num_rows for one in tables])
    return np.split(numbers, ends[:-1])


def find_places(rows: pa.Table, others: pa.Table, names: Sequence[str]) -> Codes:
    """Return for each row the place of the first other row with its key, or -1."""
    numbers, known = number_keys([rows, others], names)
    places = np.full(len(numbers) + len(known), -1, np.int64)
    places[known[::-1]] = np.arange(len(known))[::-1]
    return places[numbers]


def take_beside(rows: pa.Table, places: Codes) -> pa.Table:
    """Return the rows at some places; -1 gives a row of nulls."""
    return rows.take(pa.array(places, pa.int64(), mask=places < 0))


def filter_known(rows: pa.Table, others: pa.Table, names: Sequence[str]) -> pa.Table:
    """Keep the rows whose key another table has."""
    return rows.filter(pa.array(find_places(rows, others, names) >= 0))


def filter_unknown(rows: pa.Table, others: pa.Table, names: Sequence[str]) -> pa.Table:
    """Keep the rows whose key another table does not have."""
    return rows.filter(pa.array(find_places(rows, others, names) < 0))


def select_distinct(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the different keys of rows, in the order in which they first appear."""
    (numbers,) = number_keys([rows], names)
    _, first = np.unique(numbers, return_index=True)
    return rows.select(list(names)).take(pa.array(np.sort(first)))


def conform(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of a schema in its types, each in one chunk."""
    return rows.select(schema.names).cast(schema).combine_chunks()


def column_of(rows: pa.Table, name: str) -> pa.Array:
    """Return a column in one chunk."""
    return rows.column(name).combine_chunks()


def as_mask(flags: pa.Array | pa.ChunkedArray) -> Mask:
    """Return flags; a null is false."""
    if isinstance(flags, pa.ChunkedArray):
        flags = flags.combine_chunks()
    filled = pc.fill_null(flags, fill_value=False)
    return np.asarray(filled.to_numpy(zero_copy_only=False), np.bool_)


def find_equal(values: pa.Array, others: pa.Array) -> Mask:
    """Return where two columns agree; nulls agree with each other.

    Args:
        values: Of a primitive type, or lists of strings without nulls.
        others: Same type, same length.
    """
    if pa.types.is_list(values.type):
        values, others = (pc.binary_join(one, _SEPARATOR) for one in (values, others))
    are_null = np.asarray(values.is_null()), np.asarray(others.is_null())
    is_equal: Mask = as_mask(pc.equal(values, others)) | (are_null[0] & are_null[1])
    return is_equal
