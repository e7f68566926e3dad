"""Texts for those who take files only, such as OpenSSL its own key and certificate."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OPEN_FILES = Path("/proc/self/fd")


@contextmanager
def as_file(text: str) -> Iterator[str]:
    """Give the place of a file that holds a text, for as long as it is needed.

    It is in memory and on no disk where the system can do that (Linux); elsewhere in a
    folder that nobody else can open.

    Raises: OSError where there is no place for such a folder either.
    """
    descriptor = _open_memory()
    if descriptor is not None:
        try:
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                file.write(text.encode())
            yield str(_OPEN_FILES / str(descriptor))
        finally:
            os.close(descriptor)
        return
    with tempfile.TemporaryDirectory(prefix="kafka-clientele-") as folder:
        path = Path(folder) / "text"
        path.write_text(text, encoding="utf-8")
        yield str(path)


def _open_memory() -> int | None:
    """Return the descriptor of a new file in memory; None where there is no such."""
    # Python built for an old libc does not have it, and a sandbox may deny the call.
    create = getattr(os, "memfd_create", None)
    if create is None or not _OPEN_FILES.is_dir():
        return None
    try:
        return int(create("kafka-clientele"))
    except OSError:
        return None
