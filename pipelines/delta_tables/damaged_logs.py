"""What is wrong with the log of a table: it cannot be read, or is not there.

Python workers import this file; it needs the standard library and our errors only.
"""

import json
from pathlib import Path

from pipelines.errors import MissingTable

LOG_FOLDER = "_delta_log"
"""What makes a folder a table."""
NO_TABLE = (
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_PATH_DOES_NOT_EXIST",
    "DELTA_TABLE_NOT_FOUND",
)
"""Error conditions of Delta that say: there is no table at this place."""
_CHECKPOINT = ".checkpoint"


def find_damage(log: Path) -> str | None:
    """Return what of a log on a disk of this machine is not as Delta wrote it.

    Looks at what Delta reads: the commits behind the newest checkpoint.

    Nulls: None where all of it can be read.
    """
    covered = [
        int(path.name.partition(".")[0])
        for path in log.glob(f"*{_CHECKPOINT}*.parquet")
        if path.name.partition(".")[0].isdecimal()
    ]
    wanted = max(covered, default=-1) + 1
    for path in sorted(log.glob("*.json")):
        if not path.stem.isdecimal() or int(path.stem) < wanted:
            continue
        if int(path.stem) > wanted:
            return f"{wanted:020}.json is missing"
        if not _is_commit(path):
            return f"{path.name} cannot be read"
        wanted += 1
    return None


def _is_commit(path: Path) -> bool:
    try:
        actions = [json.loads(line) for line in path.read_bytes().splitlines() if line]
    except ValueError:
        return False
    return bool(actions) and all(isinstance(action, dict) for action in actions)


def gone_table(name: str, location: str) -> MissingTable:
    """Return what to raise where a table was deleted below its writer."""
    return MissingTable(
        f"table {name} at {location} is gone: it was deleted below the running job"
    )
