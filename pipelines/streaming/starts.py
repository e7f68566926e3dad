"""Where a query begins when its checkpoint location is new and its tables are not.

The ledger is written last in each micro-batch, so the first record that it lacks is the
first record to read. A batch that was cut off may already stand in tables written
before it: their newest offsets, their floors, are kept with the checkpoint location,
and records up to a floor are not written to that table again.

A query goes on in its checkpoint location. Where Kafka has no longer what it had still
to read, it may only go on behind that, by a decision of a person's: Spark cannot leave
records out, so a folder inside the checkpoint location is that of a new query, and the
decision is kept there before anything is read.

What a job decided when the checkpoint location was new stands in small files of ours
inside it, on any Hadoop file system; Spark ignores names that it does not know.
"""

import json
from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import SparkSession

from pipelines.delta_tables.locations import open_path
from pipelines.errors import LostRecords, UnsafeStart
from pipelines.settings.records import TableSettings

from .continuations import (
    begin_anew,
    find_hidden,
    find_losses,
    go_on_behind,
    skip_records,
)
from .loss_sentences import describe_losses
from .offsets import Offsets
from .positions import TopicBounds
from .query_progress import read_query_progress
from .start_records import (
    EARLIEST_OFFSET,
    JobStart,
    Ledger,
    read_start,
    write_start,
)
from .stored_offsets import StoredOffsets, read_stored_offsets
from .topic_losses import find_expired, is_made_anew

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


def delete_checkpoint_files(
    spark: SparkSession, checkpoint_location: str, is_old: Callable[[str], bool]
) -> None:
    """Delete the files of ours whose names are old."""
    file_system, folder = open_path(spark, f"{checkpoint_location}/{_FOLDER}")
    for status in file_system.listStatus(folder):
        if is_old(status.getPath().getName()):
            file_system.delete(status.getPath(), False)


START_FILE = "start.json"
TOPIC_ID_FILE = "topic-id.json"
"""Beside a start that did not know the id: no file of a checkpoint is written twice."""
EARLIEST = "earliest"
_CONTINUED = "continued"
"""Beginning of the names of folders behind a loss, inside a checkpoint location."""


def decide_start(
    spark: SparkSession,
    tables: TableSettings,
    ledger: Ledger,
    topic: str,
    bounds: TopicBounds,
    *,
    checkpoint_location: str,
    starting_offsets: str,
    accepts_data_loss: bool = False,
    tell_topic: Callable[[], str] = str,
) -> JobStart:
    """Return the start of a checkpoint location, deciding it if it has none yet.

    Args:
        spark: A session that reads the tables.
        tables: Where they are.
        ledger: Of the job.
        topic: Topic of the query.
        bounds: What the topic holds now.
        checkpoint_location: Folder of the query's progress.
        starting_offsets: earliest or latest, where no table has a record of the topic.
        accepts_data_loss: Whether to go on behind records that are gone.
        tell_topic: Says of a topic that was recreated what is wrong with it.
    Raises: UnsafeStart where going on would lose or repeat records.
    """
    location = find_location(spark, checkpoint_location)
    known = read_known_start(spark, location)
    if known is not None:
        start = _check_topic(ledger, known, topic, checkpoint_location)
        progress = read_query_progress(spark, location, topic)
        # A former topic of which nothing was read takes no records with it.
        is_former = is_made_anew({}, {}, bounds, start.topic_id)
        if not is_former and not find_losses(start, progress, bounds):
            return _note_topic_id(spark, location, start, bounds)
        stored = read_stored_offsets(spark, tables, ledger, topic)
        decided = go_on_behind(start, progress, stored, bounds)
        if decided.losses and not accepts_data_loss:
            told = describe_losses(start, decided, progress, tell_topic)
            raise LostRecords(told)
        location = _next_location(spark, checkpoint_location)
        return _keep(spark, location, decided)
    if has_planned_batches(spark, checkpoint_location):
        raise UnsafeStart(
            f"checkpoint location {checkpoint_location} holds the progress of a query "
            f"and no {START_FILE} of this job; choose another folder with --set "
            f"{ledger.job_name}.checkpoint_location=FOLDER"
        )
    stored = read_stored_offsets(spark, tables, ledger, topic)
    decided = _decide_first(
        ledger, topic, stored, bounds, starting_offsets, accepts=accepts_data_loss
    )
    return _keep(spark, location, decided)


def find_location(spark: SparkSession, checkpoint_location: str) -> str:
    """Return the folder of the query that goes on now, of those in a location."""
    return list_former_locations(spark, checkpoint_location)[1]


def list_former_locations(
    spark: SparkSession, checkpoint_location: str
) -> tuple[list[str], str]:
    """Return the folders of former queries in a location, and that of the one now."""
    former: list[str] = []
    location = checkpoint_location
    while True:
        later = f"{checkpoint_location}/{_CONTINUED}-{len(former) + 1}"
        if read_checkpoint_file(spark, later, START_FILE) is None:
            return former, location
        former.append(location)
        location = later


def read_known_start(spark: SparkSession, location: str) -> JobStart | None:
    """Return where the query of a location began; null where none ever did."""
    text = read_checkpoint_file(spark, location, START_FILE)
    return None if text is None else _with_noted_id(spark, location, read_start(text))


