"""Files of comma-separated values in conf/: the expected columns, and no other.

A file is ours, or a site's own copy of ours, so that whatever is wrong is named by file
and line.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pipelines.errors import InvalidSetting

Forms = Mapping[str, re.Pattern[str]]
"""Column to what may stand in it."""


def read_csv(path: Path, forms: Forms) -> Iterator[tuple[str, dict[str, str]]]:
    """Read a file of conf/.

    Args:
        path: Of the file.
        forms: Of all columns, in their order.
    Yields: Each row, and its place for messages: file and line.
    Raises: InvalidSetting, naming file and line.
    """
    reader = _open(path)
    if tuple(reader.fieldnames or ()) != tuple(forms):
        raise InvalidSetting(
            f"{name_file(path)}: has other columns than {', '.join(forms)}"
        )
    for row in reader:
        place = f"{name_file(path)}: line {reader.line_num}"
        if None in row:
            raise InvalidSetting(f"{place}: has more values than columns")
        for column, form in forms.items():
            if not form.fullmatch(row[column] or ""):
                raise InvalidSetting(f"{place}: {column} {row[column]!r}")
        yield place, {column: row[column] or "" for column in forms}


def read_columns(path: Path) -> tuple[str, ...]:
    """Return the names of a file's columns.

    Raises: InvalidSetting, naming the file.
    """
    return tuple(_open(path).fieldnames or ())


def name_file(path: Path) -> str:
    """Return what messages call a file of conf/."""
    return f"conf/{path.name}"


def _open(path: Path) -> "csv.DictReader[str]":
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "is no UTF-8"
        raise InvalidSetting(f"{name_file(path)}: cannot be read ({reason})") from None
    return csv.DictReader(text.splitlines())
