"""What Delta keeps of each data file, so that queries can pass over it."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

PREFIX_CHARACTERS = 32
"""Of texts in statistics, as Delta's own writer keeps them."""
LAST_CHARACTER = "\U0010ffff"
MILLISECOND = timedelta(milliseconds=1)

Statistic = str | int | float | None
Bound = str | int | float | datetime


class FloatingBounds:
    """Bounds and nulls of a floating column, over row groups."""

    def __init__(self) -> None:
        self.null_count = 0
        self._is_bounded = True
        self._bounds: list[float] = []

    def add(self, column: pa.ChunkedArray) -> None:
        """Take the values of a row group."""
        self.null_count += column.null_count
        self._is_bounded &= not pc.any(pc.invert(pc.is_finite(column))).as_py()
        ends = pc.min_max(column)
        self._bounds += [
            ends[end].as_py() for end in ("min", "max") if ends[end].is_valid
        ]

    def bounds(self) -> tuple[float, float] | None:
        """Return the least and the greatest, if every value is finite."""
        if not self._bounds or not self._is_bounded:
            return None
        # The two zeros are equal, but some readers order them.
        lowest, greatest = min(self._bounds), max(self._bounds)
        return (lowest or -0.0), (greatest or 0.0)


def _bounds(
    found: Sequence[pq.Statistics], groups: Sequence[pq.RowGroupMetaData]
) -> tuple[Bound, Bound] | None:
    """Return the bounds that Parquet states for a column, if every row group does."""
    known = [each for each in found if each.has_min_max]
    is_complete = all(
        each.has_min_max or each.null_count == group.num_rows
        for each, group in zip(found, groups, strict=True)
    )
    if not known or not is_complete:
        return None
    return min(each.min for each in known), max(each.max for each in known)


def file_statistics(
    metadata: pq.FileMetaData,
    names: Sequence[str],
    numbers: Mapping[str, FloatingBounds],
) -> str:
    """Return Delta's statistics of a file, as JSON.

    Args:
        names: Top-level columns that have statistics.
        numbers: What is known of the floating columns.
    Units: Timestamps are ISO 8601 in UTC; cut to milliseconds, the greatest rounded up.
    Nulls: A column of nulls only has no bounds, nor has one with a NaN, which Spark
        takes for the greatest number, or an infinity, which JSON lacks.
    Source: Delta protocol, Per-file Statistics.
    """
    lowest: dict[str, Statistic] = {}
    greatest: dict[str, Statistic] = {}
    nulls: dict[str, int] = {}
    places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    bounds: tuple[Bound, Bound] | None
    for name in names:
        if name in numbers:
            bounds, nulls[name] = numbers[name].bounds(), numbers[name].null_count
        else:
            found = [group.column(places[name]).statistics for group in groups]
            if any(each is None for each in found):
                continue
            nulls[name] = sum(each.null_count for each in found)
            bounds = _bounds(found, groups)
        if bounds is not None:
            lowest[name] = _as_lowest(bounds[0])
            greatest[name] = _as_greatest(bounds[1])
    return json.dumps(
        {
            "numRecords": metadata.num_rows,
            "minValues": lowest,
            "maxValues": greatest,
            "nullCount": nulls,
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _as_lowest(value: Bound) -> Statistic:
    if isinstance(value, str):
        return value[:PREFIX_CHARACTERS]
    if isinstance(value, datetime):
        return _format_time(value)
    return value


def _as_greatest(value: Bound) -> Statistic:
    if isinstance(value, str):
        is_cut = len(value) > PREFIX_CHARACTERS
        return value[:PREFIX_CHARACTERS] + (LAST_CHARACTER if is_cut else "")
    if isinstance(value, datetime):
        is_whole = value.microsecond % 1000 == 0
        return _format_time(value if is_whole else value + MILLISECOND)
    return value


def _format_time(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + (
        f"{value.microsecond // 1000:03}Z"
    )
