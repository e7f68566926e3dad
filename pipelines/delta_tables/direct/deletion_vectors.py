"""Marks rows of a table's files as deleted, without a job of Spark.

Delta finds the rows of its own statements by a join and makes their sets in two more
jobs. Here the rows are known by file and place: sets of them are made in Python, united
with those that a file has already, and stored in one file of the table.
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipelines.delta_tables.java_classes import find_class, find_object
from pipelines.errors import IncompatibleTable
from udfs.files.row_bitmaps import MalformedBitmap, Rows, read_rows, write_rows

from .delta_transactions import DELTA, find_files

FILE_PATH, ROW_INDEX = "file_path", "row_index"
LOCAL = "file"
"""Scheme of the files of this machine, which may be left out."""
_NO_PREFIX = ""
_SIZE, _CRC = struct.Struct(">i"), struct.Struct(">I")


class StoredVectors:
    """The deletion vectors of one version of a table, each read once."""

    def __init__(self, jvm: Any, snapshot: Any) -> None:  # noqa: ANN401 - objects of the JVM
        """Read nothing yet.

        Args:
            jvm: As py4j has it.
            snapshot: The version of the table.
        """
        self._jvm, self._snapshot = jvm, snapshot
        self._table = snapshot.deltaLog().dataPath()
        self._read: dict[str, Rows] = {}

    def read(self, vector: Any) -> Rows:  # noqa: ANN401 - an object of the JVM
        """Return the rows that a deletion vector marks, in order.

        Args:
            vector: The descriptor that a file of the table has.
        Raises: MalformedBitmap where the stored bytes are not what was written.
        """
        name = vector.uniqueId()
        if name not in self._read:
            self._read[name] = read_rows(self._load(vector))
        return self._read[name]

    def _load(self, vector: Any) -> bytes:  # noqa: ANN401 - an object of the JVM
        """Return the bytes of a set; what is on this machine is read from here.

        An answer of py4j with more than 8 KiB takes 40 ms, since it comes in two parts
        and the second waits until the first is acknowledged.
        """
        if vector.isOnDisk():
            place = vector.absolutePath(self._table).toUri()
            if (place.getScheme() or LOCAL) == LOCAL:
                begin = vector.offset().get() if vector.offset().isDefined() else 0
                size = vector.sizeInBytes()
                return _read_stored(Path(place.getPath()), begin, size)
        vectors = f"{DELTA}.deletionvectors"
        portable = find_object(self._jvm, f"{vectors}.RoaringBitmapArrayFormat")
        stored = find_object(self._jvm, f"{vectors}.StoredBitmap")
        store = _open_store(self._jvm, self._snapshot)
        rows = stored.create(vector, self._table).load(store)
        return bytes(rows.serializeAsByteArray(portable.Portable()))


def _read_stored(path: Path, begin: int, size: int) -> bytes:
    """Read a set from a file of them.

    Source: the Delta protocol, "Deletion Vector File Storage Format": size, bytes and
    CRC-32, big-endian.
    """
    with path.open("rb") as file:
        file.seek(begin)
        read = file.read(_SIZE.size + size + _CRC.size)
    if len(read) != _SIZE.size + size + _CRC.size or _SIZE.unpack_from(read)[0] != size:
        raise MalformedBitmap(f"{path}: no {size} bytes at {begin}")
    data = read[_SIZE.size : -_CRC.size]
    if _CRC.unpack(read[-_CRC.size :])[0] != zlib.crc32(data):
        raise MalformedBitmap(f"{path}: checksum of the set at {begin} is wrong")
    return data


def mark_rows(
    jvm: Any,  # noqa: ANN401 - as py4j has it
    snapshot: Any,  # noqa: ANN401 - an object of the JVM
    known: StoredVectors,
    places: pa.Table,
) -> Iterator[Any]:
    """Mark rows; return the actions that say so, whose commit makes it true.

    Args:
        jvm: As py4j has it.
        snapshot: The version of the table in which the places are.
        known: The deletion vectors of that version.
        places: FILE_PATH and ROW_INDEX of rows that are there.
    Raises: IncompatibleTable where a file does not say how many rows it has.
    """
    by_name: dict[str, Rows] = {}
    for name, rows in _group_by_file(places):
        # Spark and Delta may spell the way to one file differently.
        by_name[name] = np.union1d(by_name.get(name, rows), rows)
    if not by_name:
        return
    stored = []
    files = list(find_files(jvm, snapshot, by_name))
    if len(files) != len(by_name):
        raise RuntimeError("rows are to be marked in files that the table has not")
    for file in files:
        rows = by_name[file.path().rpartition("/")[2]]
        if file.deletionVector() is not None:
            rows = np.union1d(rows, known.read(file.deletionVector()))
        total = file.numPhysicalRecords()
        if total.isEmpty():
            raise IncompatibleTable(
                f"file {file.path()} has no statistics, and Delta marks no rows in "
                f"such; rewrite it, by OPTIMIZE or UPDATE"
            )
        if total.get() == len(rows):
            yield file.remove()
            continue
        stored.append((file, write_rows(rows), len(rows)))
    yield from _store(jvm, snapshot, stored)


def _store(
    jvm: Any,  # noqa: ANN401 - as py4j has it
    snapshot: Any,  # noqa: ANN401 - an object of the JVM
    vectors: list[tuple[Any, bytes, int]],
) -> Iterator[Any]:
    """Write the rows marked in files into one file; return the actions of each."""
    if not vectors:
        return
    option = find_class(jvm, "scala.Option")
    log = snapshot.deltaLog()
    configuration = log.newDeltaHadoopConf()
    homes = find_class(jvm, f"{DELTA}.util.PathWithFileSystem")
    home = homes.withConf(log.dataPath(), configuration)
    store = _open_store(jvm, snapshot)
    file_id = find_class(jvm, "java.util.UUID").randomUUID()
    path = store.generateFileNameInTable(home, file_id, _NO_PREFIX)
    descriptors = find_object(jvm, f"{DELTA}.actions.DeletionVectorDescriptor")
    writer = store.createWriter(path)
    try:
        places = [writer.write(data) for _, data, _ in vectors]
    finally:
        writer.close()
    for (file, data, cardinality), place in zip(vectors, places, strict=True):
        begins = option.apply(place.offset())
        made = descriptors.onDiskWithRelativePath(
            file_id, _NO_PREFIX, len(data), cardinality, begins, option.empty()
        )
        both = file.removeRows(made, True, True)
        yield both.productElement(0)
        yield both.productElement(1)


def _open_store(jvm: Any, snapshot: Any) -> Any:  # noqa: ANN401 - objects of the JVM
    stores = find_object(jvm, f"{DELTA}.storage.dv.DeletionVectorStore")
    return stores.createInstance(snapshot.deltaLog().newDeltaHadoopConf())


def _group_by_file(places: pa.Table) -> Iterator[tuple[str, Rows]]:
    """Return the rows of each file, by the last part of its path."""
    paths = places.column(FILE_PATH).combine_chunks().dictionary_encode()
    if isinstance(paths, pa.ChunkedArray):
        paths = paths.combine_chunks()
    indices = places.column(ROW_INDEX).cast(pa.int64()).to_numpy()
    which = paths.indices.to_numpy()
    for number, path in enumerate(paths.dictionary.to_pylist()):
        yield path.rpartition("/")[2], indices[np.flatnonzero(which == number)]
