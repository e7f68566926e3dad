"""What is the same at every start: the bootstrap checkpoint and the class archive.

Both are made by the first start and kept by what they depend on (the jars and the
JVM), so that an update of either makes new ones. Entries appear by rename; a lock,
which the system drops with its holder, lets one of several parallel starts record the
class archive.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from .private_files import write_whole

SIGTERM_EXIT_CODE = 128 + 15
# Each set-up and each Java makes a new entry of 50 MB; older ones are of no more use.
_KEPT_ENTRIES = 3


def cache_key(java: str, jars: Iterable[Path]) -> str:
    """Return a name that changes with the JVM and with any jar.

    A JVM refuses an archive whose jars have other paths or times, hence both are in it.
    """
    digest = hashlib.sha256()
    for path in (Path(java).resolve(), *jars):
        status = path.stat()
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


class EmbeddedCache:
    """The entries of one JVM and one set of jars."""

    def __init__(self, cache_path: Path, key: str) -> None:
        """Make the folder where it is missing."""
        self._folder = cache_path / key
        self._folder.mkdir(parents=True, exist_ok=True)
        self._archive = self._folder / "classes.jsa"
        self._bootstrap = self._folder / "bootstrap.checkpoint"

    def load_bootstrap(self) -> bytes | None:
        """Return Kafka's bootstrap checkpoint without users; None before the first."""
        try:
            return self._bootstrap.read_bytes()
        except FileNotFoundError:
            return None

    def save_bootstrap(self, content: bytes) -> None:
        """Keep the checkpoint for later starts."""
        write_whole(self._bootstrap, content)

    def archive_arguments(self) -> list[str]:
        """Return the JVM's arguments for the class archive; empty before the first."""
        if not self._archive.exists():
            return []
        return [f"-XX:SharedArchiveFile={self._archive}"]

    def start_recording(self) -> "ArchiveRecording | None":
        """Return the right to record the archive; None where there is nothing to do."""
        if self._archive.exists():
            return None
        # The first start with other jars may have removed it, as one of the oldest.
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._folder / "recording.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return ArchiveRecording(self._archive, lock)


class ArchiveRecording:
    """One JVM that writes the archive when it ends; holds the lock until then."""

    def __init__(self, archive: Path, lock: int) -> None:
        """Take over a locked file descriptor."""
        self._archive = archive
        # Named after the owner: the JVM of a killed one may still be writing its own.
        self._part = archive.with_suffix(f".{os.getpid()}.part")
        self._lock = lock
        for abandoned in archive.parent.glob("*.part"):
            abandoned.unlink(missing_ok=True)

    def arguments(self) -> list[str]:
        """Return the JVM's arguments that record."""
        return [f"-XX:ArchiveClassesAtExit={self._part}"]

    def finish(self, exit_code: int) -> None:
        """Keep what was recorded if the JVM ended in order; release the lock."""
        if exit_code == SIGTERM_EXIT_CODE and self._part.exists():
            self._part.replace(self._archive)
            _remove_old_entries(self._archive.parent.parent)
        self._part.unlink(missing_ok=True)
        os.close(self._lock)


def _remove_old_entries(cache_path: Path) -> None:
    """Keep the newest entries; a JVM that runs from a removed one keeps its file."""
    newest_first = sorted(
        (path for path in cache_path.iterdir() if path.is_dir()),
        key=lambda path: path.stat().st_mtime_ns,
        reverse=True,
    )
    for path in newest_first[_KEPT_ENTRIES:]:
        shutil.rmtree(path, ignore_errors=True)
