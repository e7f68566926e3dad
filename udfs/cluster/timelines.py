"""The rows of a type-2 table, as records open, close and complete them.

Order decides, and times follow it: what comes later begins later. A value whose time is
that of the one before it, or earlier, begins a microsecond behind that one, so that
each value has a row, no row is without length, and no two have the same key. A state
that several records make up is put together at its moment instead: those that come with
its own time complete the row that is there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from .cluster_records import ClusterRecord

Row = dict[str, Any]
"""By the columns of its table, times in microseconds since 1970; a row that was read
may have more, which stays with it."""
Key = tuple[Any, ...]


class Dated(Protocol):
    """What begins values: a record."""

    @property
    def at(self) -> int:
        """Return when it was so: microseconds since 1970."""


def origin_of(record: ClusterRecord) -> Row:
    """Return the columns that say where a row comes from."""
    return {
        "cluster_id": record.cluster_id,
        "source": record.source,
        "not_before": record.not_before,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
    }


class Timeline:
    """Rows of one table: of each thing the newest one, and those that have changed."""

    def __init__(
        self,
        key: Sequence[str],
        rows: Iterable[Row],
        origin: Callable[[Any], Row] = origin_of,
    ) -> None:
        """Take what the table has.

        Args:
            key: Columns that name a thing; with valid_from they name a row.
            rows: All that are current, and those that ended after what is to come.
            origin: Of a record, the columns that say where a row comes from.
        """
        self._origin = origin
        self._names = tuple(key)
        self._newest: dict[Key, Row] = {}
        self._changed: dict[Key, Row] = {}
        for row in rows:
            named = tuple(row[name] for name in self._names)
            known = self._newest.get(named)
            if known is None or known["valid_from"] < row["valid_from"]:
                self._newest[named] = row

    @property
    def changed(self) -> list[Row]:
        """Return the rows that are new or changed."""
        return list(self._changed.values())

    def find(self, key: Key) -> Row | None:
        """Return what is so now."""
        row = self._newest.get(key)
        return row if row is not None and row["is_current"] else None

    def iter_current(self) -> Iterator[tuple[Key, Row]]:
        """Return all that is so now; it may be closed meanwhile."""
        for key, row in list(self._newest.items()):
            if row["is_current"]:
                yield key, row

    def put(
        self,
        key: Key,
        values: Mapping[str, Any],
        record: Dated,
        *,
        beside: Mapping[str, Any] | None = None,
        is_part: bool = False,
    ) -> bool:
        """Begin a value, unless it is so already.

        Args:
            values: Columns that are compared.
            beside: Columns that are not.
            is_part: Whether other records of the same moment say the rest of it.
        Returns: Whether it was not so.
        """
        newest, start = self._newest.get(key), record.at
        if newest is not None and newest["is_current"]:
            if all(newest[name] == value for name, value in values.items()):
                return False
            if is_part and start == newest["valid_from"]:
                newest |= self._origin(record) | dict(values) | dict(beside or {})
                self._note(key, newest)
                return True
            start = max(start, newest["valid_from"] + 1)
            self._end(key, newest, start)
        elif newest is not None:
            start = max(start, newest["valid_to"])
        row = dict(zip(self._names, key, strict=True)) | dict(values)
        row |= self._origin(record) | dict(beside or {})
        row |= {"valid_from": start, "valid_to": None, "is_current": True}
        self._newest[key] = row
        self._note(key, row)
        return True

    def close(self, key: Key, at: int) -> Row | None:
        """End what is so, at a moment; return it, if anything was."""
        row = self.find(key)
        if row is not None:
            self._end(key, row, max(at, row["valid_from"] + 1))
        return row

    def _end(self, key: Key, row: Row, at: int) -> None:
        row |= {"valid_to": at, "is_current": False}
        self._note(key, row)

    def _note(self, key: Key, row: Row) -> None:
        self._changed[*key, row["valid_from"]] = row
