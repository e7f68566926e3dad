"""quotas top: the limits that clients use most."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from pyspark.sql import Row

from pipelines.commands.configs.lines import show_time

from .lines import format_columns

MOST_LINES = 20
"""Limits that are printed as text; JSON has all."""
_NAMES = (
    *("USE", "PRINCIPAL", "CLIENT-ID", "KEY", "LIMIT", "USED", "THROTTLED", "BY"),
    "MEASURED",
)


def describe_top(rows: Sequence[Row], counted_until: datetime | None) -> Iterator[str]:
    """Return the lines of limits.

    Args:
        rows: From quota_overview.select_top.
        counted_until: End of the proxy's newest counts; None: it counted nothing.
    """
    if rows:
        yield from format_columns(_NAMES, [_cells(row) for row in rows[:MOST_LINES]])
    else:
        yield "No client is known to use any quota now"
    more = len(rows) - MOST_LINES
    if more > 0:
        yield f"and {more} more"
    if counted_until is None:
        yield "The proxy has not counted any traffic in this cluster"
    else:
        yield f"The proxy last counted until {show_time(counted_until)}"


def _cells(row: Row) -> list[str]:
    others = row["clients"] - 1
    client_id = row["client_id"] + (f" and {others} more" if others else "")
    limit, use, rate = row["limit"], row["use"], row["used_rate"]
    return [
        "-" if use is None else f"{use:.1%}",
        row["principal"],
        client_id,
        row["quota_key"],
        "unlimited" if limit is None else f"{limit}",
        "-" if rate is None else f"{rate:.1f}",
        f"{row['throttled_ms'] or 0:.0f} ms",
        row["entity_path"] or "-",
        row["basis"] or "-",
    ]
