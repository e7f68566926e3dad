"""What a topic no longer has of what was to be read, and where a job goes on."""

import pytest

from pipelines.errors import UnsafeStart
from pipelines.jobs.telemetry.job import LEDGER
from pipelines.streaming.continuations import (
    find_hidden,
    find_losses,
    go_on_behind,
    skip_records,
)
from pipelines.streaming.loss_sentences import describe_losses, list_losses
from pipelines.streaming.positions import TopicBounds
from pipelines.streaming.query_progress import QueryProgress
from pipelines.streaming.start_records import EARLIEST_OFFSET, JobStart
from pipelines.streaming.stored_offsets import StoredOffsets
from pipelines.streaming.topic_losses import DATA_LOSS, Loss

START = JobStart(topic="t", starting_offsets={0: 5}, floors={}, topic_id="former")
NOON_MS = 1_772_366_400_000


def bounds(beginning, end, topic_id="former"):
    return TopicBounds(beginning=beginning, end=end, topic_id=topic_id)


def progress(position, planned_end=None, committed_at_ms=NOON_MS):
    return QueryProgress(
        position=position,
        planned_end=planned_end or {},
        committed_at_ms=committed_at_ms,
    )


def stored(ledger=None, metrics=None, marks=None):
    return StoredOffsets(
        ledger=ledger or {}, before={"client_metrics": metrics or {}}, marks=marks or {}
    )


@pytest.mark.parametrize(
    ("position", "topic"),
    [
        ({0: 7}, bounds({0: 7}, {0: 9})),
        ({0: 9}, bounds({0: 0}, {0: 9})),
        ({}, bounds({0: 5}, {0: 9})),
        ({0: 7}, bounds({0: 0}, {0: 9}, topic_id=None)),
        ({0: 7}, bounds({0: 7, 1: 0}, {0: 9, 1: 4})),
    ],
    ids=["at the beginning", "at the end", "not begun", "no id", "a new partition"],
)
def test_nothing_is_lost_of_what_the_topic_holds(position, topic):
    assert find_losses(START, progress(position), topic) == []


@pytest.mark.parametrize(
    ("position", "planned_end", "topic"),
    [
        ({0: 7}, {}, bounds({0: 0}, {0: 99}, topic_id="other")),
        ({0: 7}, {}, bounds({0: 0}, {0: 6}, topic_id=None)),
        ({0: 7}, {0: 12}, bounds({0: 0}, {0: 11}, topic_id=None)),
        ({0: 7, 1: 7}, {}, bounds({0: 0}, {0: 99}, topic_id=None)),
    ],
    ids=["another id", "beyond the end", "a batch beyond the end", "fewer partitions"],
)
def test_a_topic_made_anew_is_known_by_its_id_or_its_offsets(
    position, planned_end, topic
):
    query = progress(position, planned_end)
    assert {loss.reason for loss in find_losses(START, query, topic)} == {
        "topic_made_anew"
    }
    former = stored(ledger={0: 6}, metrics={0: 8}, marks={0: 2})
    behind = go_on_behind(START, query, former, topic)
    assert behind.starting_offsets == {0: EARLIEST_OFFSET}
    assert behind.floors == {"client_metrics": {}}
    assert behind.topic_id == topic.topic_id
    first = behind.losses[0]
    assert (first.partition, first.first_offset, first.marked_offset) == (0, 7, 8)


def test_a_loss_begins_behind_what_the_ledger_has_of_a_batch_that_was_cut_off():
    query = progress({0: 7, 1: 4}, {0: 12, 1: 6})
    topic = bounds({0: 20, 1: 4}, {0: 30, 1: 6})
    tables = stored(ledger={0: 11, 1: 5}, metrics={0: 11, 1: 5})
    behind = go_on_behind(START, query, tables, topic)
    assert [loss.as_text() for loss in behind.losses] == [
        "partition 0 offsets 12 to 19"
    ]
    assert behind.starting_offsets == {0: 20, 1: 6}
    assert behind.floors == {"client_metrics": {0: 11, 1: 5}}


