"""What tables have committed, read from their logs while others write them."""

import contextlib
import json
import time
from dataclasses import dataclass
from pathlib import Path

LOOK_S = 0.01


@dataclass(frozen=True)
class Commit:
    """One version of a table."""

    table: str
    version: int
    operation: str
    """As Delta's commitInfo names it; empty where it says nothing."""


class CommitWatch:
    """Tells the versions that tables have got since it was made."""

    def __init__(self, root):
        """Take the folder that holds the tables."""
        self._root = Path(root)
        self._seen = set(self._list())

    def _list(self):
        return self._root.glob("*/_delta_log/*.json")

    def read_new(self):
        """Return the commits that nobody has asked for yet, by version."""
        new = sorted(set(self._list()) - self._seen, key=lambda one: one.name)
        self._seen.update(new)
        return [_read(path) for path in new]

    def wait_for(self, is_wanted, is_over):
        """Return the first commit that is wanted; None where it is over before.

        Args:
            is_wanted: Told each new commit.
            is_over: Asked between two looks.
        """
        while True:
            has_ended = is_over()
            for commit in self.read_new():
                if is_wanted(commit):
                    return commit
            if has_ended:
                return None
            time.sleep(LOOK_S)


def _read(path):
    operation = ""
    with contextlib.suppress(FileNotFoundError):  # the log was cleaned up meanwhile
        for line in path.read_text(encoding="utf-8").splitlines():
            info = json.loads(line).get("commitInfo")
            if info:
                operation = info.get("operation", "")
    return Commit(path.parent.parent.name, int(path.stem), operation)
