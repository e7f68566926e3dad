"""One sentence on records that are gone: which, since when, and what goes on."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from pipelines.counted import counted

from .query_progress import QueryProgress
from .start_records import ACCEPT_OPTION, JobStart
from .topic_losses import TOPIC_MADE_ANEW, Loss

_MOST_NAMED = 4
_MS_PER_S = 1000


def describe_losses(
    start: JobStart,
    behind: JobStart,
    progress: QueryProgress,
    tell_topic: Callable[[], str],
) -> str:
    """Return what cannot be read, and the way on.

    Args:
        start: Of the query that cannot go on.
        behind: Of the one that would go on.
        progress: How far the first one came.
        tell_topic: Says of a topic that was recreated what is wrong with it, or "".
    """
    is_anew = any(loss.reason == TOPIC_MADE_ANEW for loss in behind.losses)
    what = (
        f"topic {start.topic} was deleted and recreated"
        f"{_tell_ids(start, behind)}{tell_topic()}"
        if is_anew
        else f"retention of topic {start.topic} removed records that were not read"
    )
    where = "at the beginning of the new topic" if is_anew else "behind them"
    return (
        f"{what}: not read are {list_losses(behind.losses)}; "
        f"{tell_last_commit(progress)}. The same command with {ACCEPT_OPTION} goes on "
        f"{where}, without them; quarantine then says which they were"
    )


def list_losses(losses: Sequence[Loss]) -> str:
    """Return which records they are, the first partitions by name."""
    named = [loss.as_text() for loss in losses[:_MOST_NAMED]]
    if len(losses) > _MOST_NAMED:
        others = len(losses) - _MOST_NAMED
        named.append(f"more of {counted(others, 'partition')}")
    known = [
        loss.last_offset - loss.first_offset + 1
        for loss in losses
        if loss.last_offset is not None
    ]
    is_known = len(known) == len(losses)
    count = f" ({counted(sum(known), 'offset')})" if is_known else ""
    return ", ".join(named) + count


def tell_last_commit(progress: QueryProgress) -> str:
    """Return since when a job has not gone on."""
    if progress.committed_at_ms is None:
        return "the job has committed no micro-batch yet"
    moment = datetime.fromtimestamp(progress.committed_at_ms / _MS_PER_S, tz=UTC)
    return f"the job last committed a micro-batch at {moment:%Y-%m-%dT%H:%M:%SZ}"


def _tell_ids(start: JobStart, behind: JobStart) -> str:
    partitions = counted(len(behind.starting_offsets), "partition")
    if start.topic_id is None or behind.topic_id is None:
        return f" ({partitions})"
    return f" (its id was {start.topic_id}, is {behind.topic_id}; {partitions})"
