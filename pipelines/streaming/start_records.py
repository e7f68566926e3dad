"""What is decided when a checkpoint location is new, as it is kept there."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.settings.records import Settings
from pipelines.tables.contract import TableContract

from .offsets import Offsets
from .topic_losses import Loss, losses_as_data, losses_from_data

EARLIEST_OFFSET = -2
"""The oldest record there is; Spark's own sign for it."""
ACCEPT_OPTION = "--accept-data-loss"


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

    def how_to_choose(self) -> str:
        """Return the ways on where tables and topic do not fit."""
        return (
            f"To go on where the former query stopped, set "
            f"{self.job_name}.checkpoint_location to its folder; to begin new tables "
            f"at {self.job_name}.starting_offsets, set tables.root_path (or "
            f"tables.catalog_schema) to a new place; to go on without what is gone, "
            f"add {ACCEPT_OPTION}: quarantine then says what was not read"
        )


def find_topic(settings: Settings, ledger: Ledger) -> str:
    """Return the topic of a job."""
    topic: str = getattr(settings.topics, ledger.topic_setting.partition(".")[2])
    return topic


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStart:
    """What was decided when the checkpoint location was new; never changed later."""

    topic: str
    starting_offsets: Offsets
    """Partition to the first offset to read, or EARLIEST_OFFSET."""
    floors: Mapping[str, Offsets]
    """Table to partition to the newest offset that the table held already."""
    topic_id: str | None = None
    """Of the topic; null where Kafka does not tell it."""
    losses: tuple[Loss, ...] = ()
    """What is left out, by the decision of a person's."""
    losses_id: str | None = None
    """Names that decision; null where there was none."""

    @property
    def starting_offsets_json(self) -> str:
        """Value of the Kafka source's option startingOffsets."""
        return json.dumps({self.topic: self.starting_offsets})


def write_start(start: JobStart) -> str:
    """Return a start as JSON."""
    return json.dumps(
        {
            "topic": start.topic,
            "starting_offsets": start.starting_offsets,
            "floors": start.floors,
            "topic_id": start.topic_id,
            "losses": losses_as_data(start.losses),
            "losses_id": start.losses_id,
        }
    )


def read_start(text: str) -> JobStart:
    """Return the start that write_start wrote; JSON made its partitions texts."""
    stored = json.loads(text)
    return JobStart(
        topic=stored["topic"],
        starting_offsets=_with_partitions(stored["starting_offsets"]),
        floors={k: _with_partitions(v) for k, v in stored["floors"].items()},
        topic_id=stored["topic_id"],
        losses=losses_from_data(stored["losses"]),
        losses_id=stored["losses_id"],
    )


def _with_partitions(offsets: Mapping[str, int]) -> dict[int, int]:
    return {int(partition): offset for partition, offset in offsets.items()}
