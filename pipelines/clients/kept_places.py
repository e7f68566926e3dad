"""Pauses and seeks of a consumer, for the handle that replaces its current one.

librdkafka keeps a pause through a rebalance, but a new handle starts without any. A
seek that no record was read from exists in the handle only.
"""

from collections.abc import Iterable
from typing import Any

from confluent_kafka import TopicPartition

_Place = tuple[str, int]


class KeptPlaces:
    """What an application has paused, and where it has seeked to."""

    def __init__(self, *, is_incremental: bool) -> None:
        """Start without any.

        Args:
            is_incremental: Whether partitions are assigned one by one.
        """
        self._is_incremental = is_incremental
        self._paused: set[_Place] = set()
        self._sought: dict[_Place, int] = {}
        self.is_anew = False
        """Whether the handle is not the first one."""
        self.has_assigned = False
        """Whether the application has assigned partitions in its callback."""
        self.is_changing = False
        """Whether partitions are given up only to be taken by another handle."""

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Note paused partitions."""
        self._paused.update(map(_place, partitions))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Note resumed partitions."""
        self._paused.difference_update(map(_place, partitions))

    def seek(self, partition: TopicPartition) -> None:
        """Note a position that the application has set."""
        self._sought[_place(partition)] = partition.offset

    def forget_seeks(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget seeks in partitions that are given up, or assigned at other places."""
        if not self.is_changing:
            for one in partitions:
                self._sought.pop(_place(one), None)

    def note_read(self, messages: Iterable[Any]) -> None:
        """Forget seeks that a record was read from."""
        if self._sought:
            for one in messages:
                if one is not None and one.error() is None:
                    self._sought.pop((one.topic(), one.partition()), None)

    def restore(self, handle: Any, partitions: list[TopicPartition]) -> None:  # noqa: ANN401 - as upstream
        """Assign partitions to a new handle at their places, and pause the paused ones.

        If there is nothing to restore, confluent_kafka assigns the partitions itself.
        """
        if not self.is_anew:
            return
        kept = self._paused | self._sought.keys()
        if not any(_place(one) in kept for one in partitions):
            return
        if not self.has_assigned:
            for one in partitions:
                one.offset = self._sought.get(_place(one), one.offset)
            assign = (
                handle.incremental_assign if self._is_incremental else handle.assign
            )
            assign(partitions)
        paused = [one for one in partitions if _place(one) in self._paused]
        if paused:
            handle.pause(paused)


def _place(partition: TopicPartition) -> _Place:
    return partition.topic, partition.partition
