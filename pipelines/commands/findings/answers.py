"""What findings the tables hold, read without a JVM where they are on a local disk."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipelines.commands.call import Call
from pipelines.errors import MissingTable, PipelineError
from pipelines.reading.subqueries import newest_run
from pipelines.settings.finding_rules import ERROR, SEVERITIES
from pipelines.settings.records import Settings
from pipelines.tables.findings import CLIENT_FINDINGS, FINDING_RUNS
from pipelines.watching.delta_logs import (
    UnreadableTable,
    find_local,
    list_tables,
    read_rows,
)

from .lines import format_findings, format_json, format_rules

Say = Callable[[str], None]
Rows = list[dict[str, Any]]
FOUND, FAULTY = 0, 1


class UnreadableFindings(PipelineError):
    """Raised when a table of findings cannot be read."""


def answer(call: Call, say: Say) -> int:
    """Print findings; return 1 if an error is open, except with --rules.

    Raises: MissingTable, UnreadableFindings.
    """
    settings, words = call.read_settings(), call.arguments
    tables = _read_tables(call, settings)
    now = datetime.now(tz=UTC)
    found = _choose(tables[CLIENT_FINDINGS.name].to_pylist(), words, now.date())
    runs: Rows = tables[FINDING_RUNS.name].to_pylist()
    if words.json:
        say(format_json(found, runs))
    elif words.rules:
        say(format_rules([one for one in runs if words.rule in {None, one["rule"]}]))
    else:
        say(format_findings(found, runs))
    if words.rules:
        return FOUND
    is_bad = any(one["severity"] == ERROR and one["until"] is None for one in found)
    return FAULTY if is_bad else FOUND


def _choose(rows: Rows, words: Namespace, today: date) -> Rows:
    """Return what was asked for, the most severe first."""
    asked = {
        name: getattr(words, name)
        for name in ("client_id", "principal", "rule", "severity")
        if getattr(words, name) is not None
    }

    def is_meant(row: Mapping[str, Any]) -> bool:
        since, until, silence = (
            row[name] for name in ("since", "until", "silenced_until")
        )
        # What held once, and was not seen again, is no finding yet.
        is_finding = until is None or (words.closed and until > since)
        is_heard = words.silenced or silence is None or silence < today
        is_late = words.since is None or max(since, until or since) >= words.since
        is_asked = all(row[name] == wanted for name, wanted in asked.items())
        return is_finding and is_heard and is_late and is_asked

    found = [one | {"evidence": dict(one["evidence"])} for one in rows if is_meant(one)]
    return sorted(found, key=_place)


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    is_closed = row["until"] is not None
    severity = SEVERITIES.index(row["severity"])
    return (is_closed, severity, -row["instances"], row["since"], row["rule"])


def _read_tables(call: Call, settings: Settings) -> dict[str, pa.Table]:
    """Return client_findings, and of finding_runs the newest evaluation."""
    tables = settings.tables
    root = None if tables.catalog_schema else find_local(tables.root_path)
    if root is None:
        return _read_by_spark(call, settings)
    for contract in (CLIENT_FINDINGS, FINDING_RUNS):
        if contract.name not in list_tables(root):
            _refuse(contract.name, str(root))
    try:
        return _read_local(root)
    except UnreadableTable as error:
        raise UnreadableFindings(str(error)) from None


def _read_local(root: Path) -> dict[str, pa.Table]:
    return {
        CLIENT_FINDINGS.name: read_rows(root, CLIENT_FINDINGS.name),
        FINDING_RUNS.name: read_rows(root, FINDING_RUNS.name, newest_run("asked")),
    }


def _read_by_spark(call: Call, settings: Settings) -> dict[str, pa.Table]:
    from pipelines.reading import views

    names = (CLIENT_FINDINGS.name, FINDING_RUNS.name)
    with call.session("findings") as spark:
        there = views.register(spark, settings, names)
        for name in names:
            if name not in there:
                _refuse(
                    name, settings.tables.catalog_schema or settings.tables.root_path
                )
        newest = spark.sql(newest_run(FINDING_RUNS.name))
        frames = (spark.table(CLIENT_FINDINGS.name), newest)
        return {
            name: frame.toArrow() for name, frame in zip(names, frames, strict=True)
        }


def _refuse(name: str, place: str) -> None:
    raise MissingTable(f"there is no {name} in {place} yet; client_findings makes it")