def _next_location(spark: SparkSession, checkpoint_location: str) -> str:
    now = find_location(spark, checkpoint_location)
    number = 0 if now == checkpoint_location else int(now.rpartition("-")[2])
    return f"{checkpoint_location}/{_CONTINUED}-{number + 1}"


def _decide_first(
    ledger: Ledger,
    topic: str,
    stored: StoredOffsets,
    bounds: TopicBounds,
    starting_offsets: str,
    *,
    accepts: bool,
) -> JobStart:
    """Return the start of a checkpoint location that is new."""
    hidden = find_hidden(ledger, topic, stored, bounds, accepts=accepts)
    position = stored.next_offsets
    is_other = bool(stored.newest) and is_made_anew({}, {}, bounds, stored.topic_id)
    if accepts and (is_other or is_made_anew(position, {}, bounds, None)):
        return begin_anew(topic, bounds, position, stored)
    if is_other:
        raise UnsafeStart(
            f"topic {topic} was deleted and recreated: its topic ID is "
            f"{bounds.topic_id}, and {ledger.contract.name} holds records of topic ID "
            f"{stored.topic_id}. {ledger.how_to_choose()}"
        )
    expired = find_expired(position, bounds)
    if accepts and (expired or hidden):
        return skip_records(topic, bounds, position, stored, [*expired, *hidden])
    return JobStart(
        topic=topic,
        starting_offsets=resume_offsets(
            ledger,
            topic,
            {p: o - 1 for p, o in position.items()},
            bounds,
            starting_offsets,
            is_first_run=not stored.newest,
        ),
        floors=stored.floors,
        topic_id=bounds.topic_id,
    )


def resume_offsets(
    ledger: Ledger,
    topic: str,
    pushed: Offsets,
    bounds: TopicBounds,
    starting_offsets: str,
    *,
    is_first_run: bool,
) -> dict[int, int]:
    """Return the first offset to read of each partition.

    Args:
        ledger: Names for messages.
        topic: Name for messages.
        pushed: Partition to the newest offset in the ledger.
        bounds: What the topic holds now.
        starting_offsets: earliest or latest, for partitions not in pushed.
        is_first_run: Whether no table has a record of the topic. Otherwise partitions
            not in pushed begin at their earliest record, for they may hold pushes that
            were accepted meanwhile.
    Raises: UnsafeStart where a record to go on from is not in the topic.
    """
    unknown = sorted(pushed.keys() - bounds.end.keys())
    if unknown:
        raise UnsafeStart(
            f"{ledger.contract.name} has records of {topic} partition {unknown[0]}, "
            f"and the topic has no such partition: it was recreated. "
            f"{ledger.how_to_choose()}"
        )
    is_earliest = starting_offsets == EARLIEST or not is_first_run
    resumed = {
        partition: EARLIEST_OFFSET if is_earliest else end
        for partition, end in bounds.end.items()
    }
    for partition, offset in pushed.items():
        _check_resumable(ledger, topic, partition, offset + 1, bounds)
        resumed[partition] = offset + 1
    return dict(sorted(resumed.items()))


def _with_noted_id(spark: SparkSession, location: str, start: JobStart) -> JobStart:
    """Add the id of a topic that was not known when the start was decided."""
    if start.topic_id is not None:
        return start
    text = read_checkpoint_file(spark, location, TOPIC_ID_FILE)
    return start if text is None else replace(start, topic_id=json.loads(text))


def _note_topic_id(
    spark: SparkSession, location: str, start: JobStart, bounds: TopicBounds
) -> JobStart:
    """Keep the id of a topic that is not known yet."""
    if start.topic_id is not None or bounds.topic_id is None:
        return start
    text = json.dumps(bounds.topic_id)
    write_checkpoint_file(spark, location, TOPIC_ID_FILE, text)
    return replace(start, topic_id=bounds.topic_id)


def _keep(spark: SparkSession, location: str, start: JobStart) -> JobStart:
    write_checkpoint_file(spark, location, START_FILE, write_start(start))
    return start


def _check_topic(
    ledger: Ledger, start: JobStart, topic: str, checkpoint_location: str
) -> JobStart:
    if start.topic != topic:
        raise UnsafeStart(
            f"checkpoint location {checkpoint_location} holds the progress of topic "
            f"{start.topic}, and {ledger.topic_setting} is {topic}; choose another "
            f"folder with --set {ledger.job_name}.checkpoint_location=FOLDER"
        )
    return start


def _check_resumable(
    ledger: Ledger, topic: str, partition: int, offset: int, bounds: TopicBounds
) -> None:
    beginning, end = bounds.beginning[partition], bounds.end[partition]
    if beginning <= offset <= end:
        return
    why = (
        "the records between were deleted by retention"
        if offset < beginning
        else "the topic was recreated"
    )
    raise UnsafeStart(
        f"{ledger.contract.name} goes on at {topic} partition {partition} offset "
        f"{offset}, and the topic holds {beginning} to {end}: {why}. "
        f"{ledger.how_to_choose()}"
    )
