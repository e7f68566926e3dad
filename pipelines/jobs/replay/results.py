"""What a replay of pushes found, and how it is told."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.counted import counted
from pipelines.time_ranges import TimeRange


@dataclass(frozen=True, slots=True)
class Differences:
    """What a table holds otherwise than the decoder gives."""

    pushes: int = 0
    stored_rows: int = 0
    """Rows of these pushes in the table."""
    fresh_rows: int = 0
    """Rows of these pushes from the decoder."""

    def __add__(self, other: "Differences") -> "Differences":
        """Return the sum of two parts."""
        return Differences(
            self.pushes + other.pushes,
            self.stored_rows + other.stored_rows,
            self.fresh_rows + other.fresh_rows,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """What a replay found, and put right unless it was a dry run."""

    pushes: int
    """In the range, those without a body included."""
    differences: Mapping[str, Differences]
    """Table name to the sum over all parts."""


def describe(differences: Mapping[str, Differences], pushes: int | None = None) -> str:
    """Say in one line in which tables how many pushes differ, and of how many."""
    parts = [
        f"{name}: {found.pushes:,} {'differs' if found.pushes == 1 else 'differ'} "
        f"({counted(found.stored_rows, 'row')}, decoded {found.fresh_rows:,})"
        for name, found in differences.items()
        if found.pushes
    ]
    told = "; ".join(parts) or "nothing differs"
    return told if pushes is None else f"{counted(pushes, 'push', 'pushes')}, {told}"


def format_result(result: ReplayResult, span: TimeRange, *, is_dry_run: bool) -> str:
    """Return what is printed in the end, one line a table."""
    verb = "would replace" if is_dry_run else "replaced"
    lines = [f"{span}: decoded {counted(result.pushes, 'push', 'pushes')} again"]
    lines += [
        _describe_table(name, one, verb) for name, one in result.differences.items()
    ]
    if is_dry_run:
        lines.append("nothing was written, for this was a dry run")
    return "\n".join(lines)


def _describe_table(name: str, found: Differences, verb: str) -> str:
    if not found.pushes:
        return f"{name}: every push has the rows that the decoder gives"
    pushes = counted(found.pushes, "push", "pushes")
    return (
        f"{name}: {verb} {counted(found.stored_rows, 'row')} of {pushes} by "
        f"{found.fresh_rows:,} decoded anew"
    )
