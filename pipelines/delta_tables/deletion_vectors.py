"""Marks rows of a table's files as deleted, without a job of Spark.

Delta finds the rows of its own statements by a join and makes their sets in two more
jobs. Here the rows are known by file and place: sets of them are made in Python, united
with those that a file has already, and stored in one file of the table.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from pipelines.errors import IncompatibleTable
from udfs.row_bitmaps import Rows, write_rows

from .delta_transactions import companion, find_files

FILE_PATH, ROW_INDEX = "file_path", "row_index"
_NO_PREFIX = ""


def mark_rows(jvm: Any, snapshot: Any, places: pa.Table) -> Iterator[Any]:  # noqa: ANN401 - objects of the JVM
    """Mark rows; return the actions that say so, whose commit makes it true.

    Args:
        jvm: As py4j has it.
        snapshot: The version of the table in which the places are.
        places: FILE_PATH and ROW_INDEX of rows that are there.
    Raises: IncompatibleTable where a file does not say how many rows it has.
    """
    by_name: dict[str, Rows] = {}
    for name, rows in _group_by_file(places):
        # Spark and Delta may spell the way to one file differently.
        by_name[name] = np.union1d(by_name.get(name, rows), rows)
    if not by_name:
        return
    vectors = jvm.org.apache.spark.sql.delta.deletionvectors
    portable = companion(vectors, "RoaringBitmapArrayFormat").Portable()
    stored = []
    files = list(find_files(jvm, snapshot, by_name))
    if len(files) != len(by_name):
        raise RuntimeError("rows are to be marked in files that the table has not")
    for file in files:
        rows = by_name[file.path().rpartition("/")[2]]
        marked = vectors.RoaringBitmapArray.readFrom(write_rows(rows))
        if file.deletionVector() is not None:
            marked.merge(_load(jvm, snapshot, file.deletionVector()))
        total = file.numPhysicalRecords()
        if total.isEmpty():
            raise IncompatibleTable(
                f"file {file.path()} has no statistics, and Delta marks no rows in "
                f"such; rewrite it, by OPTIMIZE or UPDATE"
            )
        if total.get() == marked.cardinality():
            yield file.remove()
            continue
        marked.runOptimize()
        data = marked.serializeAsByteArray(portable)
        stored.append((file, data, marked.cardinality()))
    yield from _store(jvm, snapshot, stored)


def _store(
    jvm: Any,  # noqa: ANN401 - as py4j has it
    snapshot: Any,  # noqa: ANN401 - an object of the JVM
    vectors: list[tuple[Any, bytes, int]],
) -> Iterator[Any]:
    """Write the rows marked in files into one file; return the actions of each."""
    if not vectors:
        return
    delta, option = jvm.org.apache.spark.sql.delta, jvm.scala.Option
    log = snapshot.deltaLog()
    configuration = log.newDeltaHadoopConf()
    home = delta.util.PathWithFileSystem.withConf(log.dataPath(), configuration)
    store = _open_store(jvm, snapshot)
    file_id = jvm.java.util.UUID.randomUUID()
    path = store.generateFileNameInTable(home, file_id, _NO_PREFIX)
    descriptors = companion(delta.actions, "DeletionVectorDescriptor")
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


def read_vector(jvm: Any, snapshot: Any, vector: Any) -> bytes:  # noqa: ANN401 - objects of the JVM
    """Return the rows that a deletion vector marks, as udfs.row_bitmaps reads them."""
    vectors = jvm.org.apache.spark.sql.delta.deletionvectors
    portable = companion(vectors, "RoaringBitmapArrayFormat").Portable()
    return bytes(_load(jvm, snapshot, vector).serializeAsByteArray(portable))


def _load(jvm: Any, snapshot: Any, vector: Any) -> Any:  # noqa: ANN401 - objects of the JVM
    vectors = jvm.org.apache.spark.sql.delta.deletionvectors
    stored = companion(vectors, "StoredBitmap")
    table = snapshot.deltaLog().dataPath()
    return stored.create(vector, table).load(_open_store(jvm, snapshot))


def _open_store(jvm: Any, snapshot: Any) -> Any:  # noqa: ANN401 - objects of the JVM
    storage = jvm.org.apache.spark.sql.delta.storage.dv
    configuration = snapshot.deltaLog().newDeltaHadoopConf()
    return companion(storage, "DeletionVectorStore").createInstance(configuration)


def _group_by_file(places: pa.Table) -> Iterator[tuple[str, Rows]]:
    """Return the rows of each file, by the last part of its path."""
    paths = places.column(FILE_PATH).combine_chunks().dictionary_encode()
    if isinstance(paths, pa.ChunkedArray):
        paths = paths.combine_chunks()
    indices = places.column(ROW_INDEX).cast(pa.int64()).to_numpy()
    which = paths.indices.to_numpy()
    for number, path in enumerate(paths.dictionary.to_pylist()):
        yield path.rpartition("/")[2], indices[np.flatnonzero(which == number)]
