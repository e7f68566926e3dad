"""Delta's own transactions, which its Python does not know.

They are reached through py4j, are not public, and change with the pinned version.
"""

import json
from collections.abc import Collection, Iterable
from typing import Any

from pyspark.sql import SparkSession

MILLISECOND_NS = 1_000_000


def start_transaction(spark: SparkSession, location: str) -> tuple[Any, Any]:
    """Return the JVM and a transaction upon the newest version of a table."""
    # pyspark has no door to a transaction, and Delta's Python none to its files.
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    session: Any = spark._jsparkSession  # noqa: SLF001
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session, location)
    return jvm, log.startTransaction()


def read_table_state(
    spark: SparkSession, location: str, app_id: str
) -> tuple[int, int]:
    """Return the version of a table, and the newest transaction of an application.

    Args:
        spark: Any session of the job.
        location: Folder of the table.
        app_id: Application id of transactions; -1 where the table has none of it.
    """
    _, started = start_transaction(spark, location)
    return started.snapshot().version(), read_transaction(started, app_id)


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
    made = jvm.java.util.ArrayList()
    parser = companion(jvm.org.apache.spark.sql.delta.actions, "Action")
    for action in actions:
        made.add(parser.fromJson(json.dumps(action)))
    return made


def find_files(snapshot: Any, names: Collection[str]) -> Any:  # noqa: ANN401 - objects of the JVM
    """Return a Java list of the AddFile actions of some files.

    Args:
        snapshot: Of a table.
        names: Last parts of their paths; Delta makes them of UUIDs.
    """
    quoted = ", ".join(f"'{name}'" for name in names)
    is_named = f"element_at(split(path, '/'), -1) IN ({quoted})"
    return snapshot.allFiles().where(is_named).collectAsList()


def as_scala(jvm: Any, java_list: Any) -> Any:  # noqa: ANN401 - objects of the JVM
    """Return a Java list as a Seq of Scala."""
    return jvm.scala.jdk.javaapi.CollectionConverters.asScala(java_list).toSeq()


def companion(package: Any, name: str) -> Any:  # noqa: ANN401 - objects of the JVM
    """Return an object of Scala."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")
