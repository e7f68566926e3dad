"""Rows of a table as Parquet files in memory, with the statistics that Delta keeps.

Strategy: Arrow's writer takes whole columns and turns repeated values into dictionaries
by itself; its own statistics of each row group are the file's. Nothing here knows where
a file will stand.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq

from .file_statistics import FloatingBounds, file_statistics

ROW_GROUP_ROWS = 250_000
ROW_GROUP_BYTES = 64 << 20
"""Of Arrow columns that wait to be written: bounds the memory, however rows look."""
FILE_BYTES = 32 << 20
"""Of a file, where nothing else is said."""
READ_ROWS = 10_000
READ_BYTES = 8 << 20
"""Of rows that are read again at once, about."""
ZSTD_LEVEL = 1


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
    file_bytes: int = FILE_BYTES
    """A file that has grown to this is ended, and the next one begun."""


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
        self._numbers: dict[str, FloatingBounds] = {}

    @property
    def held_bytes(self) -> int:
        """Return what is in memory: rows that wait, and the open file."""
        in_file = 0 if self._sink is None else self._sink.tell()
        return self._waiting_bytes + in_file

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
            if self._sink is not None and self._sink.tell() >= self._layout.file_bytes:
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
        floating = [
            name
            for name in self._layout.statistics
            if pa.types.is_floating(rows.schema.field(name).type)
        ]
        for name in floating:
            self._numbers.setdefault(name, FloatingBounds()).add(rows.column(name))
        if self._writer is None:
            self._sink = pa.BufferOutputStream()
            self._writer = pq.ParquetWriter(
                self._sink,
                rows.schema,
                version="2.6",
                store_schema=False,
                # Readers compare dictionaries of numbers with the two zeros in order,
                # and pass over a row group whose only zero is the other one.
                use_dictionary=[
                    path for path in _leaf_paths(rows.schema) if path not in floating
                ],
                # Those of numbers pass over NaN, which Spark takes for the greatest:
                # it would skip row groups that have one.
                write_statistics=[
                    name for name in self._layout.statistics if name not in floating
                ],
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
        statistics = file_statistics(metadata, self._layout.statistics, self._numbers)
        self._writer, self._sink, self._numbers = None, None, {}
        return TableFile(
            table=self._layout.table,
            event_date=self._event_date,
            content=content,
            row_count=metadata.num_rows,
            statistics=statistics,
        )


def iter_rows(
    content: bytes, event_date: pa.Scalar, schema: pa.Schema, date_column: str
) -> Iterator[pa.RecordBatch]:
    """Read the rows of a TableFile as their table has them, few at once, in order.

    Args:
        event_date: Of the file.
        schema: Of the table; a column that the file lacks is null.
        date_column: The column of schema that event_date is for.
    """
    file = pq.ParquetFile(pa.BufferReader(content))
    for rows in file.iter_batches(batch_size=READ_ROWS):
        known = dict(zip(rows.schema.names, rows.columns, strict=True))
        known[date_column] = pa.repeat(event_date, rows.num_rows)
        arrays = [
            known[field.name].cast(field.type)
            if field.name in known
            else pa.nulls(rows.num_rows, field.type)
            for field in schema
        ]
        whole = pa.RecordBatch.from_arrays(arrays, schema=schema)
        step = max(1, whole.num_rows * READ_BYTES // max(READ_BYTES, whole.nbytes))
        for start in range(0, whole.num_rows, step):
            yield whole.slice(start, step)


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
