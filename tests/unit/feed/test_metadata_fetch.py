"""Fetch and FetchSnapshot by hand, against the writers and readers of kio."""

import dataclasses
import io
import struct
import uuid
from datetime import timedelta

import pytest
from kio.index import load_payload_module
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from pipelines.feed.metadata_fetch import (
    FETCH,
    FETCH_SNAPSHOT,
    METADATA_TOPIC,
    Leader,
    SnapshotId,
    read_fetch,
    read_fetch_snapshot,
    write_fetch,
    write_fetch_snapshot,
)
from pipelines.kafka_client.primitives import MalformedBytes
from pipelines.kafka_wire.messages import NO_THROTTLE

TOPIC_ID = uuid.UUID(int=1)


def encode(message):
    buffer = io.BytesIO()
    entity_writer(type(message))(buffer, message)
    return buffer.getvalue()


def decode(api_key, version, kind, body):
    module = load_payload_module(api_key, version, kind)
    name = "FetchRequest" if api_key == FETCH else "FetchSnapshotRequest"
    message, read = entity_reader(getattr(module, name))(body, 0)
    assert read == len(body)
    return message


@pytest.mark.parametrize("version", [13, 16])
def test_fetch_asks_as_a_node_that_is_no_replica(version):
    body = write_fetch(
        version, offset=7, last_epoch=2, leader_epoch=3, max_wait_ms=500,
        max_bytes=1 << 20, cluster_id="a-cluster",
    )  # fmt: skip
    read = decode(FETCH, version, EntityType.request, body)
    replica = read.replica_id if version == 13 else read.replica_state.replica_id
    assert replica == -1
    assert (read.cluster_id, read.max_wait, read.min_bytes, read.max_bytes) == (
        "a-cluster", timedelta(milliseconds=500), 1, 1 << 20,
    )  # fmt: skip
    assert (read.session_id, read.session_epoch, read.isolation_level) == (0, -1, 0)
    (topic,) = read.topics
    (partition,) = topic.partitions
    assert topic.topic_id == TOPIC_ID
    assert dataclasses.asdict(partition) == {
        "partition": 0, "current_leader_epoch": 3, "fetch_offset": 7,
        "last_fetched_epoch": 2, "log_start_offset": -1,
        "partition_max_bytes": 1 << 20,
    }  # fmt: skip


def test_piece_of_a_snapshot_is_asked_for_by_position():
    body = write_fetch_snapshot(
        SnapshotId(end_offset=90, epoch=4), position=12, leader_epoch=5,
        max_bytes=4096, cluster_id="a-cluster",
    )  # fmt: skip
    read = decode(FETCH_SNAPSHOT, 1, EntityType.request, body)
    (topic,) = read.topics
    (partition,) = topic.partitions
    assert (topic.name, read.replica_id, read.max_bytes) == (METADATA_TOPIC, -1, 4096)
    assert (partition.current_leader_epoch, partition.position) == (5, 12)
    assert (partition.snapshot_id.end_offset, partition.snapshot_id.epoch) == (90, 4)
    assert read.cluster_id == "a-cluster"


def fetch_answer(version=16, **partition):
    module = load_payload_module(FETCH, version, EntityType.response)
    data = module.PartitionData(
        **{
            "partition_index": 0, "error_code": ErrorCode.none, "high_watermark": 9,
            "aborted_transactions": None, "records": None, **partition,
        }
    )  # fmt: skip
    topic = module.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=(data,))
    more = {}
    if version >= 16:
        endpoint = module.NodeEndpoint(node_id=2, host="c2", port=9094, rack=None)
        more["node_endpoints"] = (endpoint,)
    return module, module.FetchResponse(
        throttle_time=NO_THROTTLE, error_code=ErrorCode.none, responses=(topic,),
        **more,
    )  # fmt: skip


def test_leader_and_where_it_listens_are_read():
    module = load_payload_module(FETCH, 16, EntityType.response)
    _, answer = fetch_answer(
        error_code=ErrorCode.fenced_leader_epoch,
        current_leader=module.LeaderIdAndEpoch(leader_id=2, leader_epoch=8),
    )
    read = read_fetch(encode(answer))
    assert read.error_code == 74
    assert read.leader == Leader(leader_id=2, leader_epoch=8)
    assert read.endpoints == {2: ("c2", 9094)}


def test_snapshot_and_divergence_are_read():
    module = load_payload_module(FETCH, 13, EntityType.response)
    _, answer = fetch_answer(
        13,
        diverging_epoch=module.EpochEndOffset(epoch=3, end_offset=40),
        snapshot_id=module.SnapshotId(end_offset=90, epoch=4),
    )
    read = read_fetch(encode(answer))
    assert read.diverging_end_offset == 40
    assert read.snapshot_id == SnapshotId(end_offset=90, epoch=4)
    assert (read.high_watermark, read.leader, read.records) == (9, None, b"")


def test_answer_without_divergence_has_none():
    _, answer = fetch_answer()
    read = read_fetch(encode(answer))
    assert (read.diverging_end_offset, read.snapshot_id) == (None, None)


def snapshot_answer(piece):
    """The layout of FetchSnapshotResponse 1; kio takes whole batches only."""
    name = METADATA_TOPIC.encode()
    return (
        struct.pack(">ih", 0, 0) + b"\x02" + bytes([len(name) + 1]) + name + b"\x02"
        + struct.pack(">ihqi", 0, 0, 90, 4) + b"\0" + struct.pack(">qq", 300, 12)
        + bytes([len(piece) + 1]) + piece
        + b"\x01\x00\x09" + struct.pack(">ii", 2, 8) + b"\0"
        + b"\0\0"
    )  # fmt: skip


def test_piece_of_a_snapshot_need_not_be_whole_batches():
    read = read_fetch_snapshot(snapshot_answer(b"any bytes"))
    assert (read.error_code, read.size_bytes, read.position) == (0, 300, 12)
    assert (read.piece, read.leader) == (
        b"any bytes",
        Leader(leader_id=2, leader_epoch=8),
    )


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (read_fetch, encode(fetch_answer()[1])),
        (read_fetch_snapshot, snapshot_answer(b"piece")),
    ],
)
def test_answer_cut_at_any_byte_is_malformed(read, body):
    for end in range(len(body)):
        with pytest.raises(MalformedBytes):
            read(body[:end])
