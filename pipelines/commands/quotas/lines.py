"""Quotas as lines of text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipelines.commands.configs.lines import show_time
from pipelines.reading.text_tables import make_printable

from .plans import ADDITION, CHANGE, KINDS, REMOVAL

NOT_SET = "not set"
_SIGNS = {ADDITION: "+", CHANGE: "~", REMOVAL: "-"}
_SHOWN_CLIENTS = 3
"""Most clients that a line names."""

Values = Mapping[str, Any]
"""One row: column to value."""


def explain_key(
    row: Values, levels: Sequence[tuple[str, float | None]], client: str
) -> Iterator[str]:
    """Return the lines of one key of a client.

    Args:
        row: Of effective_quotas.
        levels: Path and value of each level, from 1 on; a null is not set.
        client: How the client is called.
    """
    key, limit, reason = row["quota_key"], row["limit"], row["reason"]
    is_unlimited = limit is None and row["quota_id"] is not None
    if row["level"] is not None:
        yield make_printable(f"{key} is {limit}, by {reason}")
    elif limit is not None:
        yield make_printable(f"{key} is {limit}: {reason}")
    elif is_unlimited or reason.startswith("unlimited"):
        yield f"{key} is {_explain_unlimited(levels)}"
    else:
        yield make_printable(f"{key} is not known: {reason}")
    if any(value is not None for _, value in levels):
        width = max(len(path) for path, _ in levels)
        for number, (path, value) in enumerate(levels, 1):
            shown = NOT_SET if value is None else str(value)
            mark = "  applies" if number == row["level"] else ""
            yield make_printable(f"  {number}  {path:<{width}}   {shown}{mark}")
    if limit is not None:
        yield make_printable(f"  {_explain_sharing(row)}")
    for line in (show_report(row, client), show_use(row)):
        if line:
            yield make_printable(f"  {line}")


def _explain_unlimited(levels: Sequence[tuple[str, float | None]]) -> str:
    is_set = any(value is not None for _, value in levels)
    # Of a client without an id a broker looks at its whole user alone.
    why = "nothing applies to a client without an id" if is_set else "nothing is set"
    return f"unlimited: {why}"


def _explain_sharing(row: Values) -> str:
    who = f"quota-id {row['quota_id']}" if row["quota_id"] else "by address"
    shared = count(row["shared_by"] or 0, "active instance")
    brokers, whole = row["live_brokers"], row["cluster_limit"]
    if brokers is None:
        return f"{who}, shared by {shared}; how many brokers there are is not known"
    return (
        f"{who}, shared by {shared}; {count(brokers, 'broker')}, so at most {whole} "
        f"in the cluster"
    )


def show_report(row: Values, client: str) -> str | None:
    """Return what a client reports of a key, or None where it does not."""
    average, most = row["reported_throttle_ms_avg"], row["reported_throttle_ms_max"]
    rate = row["reported_rate"]
    parts = []
    if average is not None or most is not None:
        shown = [f"{average} ms on average"] if average is not None else []
        shown += [f"{most} at most"] if most is not None else []
        parts.append(f"throttled {', '.join(shown)}")
    if rate is not None:
        parts.append(f"{rate} bytes/s")
    return f"{client} reports: {'; '.join(parts)}" if parts else None


def show_use(row: Values) -> str | None:
    """Return what the proxy has counted of all who share a limit, if anything."""
    rate, use = row.get("used_rate"), row.get("use")
    if not rate:
        return None
    part = "" if use is None else f", {use:.1%} of what one broker allows"
    return (
        f"the proxy counts {rate:.1f} bytes/s{part}; told to wait "
        f"{row['throttled_ms']:.0f} ms"
    )


def format_columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows under their names, in columns."""
    printable = [[make_printable(cell) for cell in row] for row in (names, *rows)]
    widths = [max(map(len, column)) for column in zip(*printable, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in printable
    ]


def show_limit(limit: float | None, entity_path: str | None) -> str:
    """Return a limit and whose it is."""
    return "unlimited" if limit is None else f"{limit} ({entity_path})"


def sum_up_changes(
    changed: int, observed: int, throttled: Sequence[tuple[str, float]]
) -> str:
    """Return the last line of what-if.

    Args:
        throttled: From Comparison.
    """
    line = f"{changed} of {count(observed, 'observed client')} "
    line += "changes" if changed == 1 else "change"
    shown = [
        f"{client} reports {rate} bytes/s and would be throttled"
        for client, rate in throttled[:_SHOWN_CLIENTS]
    ]
    more = len(throttled) - len(shown)
    if more:
        shown.append(f"{more} more would be throttled")
    return make_printable("; ".join([line, *shown]))


def describe_event(row: Values) -> str:
    """Return the line of one change, from quota_overview.select_quota_changes."""
    change = f"{show_value(row['before'])} -> {show_value(row['after'])}"
    moment = show_time(row["at"])
    line = f"{moment}  {row['entity_path']}  {row['quota_key']}  {change}"
    if row["not_before"] is not None:
        line += f"  (after {show_time(row['not_before'])})"
    return make_printable(line)


def describe_difference(
    kind: str, path: str, key: str, before: float | None, after: float | None
) -> list[str]:
    """Return the cells of one difference between a file and the cluster."""
    return [
        f"{_SIGNS[kind]} {path}",
        key,
        f"{show_value(before)} -> {show_value(after)}",
    ]


def list_concerned(clients: Sequence[str]) -> str:
    """Return a cell that names the first of some clients."""
    named = ", ".join(clients[:_SHOWN_CLIENTS])
    more = len(clients) - _SHOWN_CLIENTS
    if more > 0:
        named += f" and {more} more"
    return f"{count(len(clients), 'client')}: {named}" if clients else "no client"


def sum_up_plan(kinds: Sequence[str]) -> str:
    """Return the last line of a plan.

    Args:
        kinds: Of its differences.
    """
    if not kinds:
        return "no difference"
    return ", ".join(count(kinds.count(kind), kind) for kind in KINDS)


def show_value(value: float | None) -> str:
    """Return a value, or that there is none."""
    return NOT_SET if value is None else str(value)


def count(number: int, one: str, several: str | None = None) -> str:
    """Return a number of things in words."""
    return f"{number} {one if number == 1 else several or f'{one}s'}"
