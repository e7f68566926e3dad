"""Rows of a table as Parquet files in memory, with the statistics that Delta keeps.

Strategy: Arrow's writer takes whole columns and turns repeated values into dictionaries
by itself; its own statistics of each row group are the file's. Nothing here knows where
a file will stand.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROW_GROUP_ROWS = 250_000
ROW_GROUP_BYTES = 64 << 20
"""Of Arrow columns that wait to be written: bounds the memory, however rows look."""
FILE_BYTES = 32 << 20
"""A file that has grown to this is ended, and the next one begun."""
ZSTD_LEVEL = 1
PREFIX_CHARACTERS = 32
"""Of texts in statistics, as Delta's own writer keeps them."""
LAST_CHARACTER = "\U0010ffff"
MILLISECOND = timedelta(milliseconds=1)

Statistic = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """What a file needs to know of the table that it is for."""

    table: str
    columns: tuple[str, ...]
    """In table order, those that partition it excepted."""
    required: frozenset[str]
    """Columns that are never null."""
    statistics: tuple[str, ...]
    """Columns with statistics."""
    uncompressed: frozenset[str] = frozenset()
    """Columns whose values are compressed already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """One file of one table and one day."""

    table: str
    event_date: date
    content: bytes
    """Parquet, version 2.6 of the format."""
    row_count: int
    statistics: str
    """JSON, as an add action of Delta has it."""


class FileWriter:
    """Collects the rows of one table and one day; each full file is handed out.

    Memory: ROW_GROUP_BYTES of rows and FILE_BYTES of file, and one batch more of each.
    """

    def __init__(self, layout: TableLayout, event_date: date) -> None:
        self._layout = layout
        self._event_date = event_date
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        self._waiting_bytes = 0
        self._sink: pa.BufferOutputStream | None = None
        self._writer: pq.ParquetWriter | None = None
        self._has_nan: set[str] = set()

    def write(self, rows: pa.RecordBatch) -> Iterator[TableFile]:
        """Take rows; return the file that they have filled, if they have.

        Args:
            rows: The layout's columns, in its order; texts may be dictionaries.
        Raises: ValueError where a required column has a null; the caller is at fault.
        """
        for name in rows.schema.names:
            if name in self._layout.required and rows.column(name).null_count:
                raise ValueError(f"{self._layout.table}.{name} must not be null")
        self._waiting.append(rows)
        self._waiting_rows += rows.num_rows
        self._waiting_bytes += rows.get_total_buffer_size()
        if (
            self._waiting_rows >= ROW_GROUP_ROWS
            or self._waiting_bytes >= ROW_GROUP_BYTES
        ):
            self._write_waiting()
            if self._sink is not None and self._sink.tell() >= FILE_BYTES:
                yield self._finish()

    def end(self) -> Iterator[TableFile]:
        """Return the last file, if there are rows for one."""
        self._write_waiting()
        if self._writer is not None:
            yield self._finish()

    def _write_waiting(self) -> None:
        """Write a row group."""
        if not self._waiting_rows:
            return
        # A row group has one dictionary a column, or Arrow writes the values plainly.
        rows = pa.Table.from_batches(self._waiting).unify_dictionaries()
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0
        for name in self._layout.statistics:
            column = rows.column(name)
            if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
                self._has_nan.add(name)
        if self._writer is None:
            self._sink = pa.BufferOutputStream()
            self._writer = pq.ParquetWriter(
                self._sink,
                rows.schema,
                version="2.6",
                store_schema=False,
                write_statistics=list(self._layout.statistics),
                compression={
                    name: "none" if name in self._layout.uncompressed else "zstd"
                    for name in _leaf_paths(rows.schema)
                },
                compression_level={
                    name: ZSTD_LEVEL
                    for name in _leaf_paths(rows.schema)
                    if name not in self._layout.uncompressed
                },
            )
        self._writer.write_table(rows, row_group_size=rows.num_rows)

    def _finish(self) -> TableFile:
        """End the open file."""
        if self._writer is None or self._sink is None:
            raise RuntimeError("there is no open file")
        self._writer.close()
        content = self._sink.getvalue().to_pybytes()
        metadata = pq.read_metadata(pa.BufferReader(content))
        statistics = file_statistics(metadata, self._layout.statistics, self._has_nan)
        self._writer, self._sink, self._has_nan = None, None, set()
        return TableFile(
            table=self._layout.table,
            event_date=self._event_date,
            content=content,
            row_count=metadata.num_rows,
            statistics=statistics,
        )


def _leaf_paths(schema: pa.Schema) -> list[str]:
    """Return the paths of Parquet's columns, as its writer names them."""
    return [path for field in schema for path in _paths_of(field.type, field.name)]


def _paths_of(arrow_type: pa.DataType, path: str) -> list[str]:
    if pa.types.is_map(arrow_type):
        return [
            *_paths_of(arrow_type.key_type, f"{path}.key_value.key"),
            *_paths_of(arrow_type.item_type, f"{path}.key_value.value"),
        ]
    if pa.types.is_list(arrow_type):
        return _paths_of(arrow_type.value_type, f"{path}.list.element")
    if pa.types.is_struct(arrow_type):
        return [p for f in arrow_type for p in _paths_of(f.type, f"{path}.{f.name}")]
    return [path]


def file_statistics(
    metadata: pq.FileMetaData, names: Sequence[str], has_nan: set[str]
) -> str:
    """Return Delta's statistics of a file, as JSON.

    Args:
        metadata: Of the file.
        names: Top-level columns that have statistics.
        has_nan: Those with a NaN, which Parquet passes over and Spark takes for the
            greatest number: they get no bounds.
    Units: Timestamps are ISO 8601 in UTC; cut to milliseconds, the greatest rounded up.
    Nulls: A column of nulls only has no bounds.
    Source: Delta protocol, Per-file Statistics.
    """
    lowest: dict[str, Statistic] = {}
    greatest: dict[str, Statistic] = {}
    nulls: dict[str, int] = {}
    places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    for name in names:
        found = [group.column(places[name]).statistics for group in groups]
        if any(each is None for each in found):
            continue
        nulls[name] = sum(each.null_count for each in found)
        known = [each for each in found if each.has_min_max]
        is_complete = all(
            each.has_min_max or each.null_count == group.num_rows
            for each, group in zip(found, groups, strict=True)
        )
        if not known or not is_complete or name in has_nan:
            continue
        bounds = min(each.min for each in known), max(each.max for each in known)
        # JSON has no infinity.
        if any(isinstance(bound, float) and math.isinf(bound) for bound in bounds):
            continue
        lowest[name], greatest[name] = _as_lowest(bounds[0]), _as_greatest(bounds[1])
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


def _as_lowest(value: str | float | datetime) -> Statistic:
    if isinstance(value, str):
        return value[:PREFIX_CHARACTERS]
    if isinstance(value, datetime):
        return _format_time(value)
    return value


def _as_greatest(value: str | float | datetime) -> Statistic:
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
