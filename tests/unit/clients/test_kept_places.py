"""Pauses and seeks that a new handle of a consumer gets."""

import pytest
from confluent_kafka import TopicPartition

from pipelines.clients.kept_places import KeptPlaces


class Handle:
    def __init__(self):
        self.assigned, self.paused = [], []

    def assign(self, partitions):
        self.assigned = [(one.partition, one.offset) for one in partitions]

    def pause(self, partitions):
        self.paused = [one.partition for one in partitions]


@pytest.fixture
def places():
    places = KeptPlaces(is_incremental=False)
    places.is_anew = True
    return places


def restore(places):
    handle = Handle()
    places.restore(handle, [TopicPartition("t", 0, 7), TopicPartition("t", 1, 8)])
    return handle


def test_restore_repeats_pauses_and_seeks(places):
    places.pause([TopicPartition("t", 0)])
    places.seek(TopicPartition("t", 1, 3))
    handle = restore(places)
    assert handle.assigned == [(0, 7), (1, 3)]
    assert handle.paused == [0]


def test_restore_after_a_rebalance_repeats_no_seek(places):
    places.seek(TopicPartition("t", 1, 3))
    places.forget_seeks([TopicPartition("t", 1)])
    assert restore(places).assigned == []


def test_restore_after_a_change_of_the_handle_repeats_the_seek(places):
    places.seek(TopicPartition("t", 1, 3))
    places.is_changing = True
    places.forget_seeks([TopicPartition("t", 1)])
    places.is_changing = False
    assert restore(places).assigned == [(0, 7), (1, 3)]
