"""Marks rows of a table's files as deleted, without a job of Spark.

Delta finds the rows of its own statements by a join and makes their sets in two more
jobs. Here the rows are known by file and place: sets of them are made in Python, united
with those that a file has already, and stored in one file of the table.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from udfs.row_bitmaps import Rows, write_rows

from .delta_transactions import companion, find_files

FILE_PATH, ROW_INDEX = "file_path", "row_index"
_NO_PREFIX = ""


def mark_rows(jvm: Any, snapshot: Any, places: pa.Table) -> Iterator[Any]:  # noqa: ANN401 - objects of the JVM
    """Mark rows; return the actions that say so, whose commit makes it true.

    Args:
        jvm: As py4j has it.
        snapshot: The version of the table in which the places are.
        places: FILE_PATH and ROW_INDEX, each row once; rows that are there.
    """
    by_name = dict(_group_by_file(places))
    if not by_name:
        return
    delta, table = jvm.org.apache.spark.sql.delta, snapshot.deltaLog().dataPath()
    configuration = snapshot.deltaLog().newDeltaHadoopConf()
    store = companion(delta.storage.dv, "DeletionVectorStore").createInstance(
        configuration
    )
    home = delta.util.PathWithFileSystem.withConf(table, configuration)
    file_id = jvm.java.util.UUID.randomUUID()
    writer = store.createWriter(
        store.generateFileNameInTable(home, file_id, _NO_PREFIX)
    )
    portable = companion(delta.deletionvectors, "RoaringBitmapArrayFormat").Portable()
    stored = companion(delta.deletionvectors, "StoredBitmap")
    descriptors = companion(delta.actions, "DeletionVectorDescriptor")
    option = jvm.scala.Option
    try:
        for file in find_files(jvm, snapshot, by_name):
            rows = by_name[file.path().rpartition("/")[2]]
            marked = delta.deletionvectors.RoaringBitmapArray.readFrom(write_rows(rows))
            known = file.deletionVector()
            if known is not None:
                marked.merge(stored.create(known, table).load(store))
            total = file.numPhysicalRecords()
            if total.isDefined() and total.get() == marked.cardinality():
                yield file.remove()
                continue
            marked.runOptimize()
            data = marked.serializeAsByteArray(portable)
            place = writer.write(data)
            made = descriptors.onDiskWithRelativePath(
                file_id,
                _NO_PREFIX,
                len(data),
                marked.cardinality(),
                option.apply(place.offset()),
                option.empty(),
            )
            both = file.removeRows(made, True, True)
            yield both.productElement(0)
            yield both.productElement(1)
    finally:
        writer.close()


def read_vector(jvm: Any, snapshot: Any, vector: Any) -> bytes:  # noqa: ANN401 - objects of the JVM
    """Return the rows that a deletion vector marks, as udfs.row_bitmaps reads them."""
    delta, log = jvm.org.apache.spark.sql.delta, snapshot.deltaLog()
    store = companion(delta.storage.dv, "DeletionVectorStore").createInstance(
        log.newDeltaHadoopConf()
    )
    stored = companion(delta.deletionvectors, "StoredBitmap")
    portable = companion(delta.deletionvectors, "RoaringBitmapArrayFormat").Portable()
    marked = stored.create(vector, log.dataPath()).load(store)
    return bytes(marked.serializeAsByteArray(portable))


def _group_by_file(places: pa.Table) -> Iterator[tuple[str, Rows]]:
    """Return the rows of each file, by the last part of its path."""
    paths = places.column(FILE_PATH).combine_chunks().dictionary_encode()
    if isinstance(paths, pa.ChunkedArray):
        paths = paths.combine_chunks()
    indices = places.column(ROW_INDEX).cast(pa.int64()).to_numpy()
    which = paths.indices.to_numpy()
    for number, path in enumerate(paths.dictionary.to_pylist()):
        yield path.rpartition("/")[2], indices[np.flatnonzero(which == number)]
