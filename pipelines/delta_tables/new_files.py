"""Data files before they enter a table."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from pyspark.sql import SparkSession

from pipelines.tables.contract import TableContract

from .kernel import AddedFile
from .local_files import name_file
from .locations import open_path


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """One file before it enters a table."""

    event_date: date | None
    """Its partition; null in a table without partitions."""
    statistics: str
    """JSON, as an add action has it."""
    size: int
    """Bytes."""
    path: str | None
    """Relative to the table's directory; null if it is not stored yet."""
    content: bytes | None
    """Parquet; null if it is stored."""


def store_file(
    spark: SparkSession, contract: TableContract, location: str, file: NewFile
) -> AddedFile:
    """Store a file below the table's directory, unless it is stored already.

    Args:
        contract: Contract of the table; it has at most one partition column, a date.
        location: URI of the table's directory.
    """
    partition = {}
    if file.event_date is not None:
        partition = dict.fromkeys(contract.partition_by, file.event_date)
    relative = file.path or name_file(partition)
    if file.content is not None:
        file_system, path = open_path(spark, f"{location}/{relative}")
        stream = file_system.create(path, False)
        try:
            stream.write(file.content)
        finally:
            stream.close()
    return AddedFile(
        path=relative,
        size=file.size,
        statistics=file.statistics,
        partition=partition,
    )


def discard_files(spark: SparkSession, location: str, files: Iterable[NewFile]) -> None:
    """Delete stored files that do not enter the table."""
    for file in files:
        if file.path is not None:
            file_system, path = open_path(spark, f"{location}/{file.path}")
            file_system.delete(path, False)
