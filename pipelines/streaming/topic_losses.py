"""What a topic no longer holds of the records that a job had still to read.

Only the id of a topic tells two of the same name apart: offsets begin again with each,
and those of the second may have passed where the job stopped in the first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .offsets import Offsets
from .positions import TopicBounds

DATA_LOSS = "data_loss"
"""Reason in quarantine: the offsets up to the row's were not read."""
TOPIC_MADE_ANEW = "topic_made_anew"
"""Reason in quarantine: up to the row's offset, coordinates are of a former topic."""
REASONS = (DATA_LOSS, TOPIC_MADE_ANEW)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Records of one partition that were not read, and cannot be."""

    partition: int
    first_offset: int
    """The first one that was not read."""
    last_offset: int | None
    """The last one; null where only the topic that is gone knew it."""
    reason: str
    marked_offset: int
    """Offset of the row that tells of it."""

    def as_text(self) -> str:
        """Return which offsets they are."""
        if self.last_offset is None:
            return f"partition {self.partition} from offset {self.first_offset} on"
        if self.last_offset == self.first_offset:
            return f"partition {self.partition} offset {self.first_offset}"
        return (
            f"partition {self.partition} offsets {self.first_offset} to "
            f"{self.last_offset}"
        )


def is_made_anew(
    position: Offsets, planned_end: Offsets, bounds: TopicBounds, topic_id: str | None
) -> bool:
    """Say whether the topic is not the one in which a query has come this far.

    Args:
        position: Partition to the next offset to read.
        planned_end: Partition to the end of a micro-batch that was there to be read.
        bounds: What the topic holds now.
        topic_id: Of the topic that was read; null where it is not known.
    """
    if topic_id and bounds.topic_id:
        return topic_id != bounds.topic_id
    return any(
        partition not in bounds.end or offset > bounds.end[partition]
        for offsets in (position, planned_end)
        for partition, offset in offsets.items()
    )


def find_expired(position: Offsets, bounds: TopicBounds) -> list[Loss]:
    """Return what lies between a position and the oldest record that there is."""
    return [
        Loss(
            partition=partition,
            first_offset=offset,
            last_offset=bounds.beginning[partition] - 1,
            reason=DATA_LOSS,
            marked_offset=bounds.beginning[partition] - 1,
        )
        for partition, offset in sorted(position.items())
        if bounds.beginning.get(partition, 0) > offset
    ]


def find_replaced(position: Offsets, stored: Offsets) -> list[Loss]:
    """Return what a topic that was made anew has taken with it.

    Args:
        position: Partition to the next offset to read in the former topic.
        stored: Partition to the newest offset that any table holds of it.
    """
    return [
        Loss(
            partition=partition,
            first_offset=max(position.get(partition, 0), 0),
            last_offset=None,
            reason=TOPIC_MADE_ANEW,
            marked_offset=max(
                position.get(partition, 0) - 1, stored.get(partition, -1), -1
            ),
        )
        for partition in sorted(position.keys() | stored.keys())
    ]


def merge_newest(*newest: Offsets) -> dict[int, int]:
    """Return the greatest offset of each partition."""
    merged: dict[int, int] = {}
    for offsets in newest:
        for partition, offset in offsets.items():
            merged[partition] = max(offset, merged.get(partition, offset))
    return merged


def losses_as_data(losses: Sequence[Loss]) -> list[dict[str, Any]]:
    """Return losses as JSON takes them."""
    return [asdict(loss) for loss in losses]


def losses_from_data(data: Sequence[Mapping[str, Any]]) -> tuple[Loss, ...]:
    """Return what losses_as_data was given."""
    return tuple(Loss(**each) for each in data)
