"""The headers of records that somebody wants, by whole columns, and none too large."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .headers import Header

MAX_HEADERS_BYTES = 16_384
"""Of all headers of a record together, names and values; a bridge writes half of it."""
MAX_KEPT_HEADER_BYTES = 1_024
"""Of a header that is kept where all of them together are too large."""

Flags = npt.NDArray[np.bool_]


class PickedHeaders(NamedTuple):
    """The last value of each wanted header, one column per header."""

    values: list[pa.BinaryArray]
    is_left_out: list[Flags]
    """Beside each column: whether the value is one of those that are too large."""
    is_large: Flags
    """Of which records all headers together are too large."""


def pick_headers(records: pa.RecordBatch, wanted: Sequence[Header]) -> PickedHeaders:
    """Return the wanted headers of some records.

    Args:
        records: With headers, as Spark's Kafka source has them.
    Returns: Where all headers of a record are too large, only its short ones.
    Shape: One place a record in each column, same order.
    Nulls: A header that a record has not, or that is left out.
    """
    headers = records.column("headers")
    flat = headers.flatten()
    keys = flat.field("key")
    known = pc.index_in(keys, pa.array([one.name for one in wanted]))
    numbers = pc.fill_null(known, len(wanted)).to_numpy()
    parents = pc.list_parent_indices(headers).to_numpy()
    # One place more, for names that nobody knows. Of values of one name, numpy keeps
    # the last one assigned.
    places = np.full((len(wanted) + 1, records.num_rows), -1, np.int64)
    places[numbers, parents] = np.arange(len(numbers))
    values = flat.field("value")
    sizes = _lengths(values)
    in_all = np.bincount(parents, sizes + _lengths(keys), records.num_rows)
    is_large = in_all > MAX_HEADERS_BYTES
    is_long = sizes > MAX_KEPT_HEADER_BYTES
    picked = PickedHeaders([], [], is_large)
    for of_header in places[: len(wanted)]:
        is_missing = of_header < 0
        is_left_out = is_large & ~is_missing
        if is_large.any():
            is_left_out &= is_long[of_header]
        places_kept = pa.array(of_header, mask=is_missing | is_left_out)
        picked.values.append(values.take(places_kept))
        picked.is_left_out.append(is_left_out)
    return picked


def _lengths(values: pa.Array) -> npt.NDArray[np.int64]:
    """Return the bytes of texts or binaries; a null has none."""
    lengths: npt.NDArray[np.int64] = pc.fill_null(
        pc.binary_length(values), 0
    ).to_numpy()
    return lengths
