"""Commits data files that the job has written itself to a Delta table, once.

Spark's writer would make a row of each point and a column of each row again. The files
are made by `udfs.files`, and stored by the workers or, from their bytes, here by
Hadoop. They enter the table by a transaction of Delta's own: it finds conflicts, skips
a micro-batch that the table has, and writes checkpoints. What Delta's
writer does beyond that (constraints, generated columns, mapped columns) it cannot do
for these files, so a table that wants it is refused.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables.batch_files import INLINE_BYTES, BatchFiles
from pipelines.delta_tables.locations import check_is_there, open_path
from pipelines.delta_tables.transactions import Transaction
from pipelines.errors import IncompatibleTable
from pipelines.tables.contract import TableContract

from .delta_transactions import (
    MILLISECOND_NS,
    as_scala,
    parse_actions,
    read_transaction,
    start_transaction,
    streaming_update,
)
from .fit import find_unknown
from .local_files import name_file


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """One file on its way into a table."""

    event_date: date
    """Its partition."""
    statistics: str
    """JSON, as an add action has it."""
    size: int
    """Bytes."""
    path: str | None
    """Below the folder of the table, where it is stored already."""
    content: bytes | None
    """Parquet, where it is not."""


def read_file(row: Row) -> NewFile:
    """Return a file from a row that names all of these."""
    return NewFile(
        event_date=row["event_date"],
        statistics=row["statistics"],
        size=row["size"],
        path=row["path"],
        content=None if row["content"] is None else bytes(row["content"]),
    )


def iter_files(batch: BatchFiles, table: str) -> Iterator[NewFile]:
    """Return the files of a table, the large ones fetched as they are asked for."""
    wanted = [row for row in batch.listed if row["table"] == table]
    for row in wanted:
        if not _is_apart(row):
            yield read_file(row)
    if not any(map(_is_apart, wanted)):
        return
    is_large = F.octet_length("content") > INLINE_BYTES
    of_table = batch.encoded.where((F.col("table") == table) & is_large)
    for row in of_table.toLocalIterator():
        yield read_file(row)


def _is_apart(row: Row) -> bool:
    """Say whether the bytes of a file are still to be fetched."""
    return row["path"] is None and row["content"] is None


def append_files(
    spark: SparkSession,
    contract: TableContract,
    location: str,
    files: Iterable[NewFile],
    transaction: Transaction,
) -> None:
    """Append the files of a micro-batch to a table, unless it has them already.

    Args:
        contract: What the table promises; it is partitioned by event_date.
        location: Folder of the table.
        files: Read once, one at a time.
        transaction: The micro-batch; Delta keeps the newest one with the table.
    Raises: IncompatibleTable where the table asks for what these files cannot have;
        MissingTable where it was deleted.
    """
    check_is_there(spark, contract.name, location)
    jvm, started = start_transaction(spark, location)
    app_id, version = transaction.app_id(contract, "append"), transaction.batch_id
    known = transaction.known_app_ids(contract, "append")
    if any(read_transaction(started, one) >= version for one in known):
        discard_files(spark, location, files)
        return
    try:
        check_writable(contract, location, started.metadata().json())
    except IncompatibleTable:
        discard_files(spark, location, files)
        raise
    now_ms = time.time_ns() // MILLISECOND_NS
    seen = {"appId": app_id, "version": version, "lastUpdated": now_ms}
    actions: list[dict[str, object]] = [{"txn": seen}]
    actions += [store_file(spark, contract, location, file) for file in files]
    started.commit(
        as_scala(jvm, parse_actions(jvm, actions)),
        streaming_update(jvm, transaction.query_id, transaction.batch_id),
    )


def discard_files(spark: SparkSession, location: str, files: Iterable[NewFile]) -> None:
    """Delete stored files that do not enter the table whose folder this is."""
    for file in files:
        if file.path is not None:
            file_system, path = open_path(spark, f"{location}/{file.path}")
            file_system.delete(path, False)


def check_writable(contract: TableContract, location: str, metadata: str) -> None:
    """Refuse a table whose writers must do more than write its columns."""
    found = find_unknown(metadata)
    if found is not None:
        raise IncompatibleTable(
            f"table {contract.name} at {location}: the job writes its files itself and "
            f"cannot heed {found}; take it away, or set tables.writer to spark"
        )


def store_file(
    spark: SparkSession, contract: TableContract, location: str, file: NewFile
) -> dict[str, Any]:
    """See that a file is in the table's folder; return the action that adds it.

    Args:
        contract: What the table promises; it is partitioned by event_date.
        location: Folder of the table.
        file: Stored already, or its content.
    """
    partition = contract.partition_by[0]
    relative = file.path or name_file(partition, file.event_date)
    if file.content is not None:
        file_system, path = open_path(spark, f"{location}/{relative}")
        stream = file_system.create(path, False)
        try:
            stream.write(file.content)
        finally:
            stream.close()
    return {
        "add": {
            "path": relative,
            "partitionValues": {partition: file.event_date.isoformat()},
            "size": file.size,
            "modificationTime": time.time_ns() // MILLISECOND_NS,
            "dataChange": True,
            "stats": file.statistics,
        }
    }
