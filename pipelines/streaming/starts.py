"""Decide where a query starts.

The ledger is the last table that a micro-batch writes. So the first record that the
ledger lacks is the first record to read. An interrupted micro-batch may already be in
tables that are written before the ledger. Their newest offsets are the floors: records
up to a floor are not written to that table again.

A query continues with its checkpoint. If Kafka no longer has the records that it needs,
the job stops. With `--accept-data-loss` the old checkpoint moves aside under a dated
name, and a new query starts at the same checkpoint location, after the lost records.

The decision is in a small file of ours in the checkpoint location, on any Hadoop file
system. Spark ignores names that it does not know.
"""

import logging
from collections.abc import Callable

from pyspark.sql import SparkSession

from pipelines.errors import LostRecords, UnsafeStart
from pipelines.settings.records import TableSettings

from .checkpoint_files import (
    has_planned_batches,
    move_checkpoint_aside,
    read_checkpoint_file,
    write_checkpoint_file,
)
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

START_FILE = "start.json"
EARLIEST = "earliest"
_logger = logging.getLogger(__name__)


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
    on_moved: Callable[[], None] = lambda: None,
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
        accepts_data_loss: Whether to start after records that are lost.
        tell_topic: Says of a topic that was recreated what is wrong with it.
        on_moved: Called when the old checkpoint was moved aside.
    Raises: UnsafeStart where going on would lose or repeat records.
    """
    known = read_known_start(spark, checkpoint_location)
    if known is not None:
        start = _check_topic(ledger, known, topic, checkpoint_location)
        progress = read_query_progress(spark, checkpoint_location, topic)
        # A former topic of which nothing was read takes no records with it.
        is_former = is_made_anew({}, {}, bounds, start.topic_id)
        if not is_former and not find_losses(start, progress, bounds):
            return start
        stored = read_stored_offsets(spark, tables, ledger, topic)
        decided = go_on_behind(start, progress, stored, bounds)
        if decided.losses and not accepts_data_loss:
            told = describe_losses(start, decided, progress, tell_topic)
            raise LostRecords(told)
        moved = move_checkpoint_aside(spark, checkpoint_location)
        _logger.info("%s: the old checkpoint is at %s", ledger.job_name, moved)
        on_moved()
        return _keep(spark, checkpoint_location, decided)
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
    return _keep(spark, checkpoint_location, decided)


def read_known_start(spark: SparkSession, checkpoint_location: str) -> JobStart | None:
    """Return where the query of a location started; null: no query ever started."""
    text = read_checkpoint_file(spark, checkpoint_location, START_FILE)
    return None if text is None else read_start(text)


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
