"""What has stopped a job, in one sentence: what, where, since when, and what goes on.

Spark and Delta tell of it by traces of two languages. What is known here is looked for
in the chain of causes, by the names of classes and the words of the system.
"""

import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipelines.delta_tables.damaged_logs import LOG_FOLDER, NO_TABLE, find_damage
from pipelines.delta_tables.locations import find_local_path
from pipelines.errors import (
    DamagedTable,
    FullDisk,
    IncompatibleTable,
    LostRecords,
    MissingService,
    MissingTable,
    PipelineError,
)

from .refusals import explain_refusal, iter_java_causes

_FULL = ("No space left on device", "Disk quota exceeded", "File too large")
_PROTOCOL = (
    "InvalidProtocolVersionException",
    "DeltaUnsupportedTableFeatureException",
    "DELTA_INVALID_PROTOCOL_VERSION",
    "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
    "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
    "Mismatched minReaderVersion",
    "Mismatched minWriterVersion",
)
_LOST = ("KafkaIllegalStateException", "Some data may have been lost")
_KAFKA = re.compile(r"\borg\.apache\.kafka\.common\.errors\.(\w+)")
_NO_TOPIC = "UnknownTopicOrPartitionException"
_GONE = re.compile(r"(table \w+ at .+? is gone: it was deleted below the running job)")
_MISSING = (
    *NO_TABLE,
    "DELTA_LOG_FILE_NOT_FOUND",
    # Of Spark, by a query's table; a micro-batch names no other path.
    "[PATH_NOT_FOUND]",
    # Of the file system, where it was deleted right before its commit.
    "/_delta_log does not exist",
)
_TABLE_PATH = re.compile(r"(?:file:)?(/[^\s'\"`]*?)/_delta_log")
_LITTLE_BYTES = 16 << 20
"""What is left of a disk that is as good as full."""
_MOST_CAUSES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlaces:
    """What a sentence names."""

    topic: str
    servers: str
    tables: str
    checkpoint_location: str
    last_commit: str
    """Since when the job has not gone on, as loss_sentences tells it."""


def explain_stop(
    spark: SparkSession, error: BaseException, places: JobPlaces
) -> PipelineError | None:
    """Return what to tell of an error; None where it is none of these.

    Args:
        spark: The session of the job, if its JVM still lives.
        error: What a query or a call has raised.
    """
    told = " | ".join(_iter_texts(error))
    gone = _GONE.search(told)
    if gone or _has(told, _MISSING):
        what = gone[1] if gone else f"a table at {places.tables} is gone"
        return tell_gone(what, places)
    if isinstance(error, PipelineError):
        return error
    if _has(told, _PROTOCOL):
        return _newer_protocol(spark, told, places)
    if _has(told, _FULL):
        return _full_disk(spark, places)
    return _explain_kafka(told, places) or _damaged_log(spark, places)


def _has(told: str, words: Iterable[str]) -> bool:
    return any(word in told for word in words)


def _explain_kafka(told: str, places: JobPlaces) -> PipelineError | None:
    if _has(told, _LOST):
        return LostRecords(
            f"Kafka no longer has all records of topic {places.topic} that were to be "
            f"read; {places.last_commit}. The same command says which they are, and "
            f"goes on where that has passed"
        )
    kafka = _KAFKA.findall(told)
    if not kafka:
        return None
    if _NO_TOPIC in kafka:
        return LostRecords(
            f"Kafka at {places.servers} has no topic {places.topic}, or not all of its "
            f"partitions; {places.last_commit}. The same command says what is gone, "
            f"and goes on where nothing is"
        )
    why = explain_refusal(kafka, places.topic)
    if why:
        return MissingService(
            f"Kafka at {places.servers} {why}; {places.last_commit}. Nothing is lost: "
            f"the same command goes on from there once Kafka lets it, as long as its "
            f"retention keeps the records"
        )
    return MissingService(
        f"Kafka at {places.servers} has not answered the job ({kafka[-1]}); "
        f"{places.last_commit}. Nothing is lost: the same command goes on from "
        f"there once Kafka answers, as long as its retention keeps the records"
    )


