"""How far a topic's records are in a table, as its own commits say.

A table whose rows are changed by records does not show which of them it has: a record
may change nothing, or end a row. So each commit that changes such rows bears a note of
the last record that it knows, in the commit's user metadata, which is public. Where a
micro-batch was cut off, tables written before the ledger are ahead of it: what they
were before is an older version of theirs. A query that goes on with its checkpoint has
the same micro-batch once more, and reads that version. Another query may cut records
otherwise, so it takes such a table back to that version first.
"""

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .session_settings import session_settings

_LONG_AGO = {
    # Of a version before a commit Delta asks when it was written, not until when it was
    # the newest one. Its files are there: maintenance leaves such a table alone.
    "spark.databricks.delta.vacuum."
    "enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
}
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_LABEL = "kafka_clientele"
_FIRST_LOOK = 20
"""Newest commits that are looked at first; others are those of people."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a commit knows of a topic of one partition."""

    topic: str
    topic_id: str | None
    """A topic that is made anew has all offsets once more; null: not known."""
    offset: int
    """The last record that it knows."""
    query_id: str

    def is_before(self, other: "Note") -> bool:
        """Return whether another note of the same topic knows a later record."""
        mine, theirs = (self.topic, self.topic_id), (other.topic, other.topic_id)
        return mine == theirs and self.offset < other.offset


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedState:
    """How a table stands to the records of a micro-batch."""

    newest: Note | None
    """The newest note; null: none of this topic."""
    version_before: int | None
    """The version that lacks all records of the micro-batch; null: the newest one."""


@contextmanager
def noting(session: SparkSession, note: Note) -> Iterator[None]:
    """Have the commits of a block bear a note."""
    session.conf.set(USER_METADATA, json.dumps({_LABEL: asdict(note)}))
    try:
        yield
    finally:
        session.conf.unset(USER_METADATA)


def read_noted_state(
    session: SparkSession, table: str, *, topic: str, topic_id: str | None, first: int
) -> NotedState:
    """Look how far a table is.

    Args:
        table: SQL identifier.
        topic: Notes of other topics, and of other ids of it, do not count.
        first: Offset of the first record of a micro-batch.
    """
    history = session.sql(f"DESCRIBE HISTORY {table}")  # an identifier of ours
    commits = history.select("version", "userMetadata").orderBy(
        "version", ascending=False
    )
    for found in (_collect(commits.limit(_FIRST_LOOK)), None):
        notes = [
            (version, note)
            for version, note in (_collect(commits) if found is None else found)
            if note.topic == topic and note.topic_id == topic_id
        ]
        ahead = _take_ahead(notes, first)
        if len(ahead) < len(notes):
            break
    return NotedState(
        newest=notes[0][1] if notes else None,
        version_before=ahead[-1][0] - 1 if ahead else None,
    )


def read_newest_note(session: SparkSession, table: str) -> Note | None:
    """Return the newest note of a table; null: it has none."""
    history = session.sql(f"DESCRIBE HISTORY {table}")  # an identifier of ours
    commits = history.select("version", "userMetadata").where(
        F.col("userMetadata").contains(_LABEL)
    )
    notes = _collect(commits.orderBy("version", ascending=False))
    return notes[0][1] if notes else None


def take_back(session: SparkSession, table: str, version: int, note: Note) -> None:
    """Make a table what it was at a version, in one commit."""
    _logger.warning(
        "%s is ahead of its ledger, of a micro-batch that was cut off; goes back to "
        "version %d",
        table,
        version,
    )
    with noting(session, note), session_settings(session, _LONG_AGO):
        session.sql(f"RESTORE TABLE {table} TO VERSION AS OF {version}").collect()


def read_at(session: SparkSession, table: str, version: int | None) -> DataFrame:
    """Return a table as it was at a version; null: as it is."""
    if version is None:
        return session.table(table)
    with session_settings(session, _LONG_AGO):
        return session.sql(f"SELECT * FROM {table} VERSION AS OF {version}")  # noqa: S608 - an identifier of ours


Noted = tuple[int, Note]
"""Version and its note."""


def _take_ahead(notes: Sequence[Noted], first: int) -> list[Noted]:
    """Return the newest notes, as long as they know the record, newest first."""
    ahead: list[Noted] = []
    for one in notes:
        if one[1].offset < first:
            break
        ahead.append(one)
    return ahead


def _collect(commits: DataFrame) -> list[Noted]:
    """Return versions with a note of ours, newest first."""
    found = []
    for row in commits.collect():
        note = _read_note(row["userMetadata"])
        if note is not None:
            found.append((int(row["version"]), note))
    return found


def _read_note(text: str | None) -> Note | None:
    """Return a note; null where somebody else has written, or nobody."""
    try:
        said = json.loads(text or "")[_LABEL]
        return Note(**said)
    except (KeyError, TypeError, ValueError):
        return None
