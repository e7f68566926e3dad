"""Keeps a second run of a job off the tables and the checkpoint of the first.

The claim is held by the JVM, which alone commits. On this machine it is a lock of the
operating system, free again as soon as that process ends, however it ends, and no
sooner; on HDFS a lease (see `leases`). Jobs of other names may write beside it, to
tables of their own and to the end of shared ones.
"""

import json
import logging
import platform
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from pipelines.delta_tables.java_classes import find_class
from pipelines.delta_tables.locations import (
    find_local_path,
    identify_schema,
    qualify_path,
)
from pipelines.errors import TablesInUse
from pipelines.settings.records import TableSettings

from .leases import SCHEMES, Lease

_OVERLAP = "OverlappingFileLockException"
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one run holds."""

    releases: tuple[Callable[[], None], ...]
    checks: tuple[Callable[[], None], ...] = ()
    """Each raises TablesInUse where another run has taken what it had."""

    def check(self) -> None:
        """Refuse to go on where another run has taken any of it.

        Raises: TablesInUse.
        """
        for check in self.checks:
            check()

    def release(self) -> None:
        """Let others in; the end of the process does it, too."""
        for release in self.releases:
            release()


def claim_tables(
    spark: SparkSession,
    tables: TableSettings,
    job_name: str,
    checkpoint_location: str | None,
) -> Claim:
    """Take the tables and the checkpoint location for one run of a job.

    Args:
        spark: Its JVM writes the tables.
        tables: Where they are.
        job_name: Only runs of one job keep each other off.
        checkpoint_location: Folder of the query's progress; null for a job that is no
            query, and whose tables alone are taken.
    Raises: TablesInUse.
    Limits: In object stores there is no such lock. There Delta lets one of two runs
        with the same checkpoint location fail, and two with different ones are not
        seen.
    """
    root = _find_root(spark, tables)
    checkpoint = None
    if checkpoint_location is not None:
        checkpoint = qualify_path(spark, checkpoint_location)
    if root is None or not _can_be_held(spark, root):
        _logger.warning(
            "the tables are on a file system without locks: see to it yourself that no "
            "other %s%s writes them",
            job_name,
            "" if checkpoint_location is None else " with another checkpoint location",
        )
    told = {
        "host": platform.node(),
        "pid": int(find_class(_jvm(spark), "java.lang.ProcessHandle").current().pid()),
        "since": f"{datetime.now(tz=UTC):%Y-%m-%dT%H:%M:%SZ}",
        "job": job_name,
        "checkpoint_location": checkpoint_location,
    }
    held: list[Callable[[], None]] = []
    checks: list[Callable[[], None]] = []
    for what, folder in (("tables", root), ("checkpoint", checkpoint)):
        if folder is None:
            continue
        try:
            local = find_local_path(spark, folder)
            if local is not None:
                held.append(_lock(spark, Path(local), job_name, what, told))
            elif _can_be_held(spark, folder):
                lease = _lease(spark, folder, job_name, what, told)
                held.append(lease.release)
                checks.append(lease.check)
        except BaseException:
            Claim(releases=tuple(held)).release()
            raise
    return Claim(releases=tuple(held), checks=tuple(checks))


def _can_be_held(spark: SparkSession, folder: str) -> bool:
    scheme = urlsplit(qualify_path(spark, folder)).scheme
    return scheme in SCHEMES | {"file"}


def _find_root(spark: SparkSession, tables: TableSettings) -> str | None:
    """Return the folder of all tables, with its file system, where that is known."""
    if not tables.catalog_schema:
        return qualify_path(spark, tables.root_path)
    schema = identify_schema(tables)
    try:
        # The first run of all claims its tables before it creates them.
        if not spark.catalog.databaseExists(schema):
            spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        rows = spark.sql(f"DESCRIBE SCHEMA {schema}").collect()
    except AnalysisException:
        return None
    told = {row["info_name"]: row["info_value"] for row in rows}
    location = told.get("Location")
    return qualify_path(spark, location) if location else None


def _lease(
    spark: SparkSession,
    folder: str,
    job_name: str,
    what: str,
    told: dict[str, Any],
) -> Lease:
    """Take the lease of a file of the folder."""
    lease = Lease(spark, f"{folder.rstrip('/')}/.{job_name}.lock", told)
    if not lease.take():
        raise _in_use(folder, what, lease.read_holder())
    return lease


def _lock(
    spark: SparkSession,
    folder: Path,
    job_name: str,
    what: str,
    told: dict[str, Any],
) -> Callable[[], None]:
    """Lock a file of the folder by the JVM; return what unlocks it."""
    path = folder.absolute() / f".{job_name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    file = find_class(_jvm(spark), "java.io.RandomAccessFile")(str(path), "rw")
    channel = file.getChannel()
    try:
        lock = channel.tryLock()
    except Py4JJavaError as error:
        file.close()
        if error.java_exception.getClass().getSimpleName() != _OVERLAP:
            raise
        lock = None
    else:
        if lock is None:
            file.close()
    if lock is None:
        raise _in_use(str(path.parent), what, _read_holder(path))
    # Another process than the one that holds the lock: closing a file would end it.
    path.write_text(json.dumps(told), encoding="utf-8")
    close: Callable[[], None] = file.close
    return close


def _read_holder(path: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told


def _in_use(folder: str, what: str, held: dict[str, Any]) -> TablesInUse:
    place = f"the {what} at {folder} {'are' if what == 'tables' else 'is'}"
    try:
        holder = (
            f"{held['job']} on {held['host']}, process {held['pid']}, since "
            f"{held['since']}"
        )
        location = held["checkpoint_location"]
        if location is not None:
            holder += f", with checkpoint location {location}"
    except (KeyError, TypeError):
        holder, location = "another run, which has just begun", ""
    if location is None:
        return TablesInUse(f"{place} in use by {holder}: let it end; nothing was done")
    return TablesInUse(
        f"{place} in use by {holder}: two at once would write records twice; "
        f"stop that one, or set tables.root_path and the checkpoint location to places "
        f"of their own; nothing was read"
    )


def _jvm(spark: SparkSession) -> Any:  # noqa: ANN401 - py4j has no types
    # pyspark has no door to a lock that lives as long as the JVM.
    return spark.sparkContext._jvm  # noqa: SLF001
