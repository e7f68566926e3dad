"""Batches of a metadata log are cut, checked and read."""

import struct
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.feed import record_batches as r
from pipelines.feed.record_batches import MalformedBatches, UnreadableBatch
from tests.support.kafka.metadata_logs import (
    COMPRESS,
    GZIP,
    START_MS,
    ZSTD,
    control_batch,
    varint,
    wrap_batch,
    write_batch,
    write_record,
    write_snapshot,
)
from udfs.cluster.record_writing import write_config

GOLDEN = Path(__file__).parents[2] / "golden" / "metadata"
CHECKPOINT = next(GOLDEN.glob("*.checkpoint")).read_bytes()
WANTED = frozenset({0, 4, 12})
CONFIG = write_config(16, "a", "interval.ms", "1000")
NO_OP = b"\x01\x14\x00\x00"


def cut(*pieces, max_batch_bytes=r.MAX_BATCH_BYTES):
    """Return all batches of some bytes, and how many bytes are left."""
    stream = r.BatchStream(max_batch_bytes=max_batch_bytes)
    batches = []
    for piece in pieces:
        stream.receive_data(piece)
        while (batch := stream.next_batch()) is not None:
            batches.append(batch)
    return batches, stream.waiting_bytes


def one(data):
    """Return the only batch of some bytes."""
    (batch,), left = cut(data)
    assert left == 0
    return batch


def test_kafkas_own_snapshot_is_read_whole():
    batches, left = cut(CHECKPOINT)
    assert left == 0
    assert [(b.base_offset, b.last_offset, b.epoch) for b in batches] == [
        (0, 0, 3),
        (1, 3, 3),
        (4, 4, 3),
    ]
    assert [r.read_control_records(b) for b in batches] == [
        [(0, r.SNAPSHOT_HEADER, 1_699_999_999_000)],
        [],
        [(4, r.SNAPSHOT_FOOTER, None)],
    ]
    read = [r.read_records(b, WANTED) for b in batches]
    assert [len(each.records) for each in read] == [0, 3, 0]
    assert [
        (x.offset, x.epoch, x.timestamp_ms, x.api_key) for x in read[1].records
    ] == [
        (1, 3, 1_700_000_000_000, 12),
        (2, 3, 1_700_000_000_000, 0),
        (3, 3, 1_700_000_000_000, 4),
    ]
    assert read[1].records[2].value == write_config(16, "sub1", "interval.ms", "1000")


@pytest.mark.parametrize("size", [1, 7, 61, 397])
def test_pieces_of_any_size_give_the_same_batches(size):
    pieces = [CHECKPOINT[at : at + size] for at in range(0, len(CHECKPOINT), size)]
    assert cut(*pieces) == cut(CHECKPOINT)


def test_a_batch_that_is_not_whole_is_waited_for():
    for size in range(len(CHECKPOINT)):
        batches, left = cut(CHECKPOINT[:size])
        assert sum(len(b.data) for b in batches) + left == size
        assert len(batches) < 3


@pytest.mark.parametrize("codec", list(COMPRESS))
def test_every_codec_is_read(codec):
    batch = one(write_batch([CONFIG, NO_OP, CONFIG], codec=codec, base_offset=70))
    read = r.read_records(batch, WANTED)
    assert [(x.offset, x.timestamp_ms, x.value) for x in read.records] == [
        (70, START_MS, CONFIG),
        (72, START_MS + 2, CONFIG),
    ]
    assert read.passed_over == {20: 1}


def test_a_time_that_the_log_has_set_is_that_of_all_records():
    read = r.read_records(one(write_batch([CONFIG, CONFIG], append_ms=5)), WANTED)
    assert [x.timestamp_ms for x in read.records] == [5, 5]


def test_records_that_nobody_wants_are_counted_by_api_key():
    values = [NO_OP, b"\x01\x02\x00", b"\x01\x0b\x00secret", NO_OP, CONFIG]
    read = r.read_records(one(write_batch(values)), WANTED)
    assert [x.value for x in read.records] == [CONFIG]
    assert read.passed_over == {20: 2, 2: 1, 11: 1}


def test_what_does_not_look_like_the_logs_own_records_is_read_whole():
    # A key, a null value, an empty one, another frame, large and padded API keys.
    values = [
        CONFIG,
        None,
        b"",
        b"\x00\x04",
        b"\x01\x80\x02\x00",
        b"\x01\x84\x00",
        b"\x81\x00\x04",
    ]
    keys = [b"k" * 200, *[None] * 6]
    read = r.read_records(one(write_batch(values, keys=keys)), WANTED)
    assert [x.value for x in read.records] == [CONFIG, b"\x01\x84\x00", b"\x81\x00\x04"]
    assert read.passed_over == {r.UNKNOWN_FRAME: 3, 256: 1}


def test_long_deltas_are_read():
    record = write_record(CONFIG, offset_delta=10**6, time_delta=-(10**10))
    batch = one(wrap_batch(record, count=1, base_offset=5))
    (read,) = r.read_records(batch, WANTED).records
    assert (read.offset, read.timestamp_ms) == (10**6 + 5, START_MS - 10**10)
    assert r.read_records(batch, ()).passed_over == {4: 1}


