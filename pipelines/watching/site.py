"""What was seen of a site at one moment; plain records, from which all else follows."""

from collections.abc import Mapping
from dataclasses import dataclass

MS_PER_S = 1_000
MS_PER_HOUR = 3_600 * MS_PER_S


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeLook:
    """One page of a bridge, or of one of its workers."""

    address: str
    """host:port of its pages."""
    has_answered: bool
    is_ready: bool
    said: str
    """What /readyz says, or why there is no answer."""
    accepted: int | None = None
    """Pushes since its start; null without an answer, as all below."""
    refused: int | None = None
    accepted_per_s: float | None = None
    """In the second in which it was looked at."""
    refused_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLook:
    """What of a topic lies behind a position in it."""

    has_topic: bool
    unread: int = 0
    """Offsets from there to the end; transactions and compaction leave gaps in them."""
    waiting_since_ms: int | None = None
    """Timestamp of the oldest unread record that Kafka gave in time; null: none."""
    lost: int = 0
    """Offsets that were deleted before they were read."""
    is_made_anew: bool = False
    """Whether the topic ends before the position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLook:
    """One streaming job."""

    name: str
    topic: str
    was_started: bool | None
    """Null: its checkpoint location is on no disk of this machine."""
    is_running: bool | None
    """Whether a process holds its claim; null: cannot be told from here."""
    committed_ms: int | None
    """When it ended its newest micro-batch; null: never, or not known."""
    topic_look: TopicLook | None
    """Null where Kafka does not answer, or the position is not known."""
    fault: str | None = None
    """Why its checkpoint location cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLook:
    """One table; of a missing one only its name is known."""

    name: str
    is_there: bool
    fault: str | None = None
    """Why its log cannot be read."""
    made_ms: int | None = None
    """When the table was made; null where its log does not say."""
    version: int | None = None
    committed_ms: int | None = None
    """Time of the newest commit."""
    rows: int | None = None
    """Null where a file has no statistics."""
    files: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLook:
    """The newest run of maintenance, or of the checks of tables."""

    began_ms: int
    completed_ms: int | None
    """When the newest run began that came to its end, which may be an older one; null:
    none did."""
    failed: tuple[str, ...]
    """What of it has failed: a table, and its action or expectation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLook:
    """The tables, and what stands in those that are about others."""

    tables: tuple[TableLook, ...] = ()
    quarantined: Mapping[str, int] | None = None
    """Reason to records of the last hour; null: there is no quarantine to look at."""
    maintenance: RunLook | None = None
    """Null: never, as below."""
    checks: RunLook | None = None
    is_maintained: bool | None = None
    """Whether a maintenance is under way; null: cannot be told from here."""
    unread: tuple[str, ...] = ()
    """Tables whose rows could not be read, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLook:
    """All that was seen."""

    at_ms: int
    """Since 1970."""
    bridges: tuple[BridgeLook, ...]
    kafka_servers: str
    kafka_fault: str | None
    """Why Kafka has not answered; null where it has."""
    jobs: tuple[JobLook, ...]
    tables_at: str
    stored: StoredLook
    not_looked_at: tuple[str, ...]
    """What cannot be seen from here, and why."""
