"""Commits data files that the job has written itself to a Delta table, once.

Spark's writer would make a row of each point and a column of each row again. The files
are made by `udfs.table_files`, and come here as bytes; they are stored by Hadoop, as
everything else is, and enter the table by a transaction of Delta's own: it finds
conflicts, skips a micro-batch that the table has, and writes checkpoints. What Delta's
writer does beyond that (constraints, generated columns, mapped columns) it cannot do
for these files, so a table that wants it is refused.
"""

import json
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from pyspark.sql import SparkSession

from .errors import IncompatibleTable
from .sinks import Transaction
from .table_locations import open_path
from .tables import TableContract

_UNKNOWN_TO_US = (
    "delta.constraints.",
    "delta.columnMapping.mode",
    "delta.enableIcebergCompatV",
)
"""Table properties, by their beginnings, of what only Delta's writer can do."""
_UNKNOWN_IN_SCHEMA = (
    "delta.generationExpression",
    "delta.identity.",
    "delta.invariants",
    "CURRENT_DEFAULT",
)
"""The same in the metadata of columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """One file on its way into a table."""

    event_date: date
    """Its partition."""
    content: bytes
    """Parquet."""
    statistics: str
    """JSON, as an add action has it."""


def append_files(
    spark: SparkSession,
    contract: TableContract,
    location: str,
    files: Iterable[NewFile],
    transaction: Transaction,
) -> None:
    """Append the files of a micro-batch to a table, unless it has them already.

    Args:
        spark: Any session of the job.
        contract: What the table promises; it is partitioned by event_date.
        location: Folder of the table.
        files: Read once, one at a time.
        transaction: The micro-batch; Delta keeps the newest one with the table.
    Raises: IncompatibleTable where the table asks for what these files cannot have.
    """
    # pyspark has no door to a transaction, and Delta's Python none to its files.
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    session: Any = spark._jsparkSession  # noqa: SLF001
    delta = jvm.org.apache.spark.sql.delta
    started = delta.DeltaLog.forTable(session, location).startTransaction()
    app_id, version = transaction.app_id(contract, "append"), transaction.batch_id
    if started.txnVersion(app_id) >= version:
        return
    _check_writable(contract, location, started.metadata().json())
    now_ms = time.time_ns() // 1_000_000
    seen = {"appId": app_id, "version": version, "lastUpdated": now_ms}
    actions: list[dict[str, object]] = [{"txn": seen}]
    actions += [_store(spark, contract, location, file, now_ms) for file in files]
    made = jvm.java.util.ArrayList()
    parser = _companion(delta.actions, "Action")
    for action in actions:
        made.add(parser.fromJson(json.dumps(action)))
    started.commit(
        jvm.org.apache.spark.api.python.PythonUtils.toSeq(made),
        _streaming_update(jvm, delta, transaction),
    )


def _streaming_update(jvm: Any, delta: Any, transaction: Transaction) -> Any:  # noqa: ANN401 - objects of the JVM
    mode = jvm.org.apache.spark.sql.streaming.OutputMode.Append()
    nothing = _companion(jvm.scala, "None")
    return delta.DeltaOperations.StreamingUpdate(
        mode, transaction.query_id, transaction.batch_id, nothing
    )


def _companion(package: Any, name: str) -> Any:  # noqa: ANN401 - objects of the JVM
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def _check_writable(contract: TableContract, location: str, metadata: str) -> None:
    """Refuse a table whose writers must do more than write its columns."""
    stated = json.loads(metadata)["metaData"]
    properties = stated.get("configuration", {})
    found = [
        name
        for name, value in properties.items()
        if name.startswith(_UNKNOWN_TO_US) and value not in {"none", "false"}
    ]
    columns = json.loads(stated["schemaString"])["fields"]
    found += [
        f"{key} of {column['name']}"
        for column in columns
        for key in column.get("metadata", {})
        if key.startswith(_UNKNOWN_IN_SCHEMA)
    ]
    if found:
        raise IncompatibleTable(
            f"table {contract.name} at {location}: the job writes its files itself and "
            f"cannot heed {found[0]}; take it away"
        )


def _store(
    spark: SparkSession,
    contract: TableContract,
    location: str,
    file: NewFile,
    now_ms: int,
) -> dict[str, object]:
    """Write a file into the table's folder; return the action that adds it."""
    partition = contract.partition_by[0]
    value = file.event_date.isoformat()
    relative = f"{partition}={value}/part-{uuid.uuid4()}.zstd.parquet"
    file_system, path = open_path(spark, f"{location}/{relative}")
    stream = file_system.create(path, False)
    try:
        stream.write(file.content)
    finally:
        stream.close()
    return {
        "add": {
            "path": relative,
            "partitionValues": {partition: value},
            "size": len(file.content),
            "modificationTime": now_ms,
            "dataChange": True,
            "stats": file.statistics,
        }
    }
