"""What an archive of a JVM's classes depends on."""

import hashlib
from collections.abc import Iterable
from pathlib import Path


def archive_key(java: str, jars: Iterable[Path]) -> str:
    """Return a name that changes with the JVM and with any jar.

    A JVM refuses an archive whose jars have other paths or times, hence both are in it.
    """
    digest = hashlib.sha256()
    for path in (Path(java).resolve(), *jars):
        status = path.stat()
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
