"""The clock of records, and timestamps in logs: ISO 8601, UTC, milliseconds."""

import datetime as dt
import time

_NS_PER_MS = 1_000_000


def read_clock_ms() -> int:
    """Return milliseconds since 1970-01-01T00:00:00Z."""
    return time.time_ns() // _NS_PER_MS


def format_log_time(seconds: float) -> str:
    """Return a moment as 2026-03-01T06:00:00.000Z.

    Args:
        seconds: Since 1970, as a log record has it.
    """
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
