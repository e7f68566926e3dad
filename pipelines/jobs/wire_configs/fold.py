"""The newest value of each key that clients' requests have shown.

An exact value takes precedence over a later one that is not exact.
"""

from collections.abc import Iterable
from typing import Any

from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

Row = dict[str, Any]

KEY = CLIENT_WIRE_CONFIGS.merge_key
ENTRY_COLUMNS = CLIENT_WIRE_CONFIGS.column_names


def fold(entries: Iterable[Row], known: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Keep the entry that counts for each client and key.

    Args:
        entries: ENTRY_COLUMNS.
        known: Rows of client_wire_configs that have one of the entries' keys.

    Returns:
        New rows and changed rows, whole.
    """
    stored = {_key(row): row for row in known}
    rows = dict(stored)
    for entry in entries:
        key = _key(entry)
        if key not in rows or _rank(entry) > _rank(rows[key]):
            rows[key] = entry
    new = [row for key, row in rows.items() if key not in stored]
    return new, [row for key, row in rows.items() if row is not stored.get(key, row)]


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in KEY)


def _rank(row: Row) -> tuple[Any, ...]:
    """Return what is greater for the entry that counts."""
    return tuple(row[name] for name in CLIENT_WIRE_CONFIGS.newest_by)
