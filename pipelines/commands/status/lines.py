"""A site as one screen, or as one JSON object."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from pipelines.log_times import format_log_time
from pipelines.reading.text_tables import Number, format_table, make_printable
from pipelines.watching.judging import Problem
from pipelines.watching.site import (
    MS_PER_S,
    BridgeLook,
    JobLook,
    RunLook,
    SiteLook,
    StoredLook,
    TableLook,
)

NEVER = "never"
WELL = "all is well"
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_FROM_UNITS = 2
"""So many of a unit are told in it: 119 s, 2 min."""
_SIZES = ("B", "kB", "MB", "GB", "TB")
_STEP = 1_000
_RUNNING = {True: "runs", False: "stopped", None: "-"}


def format_json(site: SiteLook, problems: Sequence[Problem]) -> str:
    """Return a site as one line of JSON; times are milliseconds since 1970."""
    told: dict[str, Any] = asdict(site)
    told["problems"] = [asdict(one) for one in problems]
    told["is_well"] = not problems
    return f"{json.dumps(told)}\n"


def format_screen(site: SiteLook, problems: Sequence[Problem]) -> str:
    """Return a site as lines; the last ones say whether all is well."""
    stored = site.stored
    parts = [
        _format_bridges(site.bridges),
        _format_jobs(site.jobs, site.at_ms),
        _format_tables(stored.tables, site.at_ms),
        "\n".join(
            (
                f"quarantine, last hour: {_format_reasons(site)}",
                f"last maintenance: {_format_maintenance(stored, site.at_ms)}",
                f"last check: {_format_run(stored.checks, site.at_ms)}",
                *(f"not looked at: {one}" for one in site.not_looked_at),
            )
        ),
        "\n".join(_conclude(site, problems)),
    ]
    answers = "answers" if site.kafka_fault is None else "does not answer"
    at = format_log_time(site.at_ms / MS_PER_S)
    head = f"{at}  Kafka {site.kafka_servers}: {answers}"
    return "\n\n".join([head, *(one for one in parts if one), ""]).rstrip("\n") + "\n"


def _conclude(site: SiteLook, problems: Sequence[Problem]) -> Iterator[str]:
    if problems:
        for one in problems:
            yield make_printable(f"not well: {one.as_line()}")
    else:
        yield f"{WELL}, as far as was looked at" if site.not_looked_at else WELL


def _format_bridges(bridges: Sequence[BridgeLook]) -> str:
    if not bridges:
        return ""
    names = ("bridge", "state", "pushes/s", "refused/s", "accepted", "refused")
    rows = [
        (
            one.address,
            "ready" if one.is_ready else one.said,
            one.accepted_per_s,
            one.refused_per_s,
            _number(one.accepted),
            _number(one.refused),
        )
        for one in bridges
    ]
    return format_table(names, rows, max_width=48)


def _format_jobs(jobs: Sequence[JobLook], at_ms: int) -> str:
    if not jobs:
        return ""
    names = ("job", "topic", "state", "records behind", "seconds", "last commit")
    return format_table(names, [_job_row(one, at_ms) for one in jobs])


def _job_row(job: JobLook, at_ms: int) -> tuple[object, ...]:
    look = job.topic_look
    state = _RUNNING[job.is_running] if job.was_started else NEVER
    waited: float | None = None
    if look is not None and look.has_topic:
        waited = 0.0
        if look.unread:
            since_ms = look.waiting_since_ms
            waited = None if since_ms is None else (at_ms - since_ms) / MS_PER_S
    return (
        job.name,
        job.topic if look is None or look.has_topic else f"{job.topic} (is missing)",
        state if job.was_started is not None else "-",
        _number(look.unread if look else None),
        Number("-" if waited is None else f"{max(0.0, waited):,.1f}"),
        _format_age(job.committed_ms, at_ms),
    )


def _format_tables(tables: Sequence[TableLook], at_ms: int) -> str:
    if not tables:
        return ""
    names = ("table", "rows", "files", "size", "version", "last commit")
    rows = [
        (
            one.name,
            _number(one.rows),
            _number(one.files),
            Number(_format_size(one.bytes)),
            _number(one.version),
            _format_age(one.committed_ms, at_ms) if one.is_there else "is missing",
        )
        for one in tables
    ]
    return format_table(names, rows)


def _format_reasons(site: SiteLook) -> str:
    reasons = site.stored.quarantined
    if reasons is None:
        return "-"
    return ", ".join(f"{n:,} {reason}" for reason, n in reasons.items()) or "nothing"


def _format_maintenance(stored: StoredLook, at_ms: int) -> str:
    told = _format_run(stored.maintenance, at_ms)
    return f"{told} (one is under way)" if stored.is_maintained else told


def _format_run(run: RunLook | None, at_ms: int) -> str:
    if run is None:
        return NEVER
    outcome = f"{len(run.failed):,} failed" if run.failed else "well"
    told = f"{_format_age(run.began_ms, at_ms)}, {outcome}"
    if run.completed_ms is not None and run.completed_ms >= run.began_ms:
        return told
    return f"{told}, not at its end"


def _number(value: int | None) -> Number:
    return Number("-" if value is None else f"{value:,}")


def _format_age(moment_ms: int | None, at_ms: int) -> str:
    """Return how long ago a moment was: 12 s ago, 3 h ago."""
    if moment_ms is None:
        return NEVER
    seconds = max(0, at_ms - moment_ms) // MS_PER_S
    for size, unit in _UNITS:
        if seconds >= _FROM_UNITS * size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"


def _format_size(size: int | None) -> str:
    if size is None:
        return "-"
    value = float(size)
    for unit in _SIZES[:-1]:
        if value < _STEP:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= _STEP
    return f"{value:.1f} {_SIZES[-1]}"
