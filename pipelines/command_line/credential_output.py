"""Where the line of a credential goes: to a file of its owner's, or to who asked."""

import os
import stat
import sys

from pipelines.errors import InvalidSetting

_OWNER_ONLY = 0o600
_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH


def write_line(line: str, path: str | None) -> None:
    """Add a line to a file, or print it; warn where others may read it.

    Args:
        line: Of a file of credentials.
        path: The file; None prints.
    Raises: InvalidSetting where the file cannot be written.
    """
    if path is None:
        print(line, flush=True)
        status, name = os.fstat(sys.stdout.fileno()), "the file that this is written to"
        hint = "--output FILE makes one of its owner's; "
    else:
        status, name, hint = _append(line, path), path, ""
    if stat.S_ISREG(status.st_mode) and status.st_mode & _OTHERS_READ:
        print(
            f"kafka-clientele: others may read {name} (mode "
            f"{stat.S_IMODE(status.st_mode):o}), and with it guess passwords: "
            f"{hint}chmod 600 closes it",
            file=sys.stderr,
        )


def _append(line: str, path: str) -> os.stat_result:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _OWNER_ONLY)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{line}\n")
            return os.fstat(descriptor)
    except OSError as error:
        raise InvalidSetting(
            f"--output {path}: cannot be written ({error.strerror})"
        ) from None