def test_what_the_ledger_has_is_not_lost():
    topic = bounds({0: 12}, {0: 30})
    behind = go_on_behind(START, progress({0: 7}, {0: 12}), stored({0: 11}), topic)
    assert behind.losses == ()
    assert behind.losses_id is None
    assert behind.starting_offsets == {0: 12}


def test_a_partition_that_was_added_loses_its_first_records():
    topic = bounds({0: 7, 1: 3}, {0: 9, 1: 4})
    [loss] = find_losses(START, progress({0: 7}), topic)
    assert loss.as_text() == "partition 1 offsets 0 to 2"


def test_a_cut_off_batch_that_no_floor_can_tell_is_left_out():
    """Offsets up to 100 are in the tables from a former topic, too."""
    query = progress({0: 30, 1: 10}, {0: 40, 1: 20})
    tables = stored(ledger={0: 100, 1: 100}, metrics={0: 100, 1: 100}, marks={0: 100})
    tables = StoredOffsets(
        ledger=tables.ledger, before=tables.before, marks={0: 100, 1: 100}
    )
    behind = go_on_behind(START, query, tables, bounds({0: 35, 1: 0}, {0: 50, 1: 50}))
    assert [loss.as_text() for loss in behind.losses] == [
        "partition 0 offsets 30 to 39",
        "partition 1 offsets 10 to 19",
    ]
    assert behind.starting_offsets == {0: 40, 1: 20}
    assert behind.floors == {"client_metrics": {}}


def test_a_new_checkpoint_cannot_tell_two_topics_apart_below_the_mark():
    tables = stored(ledger={0: 100, 1: 140}, metrics={0: 120}, marks={0: 110, 1: 90})
    topic = bounds({0: 0, 1: 0}, {0: 300, 1: 300})
    with pytest.raises(UnsafeStart, match="only in the checkpoint location of the"):
        find_hidden(LEDGER, "t", tables, topic, accepts=False)
    hidden = find_hidden(LEDGER, "t", tables, topic, accepts=True)
    assert [loss.as_text() for loss in hidden] == ["partition 0 offsets 0 to 110"]
    behind = skip_records("t", topic, tables.next_offsets, tables, hidden)
    assert behind.starting_offsets == {0: 111, 1: 141}
    assert behind.floors == {"client_metrics": {0: 120}}


def test_the_sentence_says_what_since_when_and_which_command():
    query = progress({0: 7, 1: 4})
    topic = bounds({0: 20, 1: 5}, {0: 30, 1: 6})
    behind = go_on_behind(START, query, stored(), topic)
    assert describe_losses(START, behind, query, str) == (
        "retention of topic t removed records that were not read: not read are "
        "partition 0 offsets 7 to 19, partition 1 offset 4 (14 offsets); the job "
        "last committed a micro-batch at 2026-03-01T12:00:00Z. The same command with "
        "--accept-data-loss goes on behind them, without them; quarantine then says "
        "which they were"
    )
    anew = bounds({0: 0}, {0: 9}, topic_id="present")
    behind = go_on_behind(START, query, stored(), anew)
    told = describe_losses(START, behind, query, lambda: ", without retention.ms")
    assert told.startswith(
        "topic t was deleted and recreated (its id was former, is present; 1 "
        "partition), without retention.ms: not read are partition 0 from offset 7 on, "
        "partition 1 from offset 4 on; "
    )


def test_one_record_of_one_partition_is_told_as_one():
    [loss, *_] = losses = [
        Loss(
            partition=partition,
            first_offset=7,
            last_offset=7,
            reason=DATA_LOSS,
            marked_offset=7,
        )
        for partition in range(5)
    ]
    assert list_losses([loss]) == "partition 0 offset 7 (1 offset)"
    told = list_losses(losses)
    assert told.endswith("partition 3 offset 7, more of 1 partition (5 offsets)")
