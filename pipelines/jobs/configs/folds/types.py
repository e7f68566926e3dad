"""The client type of an instance, determined by all of its pushes.

A push determines the type by its keys, and a push with fewer keys is less specific. So
all pushes of a client instance, principal and client id count together.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.configs.client_types import ClientTypeKeys, find_possible_types
from udfs.configs.logical_clients import name_logical_clients
from udfs.row_keys import column_of, number_keys
from udfs.text_codes import Codes

from .rows import WHO

POSSIBLE = "possible_types"
"""Column of bits, as find_possible_types returns them."""


def share_possible_types(pushes: pa.Table, type_keys: ClientTypeKeys) -> pa.Array:
    """Return the types that all pushes of the same client can have together.

    Args:
        pushes: WHO and configs; a null list does not restrict the types.
        type_keys: From make_client_type_keys.
    Returns: int64 bits, one for each push.
    """
    configs = column_of(pushes, "configs")
    keys = pa.ListArray.from_arrays(
        _offsets_of(configs), configs.flatten().field("config_key")
    )
    possible = find_possible_types(keys, type_keys).to_numpy()
    (numbers,) = number_keys([pushes], WHO)
    shared = np.full(numbers.max(initial=-1) + 1, -1, np.int64)
    np.bitwise_and.at(shared, numbers, possible)
    return pa.array(shared[numbers], pa.int64())


def summarise_possible_types(pushes: pa.Table, type_keys: ClientTypeKeys) -> pa.Table:
    """Return WHO and POSSIBLE, one row for each client."""
    possible = share_possible_types(pushes, type_keys)
    typed = pushes.select(list(WHO)).append_column(POSSIBLE, possible)
    (numbers,) = number_keys([pushes], WHO)
    _, first = np.unique(numbers, return_index=True)
    return typed.take(pa.array(first))


def name_clients(rows: pa.Table, possible: pa.Array) -> pa.Table:
    """Replace client_type and logical_client by those of the possible types."""
    named = name_logical_clients(
        column_of(rows, "principal"), column_of(rows, "client_id"), possible
    )
    for field in named.type:
        place = rows.schema.get_field_index(field.name)
        if place < 0:
            rows = rows.append_column(field, named.field(field.name))
        else:
            rows = rows.set_column(place, field, named.field(field.name))
    return rows


def _offsets_of(lists: pa.ListArray) -> pa.Array:
    """Return the offsets of lists in their flattened values; a null has no values."""
    counts: Codes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return pa.array(ends, pa.int32())
