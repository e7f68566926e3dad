"""Read, write and move the files of a checkpoint location on any Hadoop file system."""

from collections.abc import Callable
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from pipelines.delta_tables.locations import open_path
from pipelines.errors import UnsafeStart

_FOLDER = "kafka_clientele"
_OFFSET_LOG = "offsets"
"""Where Spark plans each micro-batch before it runs."""
MOVED = ".until-"
"""Between the name of a checkpoint location and the time when it was moved aside."""
MOVED_AT = "%Y%m%dT%H%M%SZ"
"""Form of that time."""


def has_planned_batches(spark: SparkSession, checkpoint_location: str) -> bool:
    """Say whether a query has ever planned a micro-batch there."""
    file_system, folder = open_path(spark, f"{checkpoint_location}/{_OFFSET_LOG}")
    if not file_system.exists(folder):
        return False
    names = [status.getPath().getName() for status in file_system.listStatus(folder)]
    return any(name.isdecimal() for name in names)


def read_checkpoint_file(
    spark: SparkSession, checkpoint_location: str, name: str
) -> str | None:
    """Return the text of a file of ours; null where it was never written."""
    file_system, path = open_path(spark, f"{checkpoint_location}/{_FOLDER}/{name}")
    if not file_system.exists(path):
        return None
    stream = file_system.open(path)
    try:
        return bytes(stream.readAllBytes()).decode("utf-8")
    finally:
        stream.close()


def write_checkpoint_file(
    spark: SparkSession, checkpoint_location: str, name: str, text: str
) -> None:
    """Write a file of ours that is not there; readers see the whole of it or nothing.

    It cannot be replaced: HDFS and others rename onto no file that there is.
    """
    location = f"{checkpoint_location}/{_FOLDER}"
    file_system, path = open_path(spark, f"{location}/{name}")
    _, unfinished = open_path(spark, f"{location}/.{name}.unfinished")
    stream = file_system.create(unfinished, True)
    try:
        stream.write(bytearray(text.encode("utf-8")))
    finally:
        stream.close()
    if not file_system.rename(unfinished, path):
        raise OSError(f"{path.toString()}: cannot be written")


def delete_checkpoint_files(
    spark: SparkSession, checkpoint_location: str, is_old: Callable[[str], bool]
) -> None:
    """Delete the files of ours whose names are old."""
    file_system, folder = open_path(spark, f"{checkpoint_location}/{_FOLDER}")
    for status in file_system.listStatus(folder):
        if is_old(status.getPath().getName()):
            file_system.delete(status.getPath(), False)


def move_checkpoint_aside(spark: SparkSession, checkpoint_location: str) -> str:
    """Rename a checkpoint location, so that a new query can start there.

    Returns: The new name: the old one, `MOVED` and the time (UTC).
    Raises: UnsafeStart where the file system refuses the new name.
    Limits: An object store copies the files. If it is interrupted, no query starts at
        either place until the rest is moved.
    """
    moved = f"{checkpoint_location}{MOVED}{datetime.now(tz=UTC):{MOVED_AT}}"
    file_system, old = open_path(spark, checkpoint_location)
    _, new = open_path(spark, moved)
    # Hadoop would move a folder into one that is there.
    if file_system.exists(new) or not file_system.rename(old, new):
        raise UnsafeStart(
            f"checkpoint location {checkpoint_location} cannot be renamed to {moved}: "
            f"rename it by hand, or choose another checkpoint location"
        )
    return moved
