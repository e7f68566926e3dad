"""Where a query begins when its checkpoint location is new and its tables are not.

The ledger is written last in each micro-batch, so the first record that it lacks is the
first record to read. A batch that was cut off may already stand in tables written
before it: their newest offsets, their floors, are kept with the checkpoint location,
and records up to a floor are not written to that table again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pipelines.delta_tables.table_locations import identify_table
from pipelines.errors import UnsafeStart
from pipelines.settings.records import TableSettings
from pipelines.tables import TableContract
from pipelines.transforms.offsets import Offsets, select_newest_offsets

from .checkpoint_files import (
    has_planned_batches,
    read_checkpoint_file,
    write_checkpoint_file,
)
from .kafka_positions import TopicBounds

START_FILE = "start.json"
EARLIEST_OFFSET = -2
"""The oldest record there is; Spark's own sign for it."""
EARLIEST = "earliest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The table that says what a job has done, and the job."""

    job_name: str
    """Name of its section of settings, too."""
    topic_setting: str
    """Name of the setting of its topic."""
    contract: TableContract
    written_before: tuple[TableContract, ...]
    """Tables with the coordinates of records that each micro-batch appends to first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStart:
    """What was decided when the checkpoint location was new; never changed later."""

    topic: str
    starting_offsets: Offsets
    """Partition to the first offset to read, or EARLIEST_OFFSET."""
    floors: Mapping[str, Offsets]
    """Table to partition to the newest offset that the table held already."""

    @property
    def starting_offsets_json(self) -> str:
        """Value of the Kafka source's option startingOffsets."""
        return json.dumps({self.topic: self.starting_offsets})


def decide_start(
    spark: SparkSession,
    tables: TableSettings,
    ledger: Ledger,
    topic: str,
    bounds: TopicBounds,
    *,
    checkpoint_location: str,
    starting_offsets: str,
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
    Raises: UnsafeStart where going on would lose or repeat records.
    """
    text = read_checkpoint_file(spark, checkpoint_location, START_FILE)
    if text is not None:
        return _check_topic(ledger, read_start(text), topic, checkpoint_location)
    if has_planned_batches(spark, checkpoint_location):
        raise UnsafeStart(
            f"checkpoint location {checkpoint_location} holds the progress of a query "
            f"and no {START_FILE} of this job; choose another folder with --set "
            f"{ledger.job_name}.checkpoint_location=FOLDER"
        )
    newest = {
        contract.name: _read_newest_offsets(spark, tables, contract, topic)
        for contract in (ledger.contract, *ledger.written_before)
    }
    is_first_run = not any(newest.values())
    pushed = newest.pop(ledger.contract.name)
    start = JobStart(
        topic=topic,
        starting_offsets=resume_offsets(
            ledger, topic, pushed, bounds, starting_offsets, is_first_run=is_first_run
        ),
        floors=newest,
    )
    write_checkpoint_file(spark, checkpoint_location, START_FILE, write_start(start))
    return start


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
            f"and the topic has no such partition: it was made anew. "
            f"{_how_to_choose(ledger)}"
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


def write_start(start: JobStart) -> str:
    """Return a start as JSON."""
    return json.dumps(
        {
            "topic": start.topic,
            "starting_offsets": start.starting_offsets,
            "floors": start.floors,
        }
    )


def read_start(text: str) -> JobStart:
    """Return the start that write_start wrote; JSON made its partitions texts."""
    stored = json.loads(text)
    return JobStart(
        topic=stored["topic"],
        starting_offsets=_with_partitions(stored["starting_offsets"]),
        floors={k: _with_partitions(v) for k, v in stored["floors"].items()},
    )


def _with_partitions(offsets: Mapping[str, int]) -> dict[int, int]:
    return {int(partition): offset for partition, offset in offsets.items()}


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
        else "the topic was made anew"
    )
    raise UnsafeStart(
        f"{ledger.contract.name} goes on at {topic} partition {partition} offset "
        f"{offset}, and the topic holds {beginning} to {end}: {why}. "
        f"{_how_to_choose(ledger)}"
    )


def _read_newest_offsets(
    spark: SparkSession, tables: TableSettings, contract: TableContract, topic: str
) -> dict[int, int]:
    records = spark.table(identify_table(spark, tables, contract))
    rows = records.transform(select_newest_offsets, topic).collect()
    return {row["partition"]: row["offset"] for row in rows}


def _how_to_choose(ledger: Ledger) -> str:
    return (
        f"To go on where the former query stopped, set "
        f"{ledger.job_name}.checkpoint_location to its folder; to begin new tables at "
        f"{ledger.job_name}.starting_offsets, set tables.root_path (or "
        f"tables.catalog_schema) to a new place"
    )
