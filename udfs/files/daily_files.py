"""The files of one table, one for each day, as rows of pushes come in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .table_files import FileWriter, TableFile, TableLayout

Columns = dict[str, pa.Array]
Days = npt.NDArray[np.int64]
Floors = Mapping[int, int]
"""Partition to the newest offset that a table holds already."""

EPOCH = date(1970, 1, 1)
MICROS_PER_DAY = 86_400_000_000
MAX_HELD_BYTES = 160 << 20
"""Of all days together; one day alone holds no more than a FileWriter does."""
MAX_OPEN_DAYS = 64


def columns_of(batch: pa.RecordBatch) -> Columns:
    """Return the columns of a batch by their names."""
    return dict(zip(batch.schema.names, batch.columns, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPart:
    """What some records have become."""

    records: int
    files: list[TableFile]
    pushes: pa.RecordBatch | None = None
    """Usable ones with what was decoded, without bodies, where they are wanted."""
    deciding: pa.Table | None = None
    """With the last part, and before it where they are many: the pushes that say who
    their client instances are, with what was decoded; null where there are none."""
    is_too_much: bool = False
    """Whether deciding is left out from here on, since it would be too much."""


class DailyFiles:
    """The open files of one table, one for each day.

    Memory: MAX_HELD_BYTES and one batch more, however many days there are.
    """

    def __init__(self, layout: TableLayout) -> None:
        self._layout = layout
        self._by_day: dict[int, FileWriter] = {}

    def write(self, columns: Columns, days: Days) -> Iterator[TableFile]:
        """Write rows, each to the file of its day."""
        arrays = [columns[name] for name in self._layout.columns]
        rows = pa.RecordBatch.from_arrays(arrays, names=list(self._layout.columns))
        found = np.unique(days).tolist()
        for day in found:
            if day not in self._by_day:
                dated = EPOCH + timedelta(days=day)
                self._by_day[day] = FileWriter(self._layout, dated)
            of_day = rows if len(found) == 1 else rows.filter(pa.array(days == day))
            yield from self._by_day[day].write(of_day)
            if len(self._by_day) > 1:
                yield from self._make_room()

    def _make_room(self) -> Iterator[TableFile]:
        """End the files that hold most, until the others hold little enough."""
        if len(self._by_day) > MAX_OPEN_DAYS:
            yield from self.end()
            self._by_day.clear()
        while sum(one.held_bytes for one in self._by_day.values()) > MAX_HELD_BYTES:
            most = max(self._by_day, key=lambda day: self._by_day[day].held_bytes)
            yield from self._by_day.pop(most).end()

    def end(self) -> Iterator[TableFile]:
        """Return the files that are still open."""
        for writer in self._by_day.values():
            yield from writer.end()


def days_of(times: pa.Array) -> Days:
    """Return the days of some times.

    Args:
        times: timestamp[us, UTC].
    Returns: Days since 1970, UTC.
    Shape: n rows in, n rows out, same order.
    """
    days: Days = times.cast(pa.int64()).to_numpy() // MICROS_PER_DAY
    return days


def is_beyond(
    partitions: pa.Array, offsets: pa.Array, floors: Floors
) -> npt.NDArray[np.bool_]:
    """Say which records lie above the floor of their partition.

    Args:
        partitions: int32.
        offsets: int64, same length.
        floors: What the table holds already.
    Returns: bool for each.
    """
    beyond = np.ones(len(offsets), np.bool_)
    for partition, floor in floors.items():
        is_there = partitions.to_numpy() == partition
        beyond &= ~(is_there & (offsets.to_numpy() <= floor))
    return beyond
