"""What is to be compacted, judged by numbers and sizes of files, and why.

A date is compacted when it has many more files than its bytes need, or when it was
never put in the order that its table's contract says. Both are no longer so afterwards,
so that a second run finds nothing to do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.counted import counted
from pipelines.delta_tables.compaction import Clusterings
from pipelines.delta_tables.stored_files import WHOLE, StoredFile

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRules:
    """What decides whether a date is compacted."""

    file_bytes: int
    min_spare_files: int
    quiet_minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One date of a table, or all of a table without dates."""

    day: str
    files: int
    size_bytes: int
    why: str
    is_left_alone: bool = False
    """It needs it, and somebody is writing to it."""

    @property
    def place(self) -> str:
        """Return the date behind a blank; empty for a table without dates."""
        return "" if self.day == WHOLE else f" {self.day}"


def judge_dates(
    held: Mapping[str, Sequence[StoredFile]],
    rules: CompactionRules,
    *,
    now_ms: int,
    read_clusterings: Callable[[], Clusterings] | None,
) -> list[Judged]:
    """Return the dates that need compaction, oldest first.

    Args:
        held: As StoredFiles has it.
        now_ms: Milliseconds since 1970.
        read_clusterings: Asks the table's history, which may be long; null where the
            contract knows no order.
    """
    judged = []
    clusterings = None
    for day in sorted(held):
        files = held[day]
        why = _find_spare_files(files, rules)
        if why is None and read_clusterings is not None and len(files) > 1:
            clusterings = clusterings or read_clusterings()
            why = _find_disorder(day, files, clusterings)
        if why is None:
            continue
        newest_ms = max(file.modified_ms for file in files)
        quiet_ms = rules.quiet_minutes * MINUTE_MS
        # Tables without dates are written by changes of rows, which wait and repeat.
        is_busy = day != WHOLE and now_ms - newest_ms < quiet_ms
        if is_busy:
            ago = counted(max(0, now_ms - newest_ms) // MINUTE_MS, "minute")
            why = f"{why}, but written to {ago} ago"
        judged.append(
            Judged(
                day=day,
                files=len(files),
                size_bytes=sum(file.size_bytes for file in files),
                why=why,
                is_left_alone=is_busy,
            )
        )
    return judged


def count_needed(size_bytes: int, file_bytes: int) -> int:
    """Return how many files bytes need."""
    return max(1, -(-size_bytes // file_bytes))


def _find_spare_files(
    files: Sequence[StoredFile], rules: CompactionRules
) -> str | None:
    """Return why they are too many; null: they are not."""
    needed = count_needed(sum(file.size_bytes for file in files), rules.file_bytes)
    if len(files) - needed < max(rules.min_spare_files, needed):
        return None
    return f"{counted(len(files), 'file')} where {needed} would do"


def _find_disorder(
    day: str, files: Sequence[StoredFile], clusterings: Clusterings
) -> str | None:
    """Return that a date was never clustered, where the history would know of it."""
    is_known = max(file.modified_ms for file in files) >= clusterings.since_ms
    if not is_known or day in clusterings.ordered:
        return None
    return "never put in the order of its contract"
