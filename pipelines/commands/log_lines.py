"""The log of a command: lines as those of the bridge and of Spark."""

import logging
from typing import IO

from pipelines.log_times import format_log_time

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class LineFormatter(logging.Formatter):
    """Time in UTC, level, name and text."""

    def __init__(self) -> None:
        super().__init__(_FORMAT)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's own name
        """Return when the record was made."""
        del datefmt  # there is one format
        return format_log_time(record.created)


def log_to(stream: IO[str]) -> None:
    """Write what all loggers say from INFO on."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
