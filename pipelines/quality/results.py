"""What expectations said, in words and as rows of quality_results."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pipelines.counted import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one expectation said; as quality_results has it."""

    table: str
    suite: str
    expectation: str
    expectation_type: str
    meaning: str
    success: bool
    observed: str
    checked_rows: int | None
    failed_rows: int | None
    examples: Sequence[str]
    scope: str


def format_key(key: object) -> str:
    """Return a key as JSON, with times in UTC."""
    return json.dumps(key, ensure_ascii=False, default=_format_value)


def _format_value(value: object) -> str:
    if isinstance(value, datetime):
        # PySpark has times without a zone in that of the machine.
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return str(value)


def format_run(outcomes: Sequence[Outcome]) -> str:
    """Return what is printed: what fails, in words, below a line for each table."""
    return "\n".join(_format_lines(outcomes))


def _format_lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for table in dict.fromkeys(one.table for one in outcomes):
        of_table = [one for one in outcomes if one.table == table]
        failed = [one for one in of_table if not one.success]
        rows = max((one.checked_rows or 0) for one in of_table)
        asked = counted(len(of_table), "expectation")
        said = f"{len(failed)} of {asked} FAILED" if failed else f"all of {asked} hold"
        yield f"{table} ({counted(rows, 'row')}, {of_table[0].scope}): {said}"
        for one in failed:
            yield f"  {one.suite}.{one.expectation}: {one.meaning}"
            yield f"    {one.observed}{_format_examples(one.examples)}"


def _format_examples(examples: Sequence[str]) -> str:
    return f", for example {'; '.join(examples)}" if examples else ""
