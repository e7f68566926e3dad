"""How long tables keep what they have: a TOML file, checked at the start.

What of it fits which table, the tables' contracts say; see `jobs/maintain/retention`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from pipelines.errors import InvalidSetting

from .loading import RETENTION_NAME, load_toml
from .places import CONF_PATH

EVERY_TABLE = "every_table"
"""The section whose keys count for tables that do not say otherwise."""
FOR_EVER = 0
_MOST = 36_500
"""A hundred years of days, and four of hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRetention:
    """What one table keeps; 0 days are for ever."""

    days: int = FOR_EVER
    """Rows, by their age."""
    closed_days: int = FOR_EVER
    """Rows of a history, after they were no longer so."""
    ended_days: int = FOR_EVER
    """Rows of client instances, after these have ended."""
    vacuum_hours: int = 168
    """Files that the newest version no longer holds, and with them older versions."""
    log_hours: int = 720
    """Entries of Delta's log, behind its newest checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What all tables keep."""

    place: str
    """The file, for messages."""
    every_table: TableRetention
    tables: Mapping[str, TableRetention]
    """By name, of those that have a section."""

    def of(self, table: str) -> TableRetention:
        """Return what a table keeps."""
        return self.tables.get(table, self.every_table)


def find_first_date(days: int, now: datetime) -> date:
    """Return the first date in UTC that stays."""
    return (now - timedelta(days=days)).astimezone(UTC).date()


def load_retention(location: str) -> Retention:
    """Read the file.

    Args:
        location: Path; empty for the file of conf/.
    Raises: InvalidSetting, naming file and key.
    """
    path = Path(location) if location else CONF_PATH / f"{RETENTION_NAME}.toml"
    place = location or f"conf/{path.name}"
    content = load_toml(path, place)
    every = _read_section(
        place, EVERY_TABLE, content.pop(EVERY_TABLE, {}), TableRetention()
    )
    return Retention(
        place=place,
        every_table=every,
        tables={
            name: _read_section(place, name, table, every)
            for name, table in content.items()
        },
    )


def _read_section(
    place: str, name: str, section: Any, every: TableRetention
) -> TableRetention:
    if not isinstance(section, dict):
        raise InvalidSetting(f"{place}: {name}: expects a section, [{name}]")
    known = [one.name for one in fields(TableRetention)]
    if name == EVERY_TABLE:
        known = [one for one in known if one.endswith("_hours")]
    for key, value in section.items():
        if key not in known:
            raise InvalidSetting(
                f"{place}: {name}.{key}: unknown; known are {', '.join(known)}"
            )
        low = 1 if key.endswith("_hours") else FOR_EVER
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not is_number or not low <= value <= _MOST:
            raise InvalidSetting(
                f"{place}: {name}.{key}: expects a whole number from {low} to {_MOST}"
            )
    return replace(every, **section)
