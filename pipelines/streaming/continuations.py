"""Where a query goes on behind records that Kafka no longer has."""

import uuid

from pipelines.errors import UnsafeStart

from .offsets import Offsets
from .positions import TopicBounds
from .query_progress import QueryProgress
from .start_records import EARLIEST_OFFSET, JobStart, Ledger
from .stored_offsets import StoredOffsets
from .topic_losses import (
    DATA_LOSS,
    Loss,
    find_expired,
    find_replaced,
    is_made_anew,
    merge_newest,
)


def find_losses(
    start: JobStart, progress: QueryProgress, bounds: TopicBounds
) -> list[Loss]:
    """Return what a query had still to read and the topic no longer holds."""
    position = _find_position(start, progress, bounds)
    if is_made_anew(position, progress.planned_end, bounds, start.topic_id):
        return find_replaced(position, {})
    return find_expired(position, bounds)


def _find_position(
    start: JobStart, progress: QueryProgress, bounds: TopicBounds
) -> dict[int, int]:
    """Return the next offset of each partition, as far as one is fixed."""
    if not progress.position:
        return {p: o for p, o in start.starting_offsets.items() if o >= 0}
    of_start = start.topic_id in {None, bounds.topic_id}
    # Of a partition that was added meanwhile all records are new.
    added = dict.fromkeys(bounds.end, 0) if of_start else {}
    return added | dict(progress.position)


def go_on_behind(
    start: JobStart,
    progress: QueryProgress,
    stored: StoredOffsets,
    bounds: TopicBounds,
) -> JobStart:
    """Return the start behind what is gone, or behind what the ledger has of it.

    Args:
        start: Of the query that cannot go on.
        progress: Its own.
        stored: What the tables say.
        bounds: What the topic holds now.
    """
    position = _find_position(start, progress, bounds)
    planned_end = progress.planned_end
    anew = is_made_anew(position, planned_end, bounds, start.topic_id)
    position = merge_newest(position, stored.next_offsets)
    if anew:
        return begin_anew(start.topic, bounds, position, stored)
    losses = find_expired(position, bounds)
    if losses:
        # What a batch that was cut off has written is known by floors, and there are
        # none of offsets that a former topic had as well: the batch is left out.
        covered = {p: e for p, e in planned_end.items() if e <= stored.marks.get(p, -1)}
        losses = _cover(losses, position, covered)
    return skip_records(start.topic, bounds, position, stored, losses)


def _cover(losses: list[Loss], position: Offsets, ends: Offsets) -> list[Loss]:
    """Extend losses to the ends of some partitions."""
    last = {loss.partition: loss.marked_offset for loss in losses}
    for partition, end in ends.items():
        if end > position.get(partition, 0):
            last[partition] = max(last.get(partition, -1), end - 1)
    return [
        Loss(
            partition=partition,
            first_offset=position.get(partition, 0),
            last_offset=offset,
            reason=DATA_LOSS,
            marked_offset=offset,
        )
        for partition, offset in sorted(last.items())
    ]


def begin_anew(
    topic: str, bounds: TopicBounds, position: Offsets, stored: StoredOffsets
) -> JobStart:
    """Return the start of a topic that has another's place; no floor is of it."""
    nothing = dict.fromkeys(bounds.end, 0)
    lost = find_replaced(position, merge_newest(stored.newest, stored.marks))
    return JobStart(
        topic=topic,
        starting_offsets=dict.fromkeys(sorted(bounds.end), EARLIEST_OFFSET),
        floors={name: {} for name in stored.before},
        topic_id=bounds.topic_id,
        losses=(*lost, *find_expired(nothing, bounds)),
        losses_id=uuid.uuid4().hex,
    )


def skip_records(
    topic: str,
    bounds: TopicBounds,
    position: Offsets,
    stored: StoredOffsets,
    losses: list[Loss],
) -> JobStart:
    """Return the start behind records of the same topic."""
    behind = {
        loss.partition: loss.last_offset + 1
        for loss in losses
        if loss.last_offset is not None
    }
    resumed = dict.fromkeys(bounds.end, EARLIEST_OFFSET) | dict(position) | behind
    return JobStart(
        topic=topic,
        starting_offsets=dict(sorted(resumed.items())),
        floors=stored.floors,
        topic_id=bounds.topic_id,
        losses=tuple(losses),
        losses_id=uuid.uuid4().hex if losses else None,
    )


def find_hidden(
    ledger: Ledger,
    topic: str,
    stored: StoredOffsets,
    bounds: TopicBounds,
    *,
    accepts: bool,
) -> list[Loss]:
    """Return what may have been read already, or not: nothing of it is read again.

    The tables hold coordinates of a former topic of the name. Where those of this one
    have not passed them, the tables cannot tell how far it was read.
    """
    newest = stored.next_offsets
    hidden = [p for p in sorted(stored.marks) if p in bounds.end and p not in newest]
    hidden = [p for p in hidden if bounds.end[p] > 0 and stored.marks[p] >= 0]
    if hidden and not accepts:
        partition = hidden[0]
        raise UnsafeStart(
            f"topic {topic} was recreated, {ledger.contract.name} holds records of the "
            f"former one up to partition {partition} offset {stored.marks[partition]}, "
            f"and how far this one was read stands only in the checkpoint location of "
            f"the former query. {ledger.how_to_choose()}"
        )
    last = {p: min(stored.marks[p], bounds.end[p] - 1) for p in hidden}
    return [
        Loss(
            partition=partition,
            first_offset=0,
            last_offset=offset,
            reason=DATA_LOSS,
            marked_offset=offset,
        )
        for partition, offset in last.items()
    ]