def test_control_batches_hold_no_records_and_others_no_controls():
    change = one(control_batch(r.LEADER_CHANGE, bytes(12), base_offset=9))
    assert r.read_records(change, WANTED) == ([], {})
    assert r.read_control_records(change) == [(9, r.LEADER_CHANGE, None)]
    assert r.read_control_records(one(write_batch([CONFIG]))) == []


def test_a_wrong_checksum_is_told_of_its_batch_alone():
    data = bytearray(write_batch([CONFIG]) + write_batch([CONFIG], base_offset=1))
    data[70] ^= 1
    (first, second), _ = cut(bytes(data))
    with pytest.raises(UnreadableBatch) as raised:
        r.read_records(first, WANTED)
    assert raised.value.reason == "wrong_crc"
    assert len(r.read_records(second, WANTED).records) == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (write_batch([CONFIG], codec_id=7), "unknown_codec"),
        (write_batch([CONFIG], codec_id=ZSTD), "wrong_codec"),
        (wrap_batch(COMPRESS[GZIP](write_record(CONFIG))[:-9], count=1, attributes=1), "truncated_frame"),
        (wrap_batch(COMPRESS[GZIP](bytes(r.MAX_BATCH_BYTES + 1)), count=1, attributes=1), "too_large"),
        (wrap_batch(b"", count=1), "malformed"),
        (wrap_batch(write_record(CONFIG), count=2), "malformed"),
        (wrap_batch(write_record(CONFIG) * 2, count=1), "malformed"),
        (wrap_batch(varint(-1), count=1), "malformed"),
        (wrap_batch(varint(0), count=1), "malformed"),
        (wrap_batch(varint(10**6) + CONFIG, count=1), "malformed"),
        (wrap_batch(b"\xff" * 12, count=1), "malformed"),
        # A key and a value that are longer than their record.
        (wrap_batch(b"\x0a\x00\x00\x00\x7e\x00", count=1), "malformed"),
        (wrap_batch(b"\x0e\x00\x00\x00\x01\x7e\x01\x04", count=1), "malformed"),
        (wrap_batch(b"", count=2**31 - 1), "malformed"),
    ],
    ids=lambda given: given if isinstance(given, str) else "batch",
)  # fmt: skip
def test_a_bad_batch_has_a_reason(data, reason):
    with pytest.raises(UnreadableBatch) as raised:
        r.read_records(one(data), WANTED)
    assert raised.value.reason == reason


@pytest.mark.parametrize("magic", [0, 1, 3])
def test_an_older_format_is_passed_over(magic):
    stream = r.BatchStream()
    stream.receive_data(wrap_batch(b"", count=0, magic=magic) + write_batch([CONFIG]))
    with pytest.raises(UnreadableBatch) as raised:
        stream.next_batch()
    assert raised.value.reason == "unknown_magic"
    assert stream.next_batch().record_count == 1


@pytest.mark.parametrize("size", [-1, 0, 4, r.MAX_BATCH_BYTES, 2**31 - 1])
def test_a_length_that_no_batch_has_ends_the_stream_before_it_is_waited_for(size):
    with pytest.raises(MalformedBatches):
        cut(struct.pack(">qi", 0, size))


def test_a_batch_that_is_too_short_for_its_head_is_malformed():
    with pytest.raises(UnreadableBatch, match="malformed"):
        cut(struct.pack(">qiib", 0, 5, 1, 2))


def test_a_control_record_that_is_cut_is_malformed():
    for value, key in ((b"\x00", struct.pack(">hh", 0, 3)), (b"", b"\x00")):
        batch = one(write_batch([value], keys=[key], is_control=True))
        with pytest.raises(UnreadableBatch, match="malformed"):
            r.read_control_records(batch)


@example([b"\x80" * 10], 0)
@given(
    st.lists(st.binary(max_size=30) | st.just(CONFIG) | st.just(NO_OP), min_size=1),
    st.sampled_from(list(COMPRESS)),
)
def test_wanted_and_passed_over_are_all_records(values, codec):
    read = r.read_records(one(write_batch(values, codec=codec)), WANTED)
    assert len(read.records) + read.passed_over.total() == len(values)
    wanted = [
        value
        for value in values
        if value[:2] in (b"\x01\x00", b"\x01\x04", b"\x01\x0c")
    ]
    assert [x.value for x in read.records if x.value in wanted] == wanted


@given(st.data())
def test_changed_bytes_of_records_have_a_reason_or_are_read(data):
    body = bytearray(b"".join(write_record(CONFIG, offset_delta=n) for n in range(3)))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    batch = one(wrap_batch(bytes(body), count=3))
    try:
        read = r.read_records(batch, WANTED)
    except UnreadableBatch:
        return
    assert len(read.records) + read.passed_over.total() == 3


@given(st.binary(max_size=300))
def test_any_bytes_are_batches_or_refused(data):
    try:
        batches, left = cut(data)
    except (MalformedBatches, UnreadableBatch):
        return
    assert sum(len(b.data) for b in batches) + left == len(data)


def test_a_written_snapshot_is_read_as_kafkas_is():
    batches, left = cut(write_snapshot([CONFIG] * 250, epoch=7))
    assert left == 0
    assert [b.is_control for b in batches] == [True, False, False, False, True]
    assert sum(len(r.read_records(b, WANTED).records) for b in batches) == 250
