"""Delta's own transactions, which its Python does not know.

They are reached through py4j, are not public, and change with the pinned version.
"""

import json
from collections.abc import Collection, Iterable
from typing import Any

from pyspark.sql import SparkSession

from pipelines.delta_tables.java_classes import find_class, find_object

DELTA = "org.apache.spark.sql.delta"
"""The package of its Scala."""
ARRAY_LIST = "java.util.ArrayList"
_CONVERTERS = "scala.jdk.javaapi.CollectionConverters"
MILLISECOND_NS = 1_000_000


def start_transaction(spark: SparkSession, location: str) -> tuple[Any, Any]:
    """Return the JVM and a transaction upon the newest version of a table."""
    # pyspark has no door to a transaction, and Delta's Python none to its files.
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    session: Any = spark._jsparkSession  # noqa: SLF001
    log = find_class(jvm, f"{DELTA}.DeltaLog").forTable(session, location)
    return jvm, log.startTransaction()


def read_transaction(started: Any, app_id: str) -> int:  # noqa: ANN401 - an object of the JVM
    """Return the newest transaction of an application, or -1.

    As with Delta's own txnVersion the commit fails where somebody else makes another
    one meanwhile. But that reads the whole state of the table by a job of Spark, for
    each version anew; the checksum file of a version names its transactions already.
    """
    checksum = started.snapshot().checksumOpt()
    if checksum.isEmpty() or checksum.get().setTransactions().isEmpty():
        return int(started.txnVersion(app_id))
    started.readTxn().addOne(app_id)
    seen = checksum.get().setTransactions().get()
    every = [seen.apply(place) for place in range(seen.size())]
    return next((t.version() for t in every if t.appId() == app_id), -1)


def parse_actions(jvm: Any, actions: Iterable[dict[str, object]]) -> Any:  # noqa: ANN401 - objects of the JVM
    """Return a Java list of Delta's actions.

    Args:
        jvm: As py4j has it.
        actions: As they stand in the log.
    """
    made = find_class(jvm, ARRAY_LIST)()
    parser = find_object(jvm, f"{DELTA}.actions.Action")
    for action in actions:
        made.add(parser.fromJson(json.dumps(action)))
    return made


def list_files(jvm: Any, snapshot: Any) -> Any:  # noqa: ANN401 - objects of the JVM
    """Return a Java list of the AddFile actions of a table."""
    listed = _list_from_checksum(jvm, snapshot)
    return snapshot.allFiles().collectAsList() if listed is None else listed


def find_files(jvm: Any, snapshot: Any, names: Collection[str]) -> Any:  # noqa: ANN401 - objects of the JVM
    """Return a Java list of the AddFile actions of some files.

    Args:
        jvm: As py4j has it.
        snapshot: Of a table.
        names: Last parts of their paths; Delta makes them of UUIDs.
    """
    listed = _list_from_checksum(jvm, snapshot)
    if listed is None:
        quoted = ", ".join(f"'{name}'" for name in names)
        is_named = f"element_at(split(path, '/'), -1) IN ({quoted})"
        return snapshot.allFiles().where(is_named).collectAsList()
    found = find_class(jvm, ARRAY_LIST)()
    for file in listed:
        if file.path().rpartition("/")[2] in names:
            found.add(file)
    return found


def _list_from_checksum(jvm: Any, snapshot: Any) -> Any:  # noqa: ANN401 - objects of the JVM
    """Return the files that the checksum file of a version names, or None.

    It does so where they are few, by a setting of Delta's. Else they are read from the
    log by a job of Spark, which after each commit costs more than the commit.
    """
    checksum = snapshot.checksumOpt()
    if checksum.isEmpty() or checksum.get().allFiles().isEmpty():
        return None
    files = checksum.get().allFiles().get()
    return find_class(jvm, _CONVERTERS).asJava(files)


def as_scala(jvm: Any, java_list: Any) -> Any:  # noqa: ANN401 - objects of the JVM
    """Return a Java list as a Seq of Scala."""
    return find_class(jvm, _CONVERTERS).asScala(java_list).toSeq()


def streaming_update(jvm: Any, query_id: str, batch_id: int) -> Any:  # noqa: ANN401 - objects of the JVM
    """Return what a commit of a micro-batch is called in the table's history.

    After a ManualUpdate Delta reads the whole state of the table by jobs of Spark, to
    write the checksum of the version; after this it adds to that of the version before.
    """
    mode = find_class(jvm, "org.apache.spark.sql.streaming.OutputMode").Append()
    update = find_class(jvm, f"{DELTA}.DeltaOperations$StreamingUpdate")
    return update(mode, query_id, batch_id, find_object(jvm, "scala.None"))
