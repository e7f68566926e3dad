"""conf/client_releases.csv: releases of client software, and what is known of them."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pipelines.errors import InvalidSetting

FILE_NAME = "client_releases.csv"
COLUMNS = ("software", "release", "date", "support", "faults")
_BUILD = re.compile(r"[-+].*")
"""What a build adds to a release: 7.5.0-ccs, 3.9.1+build."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release, as far as it is known."""

    released: date | None
    """Null: not looked up."""
    support: str
    faults: str


Releases = Mapping[tuple[str, str], Release]


def load_releases(conf: Path) -> Releases | None:
    """Return (software, release) to what is known of it; null: there is no such file.

    Raises: InvalidSetting, naming file and line.
    """
    path = conf / FILE_NAME
    if not path.exists():
        return None
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        if not {*COLUMNS} <= {*(rows.fieldnames or ())}:
            raise InvalidSetting(f"{path}: expects the columns {', '.join(COLUMNS)}")
        found = {}
        for row in rows:
            try:
                found[row["software"], row["release"]] = _read_release(row)
            except ValueError:
                raise InvalidSetting(
                    f"{path}: line {rows.line_num}: {row['date']!r} is no date"
                ) from None
    return found


def _read_release(row: dict[str, str]) -> Release:
    told = (row["date"] or "").strip()
    return Release(
        released=date.fromisoformat(told) if told else None,
        support=row["support"] or "",
        faults=row["faults"] or "",
    )


def find_release(releases: Releases, software: str, version: str) -> Release | None:
    """Return what is known of a version that a client has told."""
    exact = releases.get((software, version))
    return exact or releases.get((software, _BUILD.sub("", version)))
