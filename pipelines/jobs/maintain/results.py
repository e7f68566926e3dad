"""What one run has done, or would do: as lines for people, and as rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from pipelines.counted import counted
from pipelines.errors import PipelineError

DONE, LEFT_ALONE, FAILED = "done", "left alone", "failed"
PROPERTIES, RETENTION, COMPACTION, VACUUM, RUN = (
    *("properties", "retention", "compaction", "vacuum"),
    "run",
)
ACTIONS = (PROPERTIES, RETENTION, COMPACTION, VACUUM)
"""In the order in which a table has them."""
FAULTS = (PipelineError, PySparkException, Py4JJavaError, ValueError)
"""What one table, topic or folder may be at fault with; others are not left out."""
WHOLE_RUN = "*"
"""What stands for a table in the row of a whole run."""
_VERBS = {
    PROPERTIES: ("set", "set"),
    RETENTION: ("deleted", "delete"),
    COMPACTION: ("compacted", "compact"),
    VACUUM: ("vacuumed", "vacuum"),
}


def tell_fault(error: Exception) -> str:
    """Return one line about what went wrong."""
    if isinstance(error, PipelineError):
        return str(error)
    java = getattr(error, "java_exception", None)
    text = str(error if java is None else java.toString()).strip()
    return f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Some files."""

    files: int
    size_bytes: int

    def __str__(self) -> str:
        """Return them in words."""
        return f"{counted(self.files, 'file')} of {self.size_bytes:,} bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action on one table, done or not."""

    table: str
    action: str
    why: str
    started_at: datetime
    outcome: str = DONE
    seconds: float = 0.0
    partitions: Sequence[str] = ()
    before: Amount | None = None
    after: Amount | None = None
    bytes_rewritten: int | None = None
    rows_deleted: int | None = None

    def as_row(self, run_id: str) -> dict[str, Any]:
        """Return a row of maintenance_runs."""
        return {
            "run_id": run_id,
            "table_name": self.table,
            "action": self.action,
            "outcome": self.outcome,
            "why": self.why,
            "started_at": self.started_at,
            "seconds": self.seconds,
            "partitions": [*self.partitions] or None,
            "files_before": self.before and self.before.files,
            "bytes_before": self.before and self.before.size_bytes,
            "files_after": self.after and self.after.files,
            "bytes_after": self.after and self.after.size_bytes,
            "bytes_rewritten": self.bytes_rewritten,
            "rows_deleted": self.rows_deleted,
        }


def format_action(action: Action, *, is_dry_run: bool = False) -> str:
    """Return one line: what was done, or would be, of how much, and why."""
    if action.outcome != DONE:
        return f"{action.table}: {action.action} {action.outcome}: {action.why}"
    done, would = _VERBS[action.action]
    parts = [f"{action.table}: {f'would {would}' if is_dry_run else done}"]
    if action.partitions:
        parts.append(_format_dates(action.partitions))
    if action.rows_deleted is not None:
        parts.append(counted(action.rows_deleted, "row"))
    if action.before is not None:
        parts.append(str(action.before))
    if action.after is not None:
        parts.append(f"to {action.after}")
    if not is_dry_run:
        parts.append(f"in {action.seconds:.1f} s")
    return f"{' '.join(parts)}: {action.why}"


def _format_dates(dates: Sequence[str]) -> str:
    """Return dates in words."""
    first, *_, last = sorted(dates) if len(dates) > 1 else [dates[0], dates[0]]
    if len(dates) == 1:
        return first
    return f"{len(dates)} dates from {first} to {last},"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run has come to."""

    tables: Sequence[str]
    """Names of the tables that it looked at."""
    actions: Sequence[Action]
    is_dry_run: bool = False

    @property
    def has_failed(self) -> bool:
        """Say whether something was to be done and could not be."""
        return any(action.outcome == FAILED for action in self.actions)

    def summary(self) -> str:
        """Return how much was done, in words."""
        told = [counted(len(self.tables), "table")]
        for outcome in (DONE, LEFT_ALONE, FAILED):
            count = sum(action.outcome == outcome for action in self.actions)
            if count or outcome == DONE:
                is_planned = self.is_dry_run and outcome == DONE
                word = "planned" if is_planned else outcome
                told.append(f"{counted(count, 'action')} {word}")
        return ", ".join(told)
