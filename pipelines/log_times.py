"""How every log of the product writes a moment: ISO 8601, UTC, milliseconds."""

import datetime as dt


def format_log_time(seconds: float) -> str:
    """Return a moment as 2026-03-01T06:00:00.000Z.

    Args:
        seconds: Since 1970, as a log record has it.
    """
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
