"""Copied files of a metadata log: which there are, and their batches.

Strategy: names say what a file is and where it begins, as Kafka names them; what is not
finished, or on its way out, says so by its name as well and is passed over. A file is
read piece by piece: a snapshot may be larger than memory.
Source: KIP-630; Snapshots.java, LogFileUtils.java and MetaProperties of Kafka 4.3.1.
"""

import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .record_batches import BatchStream, MalformedBatches, RecordBatch, UnreadableBatch

_SNAPSHOT_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_SEGMENT_NAME = re.compile(r"(\d{20})\.log")
_UNFINISHED = (".part", ".deleted", ".cleaned", ".swap")
_PROPERTIES_NAME = "meta.properties"
_CLUSTER_ID = re.compile(r"^\s*cluster\.id\s*[=:]\s*(\S+)\s*$", re.MULTILINE)
_PIECE_BYTES = 1 << 20

NO_BATCHES, CUT_OFF = "no_batches", "cut_off"
"""Why a file is not read on: other bytes stand there; a batch is not all there."""


class BatchFault(NamedTuple):
    """In the place of a batch that could not be read."""

    reason: str


Batches = Iterator[RecordBatch | BatchFault]


class Segment(NamedTuple):
    """A part of the log itself."""

    base_offset: int
    path: Path


class Snapshot(NamedTuple):
    """What was so before some offset."""

    end_offset: int
    epoch: int
    path: Path


class LogFiles(NamedTuple):
    """What is there to read, in the order of offsets."""

    segments: list[Segment]
    snapshots: list[Snapshot]
    passed_over: list[Path]
    """Files whose names say that they are not finished, or nothing that is known."""


def find_files(paths: Sequence[Path]) -> LogFiles:
    """Find the files of a log.

    Args:
        paths: Files, and folders of which all files of a log are meant.
    Raises: OSError.
    """
    found = LogFiles([], [], [])
    for path in paths:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
        for one in sorted(path.iterdir()) if is_folder else [path]:
            _sort_in(one, found, is_named=not is_folder)
    return found._replace(
        segments=sorted(set(found.segments)), snapshots=sorted(set(found.snapshots))
    )


def _sort_in(path: Path, found: LogFiles, *, is_named: bool) -> None:
    snapshot = _SNAPSHOT_NAME.fullmatch(path.name)
    segment = _SEGMENT_NAME.fullmatch(path.name)
    if snapshot:
        place = Snapshot(int(snapshot[1]), int(snapshot[2]), path.resolve())
        found.snapshots.append(place)
    elif segment:
        found.segments.append(Segment(int(segment[1]), path.resolve()))
    elif is_named or path.name.endswith(_UNFINISHED):
        found.passed_over.append(path)


def find_cluster_ids(paths: Sequence[Path]) -> set[str]:
    """Return what the properties beside or above some files say of their cluster.

    Raises: OSError.
    """
    found = set()
    for path in paths:
        folder = path if path.is_dir() else path.parent
        for place in (folder, folder.resolve().parent):
            properties = place / _PROPERTIES_NAME
            if properties.is_file():
                text = properties.read_text(encoding="utf-8", errors="replace")
                found |= set(_CLUSTER_ID.findall(text))
    return found


def read_batches(path: Path) -> Batches:
    """Read a file batch by batch.

    Errors: BatchFault; behind no_batches and cut_off nothing follows.
    Raises: OSError.
    """
    stream = BatchStream()
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            stream.receive_data(piece)
            try:
                yield from _take_batches(stream)
            except MalformedBatches:
                yield BatchFault(NO_BATCHES)
                return
    if stream.waiting_bytes:
        yield BatchFault(CUT_OFF)


def _take_batches(stream: BatchStream) -> Batches:
    while True:
        try:
            batch = stream.next_batch()
        except UnreadableBatch as error:
            yield BatchFault(error.reason)
            continue
        if batch is None:
            return
        yield batch
