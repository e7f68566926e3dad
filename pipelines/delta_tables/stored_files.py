"""The files of a table: those of its newest version, by date, and the others.

Which files a version holds, Spark says of any table; how large they are and since when,
the table's folder. Where the folder is its catalog's secret, the rows of the table are
asked, of which each knows its file.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.contract import TableContract

WHOLE = ""
"""Stands for the date in a table without dates."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file in the folder of a table."""

    size_bytes: int
    modified_ms: int
    """When it was written, milliseconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFiles:
    """The files of a table."""

    held: Mapping[str, Sequence[StoredFile]]
    """Date, as 2026-03-01, or WHOLE, to the files that the newest version has there."""
    others: Mapping[str, StoredFile] | None
    """Name to file, of older versions and of no version; null where nobody can look
    into the folder."""

    def sizes(self) -> Mapping[str, int]:
        """Return the bytes of each date."""
        return {d: sum(f.size_bytes for f in files) for d, files in self.held.items()}


def list_stored_files(
    spark: SparkSession, contract: TableContract, table: str, folder: str | None
) -> StoredFiles:
    """Look at the files of a table; no row of it is read where its folder is known.

    Args:
        table: SQL identifier.
        folder: Of the table; null where its catalog does not tell.
    """
    if folder is not None:
        try:
            return _list_folder(spark, contract, table, folder)
        except (PySparkException, Py4JJavaError) as error:
            # A catalog may tell a folder and let nobody look into it.
            _logger.info("%s: its folder is not listed (%s)", table, type(error))
    return StoredFiles(held=_ask_rows(spark, contract, table), others=None)


def _list_folder(
    spark: SparkSession, contract: TableContract, table: str, folder: str
) -> StoredFiles:
    held = {_name(path): path for path in spark.table(table).inputFiles()}
    listed = (
        spark.read.format("binaryFile")
        .option("recursiveFileLookup", "true")
        # Somebody else's VACUUM may delete one between two looks.
        .option("ignoreMissingFiles", "true")
        .load(folder)
        .select(
            F.col("path"),
            F.col("length"),
            F.unix_millis("modificationTime").alias("modified_ms"),
        )
        .toArrow()
        .to_pylist()
    )
    by_date: dict[str, list[StoredFile]] = {}
    others = {}
    for row in listed:
        name = _name(row["path"])
        file = StoredFile(row["length"], row["modified_ms"])
        if name in held:
            by_date.setdefault(_find_date(contract, held[name]), []).append(file)
        else:
            others[name] = file
    return StoredFiles(held=by_date, others=others)


def _name(path: str) -> str:
    """Return the last part of a path; Delta makes it of a UUID."""
    return unquote(urlsplit(path).path.rpartition("/")[2])


def _find_date(contract: TableContract, path: str) -> str:
    """Return the date of a file by the folder that it is in."""
    if not contract.partition_by:
        return WHOLE
    (column,) = contract.partition_by
    mark = f"/{column}="
    return path.rpartition(mark)[2].partition("/")[0] if mark in path else WHOLE


def _ask_rows(
    spark: SparkSession, contract: TableContract, table: str
) -> dict[str, list[StoredFile]]:
    """Return the files of a table's rows, without reading a column of these."""
    day = F.lit(WHOLE)
    if contract.partition_by:
        day = F.col(contract.partition_by[0]).cast("string")
    metadata = F.col("_metadata")
    files = (
        spark.table(table)
        .groupBy(day.alias("day"), metadata["file_path"].alias("path"))
        .agg(
            F.max(metadata["file_size"]).alias("size"),
            F.max(F.unix_millis(metadata["file_modification_time"])).alias("written"),
        )
    )
    found: dict[str, list[StoredFile]] = {}
    for row in files.toArrow().to_pylist():
        file = StoredFile(row["size"], row["written"])
        found.setdefault(row["day"], []).append(file)
    return found
