"""The metadata log: what an answer means, and what of it is published."""

from collections import Counter
from pathlib import Path

import pytest

from pipelines.feed.metadata_fetch import Fetched, Leader, SnapshotId
from pipelines.feed.metadata_log import (
    LogPlace,
    Next,
    SnapshotReader,
    Stamp,
    make_feed_records,
    state_of_snapshot,
)
from pipelines.feed.state import FeedState, Position, restore
from pipelines.feed.topic_configs import TopicConfigs, UnknownTopic
from tests.support.feed.log_batches import batch, frame
from udfs.cluster.record_bytes import read_record, write_record
from udfs.cluster.record_writing import write_config

SNAPSHOT = Path(__file__).parents[2] / (
    "golden/metadata/00000000000000000100-0000000003.checkpoint"
)
STAMP = Stamp("a-cluster", 9_000)
NO_OP, BEGIN, END, ABORT = frame(20), frame(23), frame(24), frame(25)


def config(value="1"):
    return write_config(16, "team-a", "interval.ms", value)


def fetched(*batches, high_watermark=1_000, **more):
    return Fetched(
        error_code=0, records=b"".join(batches), high_watermark=high_watermark, **more
    )


def values(records):
    return [one.value for one in records]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (Fetched(error_code=0), Next.RECORDS),
        (Fetched(error_code=1), Next.ANEW),
        (Fetched(error_code=0, diverging_end_offset=3), Next.ANEW),
        (Fetched(error_code=0, snapshot_id=SnapshotId(end_offset=9, epoch=1)),
         Next.SNAPSHOT),
        (Fetched(error_code=3), Next.BROKER),
        (Fetched(error_code=6), Next.LEADER),
        (Fetched(error_code=31), Next.REFUSED),
        (Fetched(error_code=74), Next.LEADER),
        (Fetched(error_code=75), Next.LEADER),
        (Fetched(error_code=100), Next.BROKER),
        (Fetched(error_code=104), Next.REFUSED),
    ],
)  # fmt: skip
def test_answer_says_what_comes_next(answer, wanted):
    assert LogPlace(None).judge(answer) is wanted


def test_epoch_of_the_quorum_is_learnt_from_a_refusal():
    place = LogPlace(Position(41, 3))
    assert (place.offset, place.last_epoch, place.leader_epoch) == (42, 3, 3)
    leader = Leader(leader_id=2, leader_epoch=8)
    place.judge(Fetched(error_code=74, leader=leader))
    assert (place.leader_epoch, place.last_epoch) == (8, 3)
    older = Leader(leader_id=2, leader_epoch=7)
    place.judge(Fetched(error_code=6, leader=older))
    assert place.leader_epoch == 8


def test_record_has_its_offset_epoch_and_exact_time():
    place = LogPlace(None)
    (record,) = place.take(fetched(batch(7, config(), epoch=3, timestamp_ms=1_234)))
    assert (record.offset, record.epoch, record.timestamp_ms) == (7, 3, 1_234)
    assert (place.offset, place.last_epoch) == (8, 3)


def test_what_may_still_be_lost_is_not_read():
    place = LogPlace(None)
    answer = fetched(batch(0, config("1")), batch(1, config("2")), high_watermark=1)
    assert values(place.take(answer)) == [config("1")]
    assert place.offset == 1
    assert place.take(answer) == []
    later = fetched(batch(1, config("2")), high_watermark=2)
    assert values(place.take(later)) == [config("2")]


def test_reading_goes_on_within_a_batch():
    place = LogPlace(Position(5, 1))
    answer = fetched(batch(4, config("1"), config("2"), config("3")))
    assert values(place.take(answer)) == [config("3")]


def test_batch_that_is_cut_off_is_read_the_next_time():
    place = LogPlace(None)
    whole, cut = batch(0, config("1")), batch(1, config("2"))
    assert values(place.take(fetched(whole, cut[:-1]))) == [config("1")]
    assert values(place.take(fetched(cut))) == [config("2")]


def test_transaction_is_published_at_its_end():
    place = LogPlace(None)
    assert place.take(fetched(batch(0, BEGIN, config("1")))) == []
    assert values(place.take(fetched(batch(2, config("2"), END, config("3"))))) == [
        config("1"), config("2"), config("3"),
    ]  # fmt: skip


def test_nothing_of_an_aborted_transaction_is_published():
    place = LogPlace(None)
    answer = fetched(batch(0, config("0"), BEGIN, config("1"), ABORT, config("2")))
    assert values(place.take(answer)) == [config("0"), config("2")]


def test_restart_within_a_transaction_reads_it_from_its_beginning():
    batches = batch(0, config("0"), BEGIN, config("1")), batch(3, config("2"), END)
    first = LogPlace(None)
    assert values(first.take(fetched(batches[0]))) == [config("0")]
    # The topic shows the last record that was published, which stands before it.
    again = LogPlace(Position(0, 1))
    assert values(again.take(fetched(*batches))) == [config("1"), config("2")]


def test_other_records_are_counted_by_name():
    place = LogPlace(None)
    place.take(fetched(batch(0, NO_OP, frame(11), NO_OP, frame(99))))
    assert place.passed_over == {
        "NoOp": 2, "UserScramCredential": 1, "record-99": 1,
    }  # fmt: skip


