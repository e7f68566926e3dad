"""Findings as paragraphs for people, and as JSON for programs."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from pipelines.counted import counted
from pipelines.reading.rule_coverage import sum_up_coverage
from pipelines.reading.text_tables import format_table, make_printable
from pipelines.settings.finding_rules import SEVERITIES

WIDTH = 88
NOTHING = "nothing was found"
_RULE_NAMES = ("RULE", "CLIENTS", "NOT-EVALUATED", "FINDINGS")
_HEAD_LINES = 2

Row = Mapping[str, Any]


def format_findings(findings: Sequence[Row], runs: Sequence[Row]) -> str:
    """Return a paragraph for each finding, and what stands below all of them."""
    parts = [format_finding(one) for one in findings]
    return "\n\n".join([*parts, "\n".join(_conclude(findings, runs))])


def format_finding(one: Row) -> str:
    """Return what was seen, since when, what to set and why, as lines."""
    words = [f"{one['severity']}: {one['rule']}", _name(one)]
    if one.get("since") is not None:
        words.append(f"since {_time(one['since'])}")
    if one.get("until") is not None:
        words.append(f"until {_time(one['until'])}")
    if one.get("silenced_until") is not None:
        words.append(
            f"silenced until {one['silenced_until']}: {one['silenced_reason']}"
        )
    body = [one["sentence"], *_advise(one), one["why"]]
    seen = ", ".join(f"{name}={text}" for name, text in sorted(one["evidence"].items()))
    tail = [f"Seen: {seen}." if seen else "", f"Source: {one['source']}."]
    lines = [make_printable(", ".join(word for word in words if word))]
    for text in (" ".join(body), " ".join(one for one in tail if one)):
        lines += _wrap(text, "  ")
    return "\n".join(lines)


def _name(one: Row) -> str:
    """Return whom a finding is about."""
    client = one["client_id"]
    about = f"`{client}`" if client is not None else one.get("logical_client", "")
    if one["principal"] is not None:
        about += f" of {one['principal']}"
    if one.get("instances", 0) > 1:
        about += f" ({counted(one['instances'], 'instance')})"
    return str(about)


def _advise(one: Row) -> Iterator[str]:
    setting, now, then = (
        one[name] for name in ("setting", "current_value", "suggested_value")
    )
    if setting is None:
        if then is not None:
            yield f"Suggested: {then}."
        return
    was = f" (now {now})" if now is not None else ""
    yield f"Set {setting}{was} to {then}." if then else f"Look at {setting}{was}."


def _conclude(findings: Sequence[Row], runs: Sequence[Row]) -> Iterator[str]:
    still = [one for one in findings if one.get("until") is None]
    counts = (
        counted(sum(one["severity"] == name for one in still), name)
        if name != "advice"
        else f"{sum(one['severity'] == name for one in still)} advice"
        for name in SEVERITIES
    )
    yield ", ".join(counts) if still else NOTHING
    if not runs:
        return
    unasked = sum(one["not_evaluated"] > 0 for one in runs)
    yield (
        f"{counted(len(runs), 'rule')} evaluated at {_time(runs[0]['evaluated_at'])}; "
        f"{unasked} of them not for all clients, for want of what they need (--rules)"
    )


def format_rules(runs: Sequence[Row]) -> str:
    """Return a table of the rules, and the coverage of each kind of client."""
    ordered = sorted(runs, key=lambda one: str(one["rule"]))
    names = ("rule", "clients", "not_evaluated", "findings")
    rows = [[one[name] for name in names] for one in ordered]
    table = format_table(_RULE_NAMES, rows).splitlines()
    lines = table[:_HEAD_LINES]
    for row, one in zip(table[_HEAD_LINES:], ordered, strict=True):
        lines.append(row)
        missing = [
            f"{name} of {counted(count, 'client')}"
            for name, count in _most(one["missing"])
        ]
        if missing:
            lines += _wrap(f"missing: {', '.join(missing)}", "    ")
    return "\n".join([*lines, "", *_tell_coverage(ordered)])


def _tell_coverage(runs: Sequence[Row]) -> Iterator[str]:
    """Yield how many rules were evaluated for each kind of client, and why not more."""
    rows = [
        {"rule": one["rule"], **cell}
        for one in runs
        for cell in one.get("coverage") or ()
    ]
    for kind in sum_up_coverage(rows):
        told = (
            f"{kind.family} {(kind.client_type or 'client').replace('_', ' ')}: "
            f"{kind.evaluated} of {counted(kind.rules, 'rule')} evaluated for "
            f"{counted(kind.clients, 'client')}"
        )
        by_reason: dict[str, list[str]] = {}
        for rule, reason in kind.not_evaluated:
            by_reason.setdefault(reason, []).append(rule)
        parts = [f"{reason}: {', '.join(names)}" for reason, names in by_reason.items()]
        yield from _wrap("; ".join([told, *parts]), "")


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        make_printable(text),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent or "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _most(missing: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(missing, key=lambda pair: (-pair[1], pair[0]))


def format_json(findings: Sequence[Row], runs: Sequence[Row]) -> str:
    """Return one JSON object: findings, and what the newest evaluation was asked of."""
    rules = [{**one, "missing": dict(one["missing"])} for one in runs]
    told = {"findings": [*findings], "rules": rules}
    return json.dumps(told, indent=2, default=_as_text, ensure_ascii=False)


def _as_text(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"a finding holds no {type(value).__name__}")


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
