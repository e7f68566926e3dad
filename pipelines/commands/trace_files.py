"""The files of traces of Spark commands, of which the newest are kept."""

import os
from datetime import UTC, datetime
from pathlib import Path

FILES_KEPT = 20
DETAILS_VARIABLE = "KAFKA_CLIENTELE_DETAILS"
"""Names the file of this process; see conf/log4j2.properties."""


def name_trace_file() -> str:
    """Return the name of the file of this process; names sort by time."""
    return f"{datetime.now(tz=UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}.log"


def tell_details(path: str) -> str:
    """Say where the traces of this process are, where there are any.

    Args:
        path: The value of DETAILS_VARIABLE; empty where it has none.
    """
    has_any = path and Path(path).is_file() and Path(path).stat().st_size
    return f" (details: {path})" if has_any else ""


def remove_old_files(folder: Path) -> None:
    """Remove all files of traces but the newest, and those of running commands.

    Raises: OSError.
    """
    for path in sorted(folder.glob("*Z-*.log"))[:-FILES_KEPT]:
        if not _is_running(path.stem.rpartition("-")[2]):
            path.unlink(missing_ok=True)


def _is_running(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        return True  # another user's
    return True
