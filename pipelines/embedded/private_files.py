"""Files that only their owner reads, and files that appear whole or not at all."""

import os
import tempfile
from pathlib import Path

_OWNER_ONLY = 0o600


def write_private(path: Path, text: str) -> None:
    """Write a new file of mode 600; its content is never wider readable."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, _OWNER_ONLY)
        file.write(text)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that parallel readers see complete or not at all."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
