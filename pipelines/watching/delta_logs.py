"""Tables on disks of this machine, read by delta-rs: no JVM, and no row but of few.

Rows are counted by the statistics of the log, less those that deletion vectors mark.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import TableNotFoundError

from .site import MS_PER_S, RunLook, TableLook

LOG_FOLDER = "_delta_log"
_DELETION_VECTORS = "deletionVectors"
_LOCAL_SCHEMES = ("", "file")
_VOLUMES = ("/", "Volumes")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """A table with rows of runs, of which those of the newest one are read."""

    name: str
    table: str
    """Column of the table that a row is about."""
    began: str
    """Column of the time; the latest names the newest run by its run_id."""
    part: str
    """Column of what was done to it."""
    has_failed: str
    """SQL that is true where a row says so."""
    has_ended: str
    """SQL that is true of a row that only a run that came to its end has."""


MAINTENANCE = RunTable(
    name="maintenance_runs",
    table="table_name",
    began="started_at",
    part="action",
    has_failed="outcome = 'failed'",
    # Of a table, "run" says that it could not be looked at.
    has_ended="table_name = '*'",
)
CHECKS = RunTable(
    name="quality_results",
    table='"table"',
    began="checked_at",
    part="expectation",
    has_failed="NOT success",
    has_ended="true",
)


class UnreadableTable(Exception):
    """Raised when rows of a table cannot be read; the text says which table."""


def find_local(location: str) -> Path | None:
    """Return the path of a folder on a disk of this machine; None for another one."""
    parts = urlsplit(location)
    if parts.scheme not in _LOCAL_SCHEMES or parts.netloc:
        return None
    path = Path(unquote(parts.path) if parts.scheme else location)
    # A volume of Unity Catalog is a folder on Databricks' machines alone.
    if path.parts[:2] == _VOLUMES and not Path(*path.parts[:3]).exists():
        return None
    return path


def list_tables(root: Path) -> list[str]:
    """Return the names of the tables in a folder, in order."""
    if not root.exists():
        return []
    return sorted(one.name for one in root.iterdir() if _is_table(one))


def _is_table(folder: Path) -> bool:
    try:
        return (folder / LOG_FOLDER).is_dir()
    except PermissionError:
        # One of ours is a table that cannot be read; lost+found is none.
        return folder.name.isidentifier()


def look_at_table(root: Path, name: str) -> TableLook:
    """Read how large a table is, and when it was changed."""
    try:
        table = DeltaTable(str(root / name))
        files = pa.table(table.get_add_actions())
        [commit] = table.history(1)
        made_ms = table.metadata().created_time
        rows = _count_rows(table, files)
    except TableNotFoundError:
        return TableLook(name=name, is_there=False)
    except Exception as error:  # noqa: BLE001 - its library raises Arrow's and others
        return TableLook(name=name, is_there=True, fault=type(error).__name__)
    return TableLook(
        name=name,
        is_there=True,
        made_ms=made_ms,
        version=table.version(),
        committed_ms=commit.get("timestamp"),
        rows=rows,
        files=files.num_rows,
        bytes=pc.sum(files["size_bytes"]).as_py() or 0,
    )


def _count_rows(table: DeltaTable, files: pa.Table) -> int | None:
    counts = files["num_records"]
    if counts.null_count:
        return None
    rows: int = pc.sum(counts).as_py() or 0
    if _DELETION_VECTORS not in (table.protocol().reader_features or ()):
        return rows
    return rows - sum(_count_deleted(table))


def _count_deleted(table: DeltaTable) -> Iterator[int]:
    for batch in table.deletion_vectors():
        for kept in pa.record_batch(batch)["selection_vector"]:
            yield pc.sum(pc.invert(kept.values)).as_py() or 0


def count_quarantined(root: Path, name: str, since_ms: int) -> Mapping[str, int]:
    """Return reason to records of a time, the most frequent first.

    Raises: UnreadableTable.
    """
    since = datetime.fromtimestamp(since_ms / MS_PER_S, UTC)
    rows = _ask(
        root,
        name,
        "SELECT reason, count(*) AS records FROM asked "  # noqa: S608 - times of ours
        f"WHERE event_date >= DATE '{since:%Y-%m-%d}' "
        f"AND kafka_timestamp >= TIMESTAMP '{since:%Y-%m-%dT%H:%M:%S}Z' "
        "GROUP BY reason ORDER BY records DESC, reason",
    )
    return {row["reason"]: row["records"] for row in rows}


def read_newest_run(root: Path, runs: RunTable) -> RunLook | None:
    """Return what the newest run says of itself.

    Nulls: None where there was none.
    Raises: UnreadableTable.
    """
    rows = _ask(
        root,
        runs.name,
        f"SELECT {runs.table} AS about, {runs.part} AS part, "  # noqa: S608 - names of ours
        f"{runs.has_failed} AS has_failed, min({runs.began}) OVER () AS began, "
        f"(SELECT max({runs.began}) FROM asked WHERE {runs.has_ended}) AS completed "
        "FROM asked WHERE run_id = "
        f"(SELECT run_id FROM asked ORDER BY {runs.began} DESC LIMIT 1) "
        "ORDER BY about, part",
    )
    if not rows:
        return None
    completed = rows[0]["completed"]
    return RunLook(
        began_ms=_as_ms(rows[0]["began"]),
        completed_ms=_as_ms(completed) if completed else None,
        failed=tuple(
            f"{row['about']}: {row['part']}" for row in rows if row["has_failed"]
        ),
    )


def _as_ms(moment: datetime) -> int:
    return int(moment.timestamp() * MS_PER_S)


def _ask(root: Path, name: str, query: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_rows(root, name, query).to_pylist()
    return rows


def read_rows(root: Path, name: str, query: str = "SELECT * FROM asked") -> pa.Table:
    """Return what a query answers of one table, which it calls `asked`.

    Raises: UnreadableTable.
    """
    try:
        table = DeltaTable(str(root / name))
        return pa.table(
            QueryBuilder().register("asked", table).execute(query).read_all()
        )
    # Its reader of files raises what has no class of its own.
    except Exception as error:  # noqa: BLE001 - whatever it is, rows are not read
        raise UnreadableTable(f"{name}: {type(error).__name__}") from None
