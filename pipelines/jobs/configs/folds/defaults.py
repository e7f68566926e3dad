"""Defaults of client software, as clients report them.

The evidence of a default is its number of pushes, and each push is written once. So the
reports of a batch are added to the table. The first batch of a checkpoint location
recounts the ledger, because the table may already count some of its pushes.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.tables.configs import CONFIG_DEFAULTS
from udfs.configs.default_reports import REPORT_SCHEMA, merge_reports
from udfs.row_keys import (
    column_of,
    conform,
    filter_unknown,
    find_equal,
    find_places,
    take_beside,
)

from .rows import CONFIG_DEFAULT_SCHEMA, FoldedRows

KEY = CONFIG_DEFAULTS.merge_key


def fold_defaults(
    reports: pa.Table, known: pa.Table, *, is_recount: bool
) -> FoldedRows:
    """Compare reports with the table.

    Args:
        reports: From report_defaults or merge_reports.
        known: CONFIG_DEFAULT_SCHEMA; the rows of the same KEY, all rows for a recount.
        is_recount: Whether the reports are those of all pushes, which replace the
            table, instead of new ones.
    """
    merged = reports
    if not is_recount:
        both = pa.concat_tables([_as_reports(known), reports])
        merged = merge_reports(both)
    rows = _as_rows(merged)
    places = find_places(rows, known, KEY)
    beside = take_beside(known, places).combine_chunks()
    is_new = places < 0
    is_same = np.logical_and.reduce(
        [
            find_equal(column_of(rows, n), column_of(beside, n))
            for n in rows.column_names
        ]
    )
    return FoldedRows(
        new=rows.filter(pa.array(is_new)),
        changed=rows.filter(pa.array(~is_new & ~is_same)),
        gone=filter_unknown(known, rows, KEY),
    )


def list_changed_keys(folded: FoldedRows, known: pa.Table) -> pa.Table:
    """Return KEY of the defaults that have another value than before, or none."""
    places = find_places(folded.changed, known, KEY)
    before = take_beside(known, places)
    value = "default_value"
    is_same = find_equal(column_of(folded.changed, value), column_of(before, value))
    changed = folded.changed.filter(pa.array(~is_same))
    parts = folded.new, changed, folded.gone
    return pa.concat_tables([one.select(list(KEY)) for one in parts])


def _as_reports(known: pa.Table) -> pa.Table:
    """Return rows of the table as if they were reported."""
    conflicts = column_of(known, "conflicting_values")
    numbers = np.arange(known.num_rows)
    parents = pc.list_parent_indices(conflicts).to_numpy().astype(np.int64)
    flat = pa.concat_arrays([conflicts.flatten(), column_of(known, "default_value")])
    order = np.argsort(np.concatenate([parents, numbers]), kind="stable")
    counts = 1 + np.bincount(parents, minlength=known.num_rows)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    values = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), flat.take(pa.array(order))
    )
    reported = pa.array(np.zeros(known.num_rows, np.bool_))
    columns = [*known.drop_columns("conflicting_values").columns, reported, values]
    return pa.table(columns, schema=REPORT_SCHEMA)


def _as_rows(merged: pa.Table) -> pa.Table:
    """Return rows of the table: values other than the default are conflicts."""
    values = column_of(merged, "values")
    parents = pc.list_parent_indices(values).to_numpy().astype(np.int64)
    flat = values.flatten()
    defaults = column_of(merged, "default_value").take(pa.array(parents))
    is_other = ~find_equal(flat, defaults)
    counts = np.bincount(parents[is_other], minlength=merged.num_rows)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    conflicts = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), flat.filter(pa.array(is_other))
    )
    columns = [*merged.drop_columns(["is_reported", "values"]).columns, conflicts]
    return conform(
        pa.table(columns, names=CONFIG_DEFAULT_SCHEMA.names), CONFIG_DEFAULT_SCHEMA
    )
