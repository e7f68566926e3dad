"""Defaults that pushes report, one row for each key of a client software.

A value that does not fit its type is not reported: no client can run with it, and a
correct value would be an override of it. Each entry is judged by itself, so that the
result does not depend on the batch.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.row_keys import as_mask, column_of, number_keys
from udfs.text_codes import Codes

from .defaults import DEFAULT_SCHEMA
from .described_configs import PLACE_COLUMNS
from .histories import TIME
from .value_columns import type_values

PUSH_COLUMNS = (*PLACE_COLUMNS, "received_at", "push_id", "configs")
"""Columns of a push that reports defaults."""
_KEY = DEFAULT_SCHEMA.names[:4]
_ORDER = ("first_seen", "first_push_id", "is_reported", "default_value")
_COUNT, _VALUES = "evidence_count", "values"
REPORT_SCHEMA = pa.schema(
    [
        *(DEFAULT_SCHEMA.field(name) for name in _KEY),
        ("config_type", pa.string()),
        ("default_value", pa.string()),
        ("first_seen", TIME),
        ("first_push_id", pa.string()),
        (_COUNT, pa.int64()),
        ("is_reported", pa.bool_()),
        (_VALUES, pa.list_(pa.string())),
    ]
)
"""The oldest report, the number of reports, and their different values. is_reported is
false for a default known before, which takes precedence over reports of its push."""


def report_defaults(pushes: pa.Table) -> pa.Table:
    """Summarise the entries that pushes flag as defaults.

    Args:
        pushes: PUSH_COLUMNS. A null client type is stored as the empty string.
    Returns: REPORT_SCHEMA, one row for each key.
    """
    configs = column_of(pushes, "configs")
    parents = pc.list_parent_indices(configs).to_numpy().astype(np.int64)
    entries = configs.flatten()
    is_default = as_mask(entries.field("is_default"))
    values, types = entries.field("config_value"), entries.field("config_type")
    has_value = is_default & np.asarray(values.is_valid())
    rows = np.flatnonzero(has_value)
    fits = type_values(values.take(pa.array(rows)), types.take(pa.array(rows)))
    rows = rows[np.asarray(fits.field("value_error").is_null())]
    reported, at = entries.take(pa.array(rows)), pa.array(parents[rows])
    value = reported.field("config_value")
    software = {name: column_of(pushes, name).take(at) for name in PLACE_COLUMNS}
    software["client_type"] = pc.fill_null(software["client_type"], "")
    columns = software | {
        "config_key": reported.field("config_key"),
        "config_type": reported.field("config_type"),
        "default_value": value,
        "first_seen": column_of(pushes, "received_at").take(at),
        "first_push_id": column_of(pushes, "push_id").take(at),
        _COUNT: pa.array(np.ones(len(rows), np.int64)),
        "is_reported": pa.array(np.ones(len(rows), np.bool_)),
        _VALUES: pa.ListArray.from_arrays(
            pa.array(np.arange(len(rows) + 1), pa.int32()), value
        ),
    }
    return merge_reports(pa.table(columns, schema=REPORT_SCHEMA))


def merge_reports(reports: pa.Table) -> pa.Table:
    """Return one row for each key: the oldest report, all pushes and all values.

    Args:
        reports: REPORT_SCHEMA.
    """
    order = pc.sort_indices(reports, [(name, "ascending") for name in _ORDER])
    ordered = reports.take(order).combine_chunks()
    (numbers,) = number_keys([ordered], _KEY)
    _, first = np.unique(numbers, return_index=True)
    # Numbers follow the order of their first rows.
    counts = np.zeros(len(first), np.int64)
    np.add.at(counts, numbers, column_of(ordered, _COUNT).to_numpy())
    merged = ordered.take(pa.array(first))
    values = _merge_values(column_of(ordered, _VALUES), numbers, len(first))
    for name, column in ((_COUNT, pa.array(counts)), (_VALUES, values)):
        place = REPORT_SCHEMA.get_field_index(name)
        merged = merged.set_column(place, REPORT_SCHEMA.field(name), column)
    return merged


def _merge_values(values: pa.ListArray, numbers: Codes, count: int) -> pa.ListArray:
    """Return the different values of each number, sorted, nulls last."""
    parents = pc.list_parent_indices(values).to_numpy().astype(np.int64)
    pairs = pa.table({"number": pa.array(numbers[parents]), "value": values.flatten()})
    order = pc.sort_indices(pairs, [(name, "ascending") for name in pairs.column_names])
    pairs = pairs.take(order).combine_chunks()
    (codes,) = number_keys([pairs], pairs.column_names)
    _, first = np.unique(codes, return_index=True)
    different = pairs.take(pa.array(np.sort(first)))
    of_each = column_of(different, "number").to_numpy()
    counts = np.bincount(of_each, minlength=count)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), column_of(different, "value")
    )
