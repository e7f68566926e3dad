"""How far a streaming query is, and whether its job runs, by files of this machine.

`streaming.query_progress` reads the same by Hadoop's file systems, in a driver. Spark
plans a micro-batch in `offsets/N` and, once it is written, notes it in `commits/N`.
Files are there or not, never half: Spark renames them. A claim is asked about, never
taken: a job that starts at that moment would find it taken.
"""

import fcntl
import json
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .site import MS_PER_S

_PLANNED, _COMMITTED = "offsets", "commits"
_FIRST = "sources/0/0"
_START = "kafka_clientele/start.json"
"""File of ours inside a checkpoint location, see `streaming.starts`."""
_FLOCK = {
    # struct flock of <fcntl.h>: its form, and the place of its type. Of all else zero
    # is right: the whole file.
    "linux": ("@hhqqi4x", 0),
    "darwin": ("@qqihh", 3),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalProgress:
    """Where a query stands between two of its micro-batches."""

    position: Mapping[int, int]
    """Partition to the first offset that is in no committed micro-batch; partitions
    that are not in it are read from their beginning."""
    committed_ms: int | None
    """When a micro-batch was last committed; null where none ever was."""


def read_progress(checkpoint_location: Path, topic: str) -> LocalProgress | None:
    """Return how far the query of a checkpoint location has come in a topic.

    Nulls: None where no job was ever started with it.
    """
    if not (checkpoint_location / _START).exists():
        return None
    planned, committed = (
        _numbers(checkpoint_location / one) for one in (_PLANNED, _COMMITTED)
    )
    newest = max(planned, default=None)
    last = max(committed, default=None)
    if newest is not None and newest not in committed:
        newest -= 1
    position: Mapping[int, int] = {}
    if newest is not None and newest in planned:
        position = _read_offsets(planned[newest], topic)
    elif (checkpoint_location / _FIRST).exists():
        position = _read_offsets(checkpoint_location / _FIRST, topic)
    else:
        start = json.loads((checkpoint_location / _START).read_text(encoding="utf-8"))
        position = _with_partitions(start["starting_offsets"])
    return LocalProgress(
        # Spark's sign for "the oldest" is negative.
        position={number: offset for number, offset in position.items() if offset >= 0},
        committed_ms=None
        if last is None
        else int(committed[last].stat().st_mtime * MS_PER_S),
    )


def _numbers(folder: Path) -> dict[int, Path]:
    if not folder.exists():
        return {}
    return {int(one.name): one for one in folder.iterdir() if one.name.isdecimal()}


def _read_offsets(path: Path, topic: str) -> dict[int, int]:
    """Return the offsets of the last line of a file, which are of the one source."""
    by_topic = json.loads(path.read_text(encoding="utf-8").strip().splitlines()[-1])
    return _with_partitions(by_topic.get(topic, {}))


def _with_partitions(offsets: Mapping[str, int]) -> dict[int, int]:
    return {int(partition): offset for partition, offset in offsets.items()}


def is_claimed(folder: Path, job_name: str) -> bool | None:
    """Say whether a running job holds the claim of a folder, see `table_claims`.

    Nulls: None where the file may not be read, or the system is not known.
    """
    layout = _FLOCK.get(sys.platform)
    if layout is None:
        return None
    form, place = layout
    fields = [0, 0, 0, 0, 0]
    fields[place] = fcntl.F_WRLCK
    try:
        with (folder / f".{job_name}.lock").open("rb") as file:
            told = fcntl.fcntl(file, fcntl.F_GETLK, struct.pack(form, *fields))
    except FileNotFoundError:
        return False
    except OSError:
        return None
    return bool(struct.unpack(form, told)[place] != fcntl.F_UNLCK)
