"""Small files of ours inside a query's checkpoint location, on any Hadoop file system.

The job keeps there what it decided when the checkpoint location was new; Spark ignores
names that it does not know.
"""

from pyspark.sql import SparkSession

from pipelines.delta_tables.table_locations import open_path

_FOLDER = "kafka_clientele"
_OFFSET_LOG = "offsets"
"""Where Spark plans each micro-batch before it runs."""


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
