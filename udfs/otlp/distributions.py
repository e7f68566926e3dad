"""Histogram, exponential histogram and summary points as one nested Arrow column."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from . import walk as w
from .columns import Flags, as_double, as_sint32, column, offsets
from .fields import KINDS
from .schema import DISTRIBUTION, QUANTILE
from .tables import Tables

Columns = dict[str, pa.Array]

HISTOGRAM = KINDS.index("histogram")
EXPONENTIAL = KINDS.index("exponential_histogram")
SUMMARY = KINDS.index("summary")


class Distributions(NamedTuple):
    """The distributions of all points that have one."""

    column: pa.StructArray
    """DISTRIBUTION, in the order of their points."""
    has_bad_count: Flags
    """Whether a count is beyond int64; it is null then."""


def _count_list(pool: w.Table, ends: w.Table, is_known: Flags) -> pa.ListArray:
    """Return lists of counts; one beyond int64 is null."""
    counts = pool[0]
    values = column(counts, pa.int64(), counts >= 0)
    return pa.ListArray.from_arrays(offsets(ends), values, mask=pa.array(~is_known))


def _has_negative(pool: w.Table, ends: w.Table) -> Flags:
    """Say of each list whether a number in it is negative."""
    before = np.zeros(pool.shape[1] + 1, np.int64)
    np.cumsum(pool[0] < 0, out=before[1:])
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
    return before[ends] > before[starts]


def _quantile_lists(pool: w.Table, ends: w.Table, is_known: Flags) -> pa.ListArray:
    """Return the quantiles of summaries."""
    pairs = [pa.array(as_double(pool[side])) for side in range(2)]
    values = pa.StructArray.from_arrays(pairs, fields=list(QUANTILE))
    return pa.ListArray.from_arrays(offsets(ends), values, mask=pa.array(~is_known))


def _bucket_columns(
    tables: Tables, side: str, registers: tuple[int, int, int]
) -> Columns:
    """Return offset and counts of one side of exponential histograms."""
    has_side, offset, pool = registers
    is_known = tables.column(has_side) != 0
    zero_based = as_sint32(tables.column(offset))
    ends = tables.column(w.D_ENDS + pool)
    return {
        f"{side}_offset": column(zero_based, pa.int32(), is_known),
        f"{side}_bucket_counts": _count_list(tables.pool(pool), ends, is_known),
    }


def _exponential_columns(tables: Tables, is_exponential: Flags) -> Columns:
    """Return what only exponential histograms have."""
    scale, zero_count = tables.column(w.D_SCALE), tables.column(w.D_ZERO_COUNT)
    threshold = tables.column(w.D_ZERO_THRESHOLD)
    positive = (w.D_HAS_POSITIVE, w.D_POSITIVE_OFFSET, w.POSITIVE)
    negative = (w.D_HAS_NEGATIVE, w.D_NEGATIVE_OFFSET, w.NEGATIVE)
    is_known = is_exponential & (zero_count >= 0)
    return {
        "scale": column(as_sint32(scale), pa.int32(), is_exponential),
        "zero_count": column(zero_count, pa.int64(), is_known),
        "zero_threshold": column(threshold, pa.float64(), is_exponential),
        **_bucket_columns(tables, "positive", positive),
        **_bucket_columns(tables, "negative", negative),
    }


def _histogram_columns(tables: Tables, is_histogram: Flags) -> Columns:
    """Return what only histograms have."""
    bounds = pa.array(as_double(tables.pool(w.BOUNDS)[0]))
    bound_ends = tables.column(w.D_ENDS + w.BOUNDS)
    bucket_ends = tables.column(w.D_ENDS + w.BUCKETS)
    return {
        "explicit_bounds": pa.ListArray.from_arrays(
            offsets(bound_ends), bounds, mask=pa.array(~is_histogram)
        ),
        "bucket_counts": _count_list(tables.pool(w.BUCKETS), bucket_ends, is_histogram),
    }


def _shared_columns(tables: Tables, is_summary: Flags) -> Columns:
    """Return count, sum, min and max; a summary's sum has no presence: unset is 0."""
    count = tables.column(w.D_COUNT)
    is_known = {
        "sum": (tables.column(w.D_HAS_SUM) != 0) | is_summary,
        "min": tables.column(w.D_HAS_MIN) != 0,
        "max": tables.column(w.D_HAS_MAX) != 0,
    }
    registers = {"sum": w.D_SUM, "min": w.D_MIN, "max": w.D_MAX}
    columns: Columns = {"count": column(count, pa.int64(), count >= 0)}
    for name, register in registers.items():
        bits = tables.column(register)
        columns[name] = column(bits, pa.float64(), is_known[name])
    return columns


def arrow_distributions(tables: Tables, kinds: w.Table) -> Distributions:
    """Return the distributions that a walk has read.

    Args:
        tables: After a walk.
        kinds: The kind of each distribution, as KINDS numbers them.
    Returns: One row a distribution, in their order.
    Nulls: What the kind does not have; sum, min, max where they were not sent; offset
        and counts of buckets that were not sent; a count beyond int64.
    Source: opentelemetry-proto metrics.proto: HistogramDataPoint,
        ExponentialHistogramDataPoint, SummaryDataPoint.
    """
    is_summary = kinds == SUMMARY
    quantile_ends = tables.column(w.D_ENDS + w.QUANTILES)
    quantiles = _quantile_lists(tables.pool(w.QUANTILES), quantile_ends, is_summary)
    columns: Columns = {
        **_shared_columns(tables, is_summary),
        **_histogram_columns(tables, kinds == HISTOGRAM),
        **_exponential_columns(tables, kinds == EXPONENTIAL),
        "quantiles": quantiles,
    }
    arrays = [columns[child.name] for child in DISTRIBUTION]
    has_bad_count = tables.column(w.D_COUNT) < 0
    has_bad_count |= tables.column(w.D_ZERO_COUNT) < 0
    for pool in (w.BUCKETS, w.POSITIVE, w.NEGATIVE):
        ends = tables.column(w.D_ENDS + pool)
        has_bad_count |= _has_negative(tables.pool(pool), ends)
    column_of_all = pa.StructArray.from_arrays(arrays, fields=list(DISTRIBUTION))
    return Distributions(column_of_all, has_bad_count)
