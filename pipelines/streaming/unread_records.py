"""What a topic's retention takes, or will soon take, of what a job has not read yet."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pipelines.counted import counted
from pipelines.delta_tables.locations import has_table, identify_table, qualify_path
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader
from pipelines.settings.stream_job_settings import StreamJobSettings
from pipelines.tables.telemetry import QUARANTINE

from .logins import read_source_options
from .offsets import Offsets
from .positions import (
    read_offsets_since,
    read_topic_bounds,
    read_topic_configs,
)
from .query_progress import read_query_progress
from .start_records import Ledger, find_topic
from .starts import read_known_start
from .stored_offsets import read_stored_offsets
from .topic_losses import find_expired, is_made_anew

SHARE_TO_WARN = 0.5
"""Share of a topic's retention: unread records that are older are in danger."""
_HOUR_MS = 3_600_000
_OLDEST_MS = 365 * 24 * _HOUR_MS
"""No record is as old; a topic that keeps records so long is in no danger."""
_DELETES = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadRecords:
    """How a job stands to the retention of its topic."""

    job_name: str
    topic: str
    behind: int
    """Records that the topic holds and the job has not read."""
    deleted: int
    """Records that the topic has deleted before the job has read them."""
    aged: int
    """Records of behind that are older than SHARE_TO_WARN of the retention."""
    retention_ms: int | None
    """How long the topic keeps records; null: it deletes none by age."""
    is_told: bool = True
    """Whether the topic tells that."""
    is_made_anew: bool = False
    """Whether the job has read another topic of this name."""

    @property
    def is_endangered(self) -> bool:
        """Say whether somebody must act, or should have."""
        return bool(self.is_made_anew or self.deleted or self.aged)

    def as_line(self) -> str:
        """Return a line; one that begins with !!! where somebody must act."""
        who = f"{self.job_name}, topic {self.topic}"
        behind = counted(self.behind, "record")
        if self.is_made_anew:
            return (
                f"!!! {who}: the topic was recreated since the job has read it, and "
                f"{behind} of the new one are to be read: start the job, which says "
                f"what is lost and how it goes on"
            )
        if self.deleted:
            lost = counted(self.deleted, "record")
            return (
                f"!!! {who}: {lost} were deleted by retention before the job has read "
                f"them, and {behind} are to be read: start the job, which says how it "
                f"goes on, and raise the topic's retention.ms"
            )
        if self.aged and self.retention_ms is not None:
            hours = self.retention_ms / _HOUR_MS
            return (
                f"!!! {who}: will delete what the job has not read: {self.aged:,} of "
                f"{behind} are older than {hours * SHARE_TO_WARN:g} h of the {hours:g} "
                f"h that the topic keeps; start the job, or raise the topic's "
                f"retention.ms, before they are gone"
            )
        if not self.is_told:
            return (
                f"{who}: {behind} behind; how long the topic keeps records is told to "
                f"who has DESCRIBE_CONFIGS on it"
            )
        deletes = "nothing by age"
        if self.retention_ms is not None:
            deletes = f"after {self.retention_ms / _HOUR_MS:g} h"
        return f"{who}: {behind} behind; the topic deletes {deletes}"


def find_unread(
    spark: SparkSession,
    settings: Settings,
    secrets: SecretReader,
    ledger: Ledger,
    now_ms: int,
) -> UnreadRecords | None:
    """Compare how far a job is with what its topic holds, and for how long.

    Args:
        secrets: Reads those of the Kafka connection.
        now_ms: Milliseconds since 1970.
    Nulls: None where the job has never run here.
    Raises: MissingService where Kafka does not answer, or has no such topic.
    """
    tables = (ledger.contract, QUARANTINE)
    names = [identify_table(spark, settings.tables, one) for one in tables]
    if not all(has_table(spark, name) for name in names):
        return None
    topic = find_topic(settings, ledger)
    options = read_source_options(spark, settings.kafka, secrets)
    # Before the bounds: a job that goes on meanwhile would be ahead of its topic.
    read = _find_position(spark, settings, ledger, topic)
    bounds = read_topic_bounds(
        spark, options, topic, topic_setting=ledger.topic_setting
    )
    is_anew = is_made_anew(read.position, read.planned_end, bounds, read.topic_id)
    # Of others nothing was read; of what they have lost before nobody knows.
    position = dict(bounds.beginning) | ({} if is_anew else dict(read.position))
    configs = read_topic_configs(spark, options, topic)
    retention_ms = None if configs is None else _read_retention(configs)
    held = {p: max(o, bounds.beginning.get(p, o)) for p, o in position.items()}
    aged = 0
    moment_ms = now_ms - int((retention_ms or 0) * SHARE_TO_WARN)
    if retention_ms is not None and moment_ms > _OLDEST_MS:
        young = read_offsets_since(spark, options, topic, bounds, moment_ms)
        aged = _count_between(held, young)
    return UnreadRecords(
        job_name=ledger.job_name,
        topic=topic,
        behind=_count_between(held, bounds.end),
        deleted=sum(
            loss.last_offset - loss.first_offset + 1
            for loss in find_expired(position, bounds)
            if loss.last_offset is not None
        ),
        aged=aged,
        retention_ms=retention_ms,
        is_told=configs is not None,
        is_made_anew=is_anew,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What a job has read."""

    position: Offsets
    """Partition to the first offset that it has not read."""
    planned_end: Offsets
    topic_id: str | None
    """Of the topic that it has read; null where that is not known."""


def _find_position(
    spark: SparkSession, settings: Settings, ledger: Ledger, topic: str
) -> _Read:
    job: StreamJobSettings = getattr(settings, ledger.job_name)
    location = qualify_path(spark, job.checkpoint_location)
    progress = read_query_progress(spark, location, topic)
    start = read_known_start(spark, location)
    if start is not None and start.topic != topic:
        start = None
    topic_id = None if start is None else start.topic_id
    known = progress.position
    if not known and start is not None:
        # What a person has decided, behind records that are gone or not wanted.
        offsets = start.starting_offsets.items()
        known = {p: offset for p, offset in offsets if offset >= 0}
    elif not known:
        stored = read_stored_offsets(spark, settings.tables, ledger, topic)
        known = stored.next_offsets
        topic_id = stored.topic_id if known else None
    return _Read(
        position=known,
        planned_end=progress.planned_end,
        topic_id=topic_id,
    )


def _count_between(position: Offsets, ends: Offsets) -> int:
    return sum(max(0, ends[p] - offset) for p, offset in position.items() if p in ends)


def _read_retention(configs: Mapping[str, str]) -> int | None:
    """Return how long a topic keeps records, in milliseconds; null: nothing goes."""
    if _DELETES not in configs.get("cleanup.policy", _DELETES):
        return None
    retention_ms = int(configs.get("retention.ms", "-1"))
    return None if retention_ms < 0 else retention_ms