@pytest.mark.parametrize("at", [-1, 17, 30])
def test_batch_that_cannot_be_read_is_counted_and_passed(at):
    spoilt = bytearray(batch(0, config("1")))
    spoilt[at] ^= 0xFF
    place = LogPlace(None)
    assert values(place.take(fetched(bytes(spoilt), batch(1, config("2"))))) == [
        config("2")
    ]
    assert place.passed_over.total() == 1
    assert place.offset == 2


def test_bytes_that_are_no_batch_block_the_log():
    place = LogPlace(None)
    assert place.take(fetched(b"\xff" * 40)) == []
    assert place.is_blocked
    assert place.take(fetched(batch(0, config()))) != []
    assert not place.is_blocked


def test_secret_is_not_published_and_counted(rules):
    value = write_config(4, "1", "listener.name.x.ssl.keystore.password", "sesame")
    place = LogPlace(None)
    read = place.take(fetched(batch(0, value)))
    (record,) = make_feed_records(read, STAMP, rules, Counter(), TopicConfigs())
    assert b"sesame" not in record.value
    assert record.number("withheld") == 1
    assert record.number("offset") == 0
    assert record.text("not_before_ms") is None


def test_record_that_cannot_be_read_is_counted_by_its_fault(rules):
    place, passed_over = LogPlace(None), Counter()
    read = place.take(fetched(batch(0, config()[:-1], frame(4, 77))))
    assert make_feed_records(read, STAMP, rules, passed_over, TopicConfigs()) == []
    assert passed_over == {"Config: truncated": 1, "Config: unknown_version": 1}


@pytest.mark.parametrize("piece_bytes", [1, 100, 100_000])
def test_snapshot_of_kafka_is_a_state(rules, piece_bytes):
    reader = SnapshotReader(SnapshotId(end_offset=100, epoch=3))
    data = SNAPSHOT.read_bytes()
    for start in range(0, len(data), piece_bytes):
        reader.take(data[start : start + piece_bytes])
    assert reader.position == len(data)
    before = FeedState("a-cluster", "metadata_log")
    state = state_of_snapshot(reader, before, STAMP, rules, TopicConfigs())
    assert [one.key for one in state.records()] == [
        "FeatureLevel/features/metadata.version", "RegisterBroker/brokers/1",
        "Config/client-metrics/sub1/interval.ms",
    ]  # fmt: skip
    assert state.position == Position(99, 3)
    record = state.records()[0]
    assert (record.number("offset"), record.number("epoch")) == (99, 3)
    assert record.number("timestamp_ms") == 1_699_999_999_000


def test_what_a_snapshot_only_repeats_keeps_its_exact_time(rules):
    reader = SnapshotReader(SnapshotId(end_offset=100, epoch=3))
    reader.take(SNAPSHOT.read_bytes())
    place = LogPlace(None)
    known = write_config(16, "sub1", "interval.ms", "1000")
    read = place.take(fetched(batch(7, known, timestamp_ms=1_234)))
    said = make_feed_records(read, STAMP, rules, Counter(), TopicConfigs())
    before = restore(said, "a-cluster", "metadata_log")
    *others, kept = state_of_snapshot(
        reader, before, STAMP, rules, TopicConfigs()
    ).records()
    assert (kept.number("offset"), kept.number("timestamp_ms")) == (7, 1_234)
    assert {one.number("not_before_ms") for one in others} == {1_234}


TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def topic_created(name="t", topic_id=TOPIC_ID):
    return write_record("Topic", 0, {"name": name, "topic_id": topic_id})


def topic_removed(topic_id=TOPIC_ID):
    return write_record("RemoveTopic", 0, {"topic_id": topic_id})


def retention(value, topic="t"):
    return write_config(2, topic, "retention.ms", value)


def test_removed_topic_removes_its_configs(rules):
    values = (
        *(topic_created(), retention("1"), write_config(2, "t", "segment.ms", "2")),
        *(write_config(2, "t", "segment.ms", None), retention("3", "other")),
        *(topic_removed(), topic_created(topic_id="AAAAAAAAAAAAAAAAAAAAAg")),
    )
    place, passed_over = LogPlace(None), Counter()
    read = place.take(fetched(batch(0, *values)))
    said = make_feed_records(read, STAMP, rules, passed_over, TopicConfigs())
    removal = said[-1]
    assert (removal.key, removal.number("offset")) == (
        *("Config/topics/t/retention.ms", 5),
    )
    assert read_record(removal.value).fields["value"] is None
    state = restore(said, "a-cluster", "metadata_log")
    assert state.list_keys() == ["Config/topics/other/retention.ms"]
    assert passed_over == {"Topic": 2, "RemoveTopic": 1}


def test_removed_topic_with_hidden_config_removes_it(rules):
    secret = write_config(2, "t", "my.secret.password", "sesame")
    read = LogPlace(None).take(
        fetched(batch(0, topic_created(), secret, topic_removed()))
    )
    said = make_feed_records(read, STAMP, rules, Counter(), TopicConfigs())
    assert restore(said, "a-cluster", "metadata_log").list_keys() == []


def test_removed_topic_of_unknown_id_raises_only_if_records_were_skipped(rules):
    read = LogPlace(Position(6, 1)).take(fetched(batch(7, topic_removed())))
    keys = ["Config/topics/t/retention.ms"]
    partial = TopicConfigs(keys, is_whole=False)
    with pytest.raises(UnknownTopic):
        make_feed_records(read, STAMP, rules, Counter(), partial)
    for known in (
        TopicConfigs(keys),
        TopicConfigs(["Config/brokers/1/x"], is_whole=False),
    ):
        assert make_feed_records(read, STAMP, rules, Counter(), known) == []
