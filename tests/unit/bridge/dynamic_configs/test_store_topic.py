"""The store is read in small turns of the event loop, one batch at a time."""

import asyncio
import itertools

import pytest
from confluent_kafka import KafkaError

from pipelines.bridge.dynamic_configs import store_topic
from pipelines.bridge.dynamic_configs.store_topic import (
    Backlog,
    ReadBatch,
    StoreTopicLink,
    _read_batch,
)

LARGEST_TURN = 100


class Stored:
    """A message of a topic."""

    def __init__(self, offset, key=b"key", value=b"value", error=None):
        self._offset, self._key, self._value = offset, key, value
        self._error = error

    def error(self):
        return self._error

    def offset(self):
        return self._offset

    def timestamp(self):
        return 1, 5

    def key(self):
        return self._key

    def value(self):
        return self._value


END = Stored(0, error=KafkaError(KafkaError._PARTITION_EOF))


class Reader:
    """A consumer that always has another message."""

    def __init__(self):
        self._end = 0

    def poll(self, _timeout_s):
        self._end += 1
        return Stored(self._end - 1)


def test_read_batch_is_bounded():
    reader, batches, reached = Reader(), [], 0
    for _ in range(3):
        reached = _read_batch(reader, reader.poll(1), reached, batches.append)
    assert [len(one.records) for one in batches] == [LARGEST_TURN] * 3
    assert batches[-1].records[-1][0] == reached - 1 == 3 * LARGEST_TURN - 1


@pytest.mark.parametrize("raises", [False, True])
def test_follow_reads_no_batch_before_the_last_one_is_taken(monkeypatch, raises):
    """Between two batches the event loop serves others."""
    link = StoreTopicLink({}, topic="t", bridge_id="b", replaceable=b"R/")
    turns, handed_over, taken = [], [], []

    def read(hand_over, _has_stopped):
        for number in range(20):
            handed_over.append(number)
            hand_over(ReadBatch([(number, b"", b"", 0)]))
        hand_over(ReadBatch([], is_at_end=True))

    monkeypatch.setattr(link, "_follow", read)

    def take(batch):
        taken.append(batch)
        assert len(handed_over) - len(taken) <= 0 or batch.is_at_end
        turns.append("batch")
        if raises:
            raise ValueError("of one batch")

    async def scene():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, _context: None)
        following = asyncio.create_task(link.follow(take))
        while len(taken) < 21:
            turns.append("other")
            await asyncio.sleep(0)
        await following

    async def bounded():
        async with asyncio.timeout(20):
            await scene()

    asyncio.run(bounded())
    assert [one.records[0][0] for one in taken[:-1]] == list(range(20))
    assert all(
        (one, after) != ("batch", "batch") for one, after in itertools.pairwise(turns)
    )


def test_follow_that_is_cancelled_lets_its_reader_end(monkeypatch):
    monkeypatch.setattr(store_topic, "SLICE_S", 0.01)
    link = StoreTopicLink({}, topic="t", bridge_id="b", replaceable=b"R/")
    has_ended = []

    async def scene():
        loop = asyncio.get_running_loop()
        ended = loop.create_future()

        def read(hand_over, has_stopped):
            loop.call_soon_threadsafe(following.cancel)
            while not has_stopped.is_set():
                hand_over(ReadBatch([]))
            has_ended.append(True)
            loop.call_soon_threadsafe(ended.set_result, None)

        monkeypatch.setattr(link, "_follow", read)
        following = asyncio.create_task(link.follow(lambda _batch: None))
        await asyncio.gather(following, return_exceptions=True)
        async with asyncio.timeout(10):
            await ended

    asyncio.run(scene())
    assert has_ended == [True]


def read_backlog(*messages):
    """Return what is handed over of messages, the end after them."""
    batches = []
    backlog = Backlog(batches.append, b"R/")
    backlog.take([*messages, END])
    assert backlog.is_read
    return batches


def list_offsets(batches):
    return [one[0] for batch in batches for one in batch.records]


def test_backlog_of_a_flood_is_its_live_records_in_small_turns():
    messages = []
    for number in range(50_000):
        messages.append(Stored(2 * number, b"R/%d" % number))
        if number >= 1_000:
            forgotten = b"R/%d" % (number - 1_000)
            messages.append(Stored(2 * number + 1, forgotten, None))
    *batches, end = read_backlog(*messages)
    assert end == ReadBatch([], is_at_end=True)
    assert list_offsets(batches) == [2 * number for number in range(49_000, 50_000)]
    assert {len(one.records) for one in batches} == {LARGEST_TURN}


def test_backlog_keeps_the_last_registration_of_a_key_and_every_other_record():
    batches = read_backlog(
        Stored(0, b"R/a"), Stored(1, b"R/b"), Stored(2, None), Stored(3, None, None),
        Stored(4, b"C/a"), Stored(5, b"R/a", b"new"), Stored(6, b"R/c", None),
        Stored(7, b"C/a", b"new"), Stored(8, b"C/a", None),
    )  # fmt: skip
    assert list_offsets(batches) == [1, 2, 3, 4, 5, 7, 8]


def test_backlog_above_its_bound_is_handed_over_with_later_tombstones(monkeypatch):
    monkeypatch.setattr(store_topic, "_MOST_COMPACTED", 2)
    batches = []
    backlog = Backlog(batches.append, b"R/")
    backlog.take([Stored(0, b"R/a"), Stored(1, b"R/b"), Stored(2, b"R/c")])
    assert list_offsets(batches) == [0, 1, 2]
    backlog.take([Stored(3, b"R/a", None), END])
    assert batches[1:] == [
        ReadBatch([(3, b"R/a", None, 5)]),
        ReadBatch([], is_at_end=True),
    ]
    assert backlog.reached == 4


def test_backlog_of_a_topic_that_is_recreated_begins_again(monkeypatch):
    batches = read_backlog(Stored(7, b"R/a"), Stored(0, b"R/b"))
    assert list_offsets(batches) == [0]
    monkeypatch.setattr(store_topic, "_MOST_COMPACTED", 0)
    batches = []
    backlog = Backlog(batches.append, b"R/")
    backlog.take([Stored(7, b"R/a")])
    backlog.take([Stored(0, b"R/b"), END])
    assert [one.is_anew for one in batches] == [False, True, False, False]


def test_backlog_hands_over_a_fault_and_reads_on():
    refused = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    batches = read_backlog(Stored(0, error=refused), Stored(0, b"R/a"))
    assert batches[0] == ReadBatch([], fault="TOPIC_AUTHORIZATION_FAILED")
    assert list_offsets(batches) == [0]
