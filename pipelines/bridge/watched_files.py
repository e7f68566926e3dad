"""Some files that are read together, and whether they have changed."""

from collections.abc import Callable
from pathlib import Path

Stamp = tuple[tuple[int, int, int] | None, ...]


class WatchedFiles:
    """Files behind one setting, since they were last looked at."""

    def __init__(
        self, key: str, paths: tuple[Path, ...], load: Callable[[], None]
    ) -> None:
        """Look at the files for the first time.

        Args:
            key: The setting that names them.
            paths: The files.
            load: Reads them.
        """
        self.key = key
        self.load = load
        self._paths = paths
        self._stamp = self._look()

    def has_changed(self) -> bool:
        """Say whether any file is another one than at the last look."""
        before, self._stamp = self._stamp, self._look()
        return self._stamp != before

    def _look(self) -> Stamp:
        return tuple(_stamp(path) for path in self._paths)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file does; None for one that is not there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)