def tell_gone(sentence: str, places: JobPlaces) -> MissingTable:
    """Return what to tell of a table that was deleted below the job."""
    return MissingTable(
        f"{sentence}; {places.last_commit}. The same command makes the table anew, "
        f"empty, and goes on from there: the rows that it had are lost, of which "
        f"replay_pushes makes those of client_metrics again from client_pushes"
    )


def _full_disk(spark: SparkSession, places: JobPlaces) -> FullDisk:
    folders = {
        "the tables": find_local_path(spark, places.tables),
        "the checkpoint": find_local_path(spark, places.checkpoint_location),
        "Spark's temporary files": _find_scratch(spark),
    }
    full = [
        f"{what} at {path}"
        for what, path in folders.items()
        if path is not None and _is_full(Path(path))
    ]
    where = " and of ".join(full) or f"the tables at {places.tables}, or a limit of it,"
    return FullDisk(
        f"the disk of {where} is full; {places.last_commit}. Nothing is lost: make "
        f"room, and the same command goes on from there"
    )


def _is_full(path: Path) -> bool:
    there = next(p for p in (path, *path.parents) if p.exists())
    return shutil.disk_usage(there).free < _LITTLE_BYTES


def _find_scratch(spark: SparkSession) -> str:
    fallback = str(spark.conf.get("spark.local.dir", "/tmp"))  # noqa: S108 - Spark's own
    return fallback.split(",", maxsplit=1)[0]


def _newer_protocol(
    spark: SparkSession, told: str, places: JobPlaces
) -> IncompatibleTable:
    found = _TABLE_PATH.search(told)
    where = found[1] if found else _find_newer(spark, places) or places.tables
    return IncompatibleTable(
        f"the table at {where} was written by another version of Delta: its protocol "
        f"asks for what this one does not know; {places.last_commit}. Nothing is lost: "
        f"the same command goes on with a version that does, or with tables.root_path "
        f"at a new place, whose tables begin with what the topic still holds"
    )


def _find_newer(spark: SparkSession, places: JobPlaces) -> Path | None:
    """Ask each table for its columns: not all of Delta's faults say whose they are."""
    for log in _list_logs(spark, places):
        try:
            _ = spark.read.format("delta").load(str(log.parent)).schema
        except (PySparkException, Py4JError) as error:
            if _has(" | ".join(_iter_texts(error)), _PROTOCOL):
                return log.parent
    return None


def _list_logs(spark: SparkSession, places: JobPlaces) -> list[Path]:
    """List the logs of all tables, where they can be looked at from here."""
    root = find_local_path(spark, places.tables)
    return sorted(Path(root).glob(f"*/{LOG_FOLDER}")) if root else []


def _damaged_log(spark: SparkSession, places: JobPlaces) -> DamagedTable | None:
    """Look at the logs themselves: Delta's words for it depend on who reads them."""
    for log in _list_logs(spark, places):
        damage = find_damage(log)
        if damage:
            return DamagedTable(
                f"the log of the table at {log.parent} is damaged: {damage}; "
                f"{places.last_commit}. With that file as it was, from a copy, the "
                f"same command goes on from there, and nothing is lost; with the "
                f"table's folder moved away it makes the table anew, empty, and the "
                f"rows that it had are lost"
            )
    return None


def _iter_texts(error: BaseException) -> Iterator[str]:
    """Yield what each cause says of itself, of Python's and of Java's."""
    seen: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if seen is None:
            return
        yield f"{type(seen).__name__}: {seen}"
        yield from _iter_java(seen)
        seen = seen.__cause__ or seen.__context__


def _iter_java(error: BaseException) -> Iterator[str]:
    try:
        for java in iter_java_causes(error):
            yield f"{java.getClass().getName()}: {java.getMessage()}"
    except Py4JError:
        return  # the JVM is gone
