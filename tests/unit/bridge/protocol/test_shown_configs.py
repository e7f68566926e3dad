"""What requests show, in every version that kio can write, cut and mutilated."""

import dataclasses
import io
import random
import struct
import uuid
from datetime import timedelta
from importlib import import_module

import pytest
from kio.serial import entity_writer

from pipelines.bridge.protocol.shown_configs import (
    CONSUMER_GROUP_HEARTBEAT,
    FETCH,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    PRODUCE,
    SHARE_FETCH,
    SHARE_GROUP_HEARTBEAT,
    WIRE_REQUESTS,
    read_wire_configs,
)
from pipelines.kafka_client.primitives import MalformedBytes
from udfs.configs.wire_keys import WIRE_KEYS

MUTATIONS = 20_000
TOPIC_ID = uuid.UUID(int=7)
BATCH = struct.pack(
    ">qiibIhiqqqhii", 0, 500, 0, 2, 0, 4, 0, 1, 1, 77, 0, 0, 1
) + bytes(451)  # fmt: skip


def seconds(number):
    return timedelta(seconds=number)


def make_produce(module, version):
    name = {"topic_id": TOPIC_ID} if version >= 13 else {"name": "orders"}
    partition = module.PartitionProduceData(index=3, records=BATCH)
    topic = module.TopicProduceData(**name, partition_data=(partition, partition))
    return module.ProduceRequest(
        transactional_id="tx", acks=-1, timeout=seconds(21), topic_data=(topic, topic)
    )


def make_fetch(module, version):
    name = {"topic_id": TOPIC_ID} if version >= 13 else {"topic": "orders"}
    partition = module.FetchPartition(
        partition=1, fetch_offset=5, partition_max_bytes=70_000
    )
    topic = module.FetchTopic(**name, partitions=(partition, partition))
    more = {} if version >= 15 else {"replica_id": -1}
    if version >= 7:
        forgotten = module.ForgottenTopic(**name, partitions=(1, 2))
        more["forgotten_topics_data"] = (forgotten,)
    if version >= 11:
        more["rack_id"] = "rack-7"
    return module.FetchRequest(
        max_wait=seconds(2), min_bytes=3, max_bytes=5_000, isolation_level=1,
        topics=(topic, topic), **more,
    )  # fmt: skip


def make_init_producer_id(module, _version):
    return module.InitProducerIdRequest(
        transactional_id="tx", transaction_timeout=seconds(31)
    )


def make_join_group(module, version):
    protocols = tuple(
        module.JoinGroupRequestProtocol(name=name, metadata=b"subscription")
        for name in ("range", "cooperative-sticky")
    )
    more = {"rebalance_timeout": seconds(41)} if version >= 1 else {}
    if version >= 5:
        more["group_instance_id"] = "one"
    return module.JoinGroupRequest(
        group_id="g", session_timeout=seconds(11), member_id="m",
        protocol_type="consumer", protocols=protocols, **more,
    )  # fmt: skip


def make_consumer_group_heartbeat(module, version):
    more = {"subscribed_topic_regex": "o.*"} if version >= 1 else {}
    return module.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=0, instance_id="one",
        rack_id="rack-7", rebalance_timeout=seconds(42),
        subscribed_topic_names=("orders", "bills"), server_assignor="range",
        topic_partitions=(), **more,
    )  # fmt: skip


def make_share_group_heartbeat(module, _version):
    return module.ShareGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=0, rack_id="rack-7",
        subscribed_topic_names=("orders",),
    )  # fmt: skip


def make_share_fetch(module, _version):
    return module.ShareFetchRequest(
        group_id="g", member_id="m", share_session_epoch=0, max_wait=seconds(2),
        min_bytes=3, max_bytes=5_000, max_records=9, batch_size=9, topics=(),
        forgotten_topics_data=(),
    )  # fmt: skip


FETCHED = {"fetch.max.wait.ms": "2000", "fetch.min.bytes": "3"}
GROUP = {"group.id": "g"}
APIS = {
    PRODUCE: (
        "produce", make_produce, range(3, 14), {
            "acks": "all", "request.timeout.ms": "21000", "transactional.id": "tx",
            "compression.type": "zstd", "enable.idempotence": "true",
            "batch.size": "512",
        },
    ),
    FETCH: (
        "fetch", make_fetch, range(4, 19), {
            **FETCHED, "fetch.max.bytes": "5000", "isolation.level": "read_committed",
            "max.partition.fetch.bytes": "70000", "client.rack": "rack-7",
        },
    ),
    INIT_PRODUCER_ID: (
        "init_producer_id", make_init_producer_id, range(7), {
            "enable.idempotence": "true", "transactional.id": "tx",
            "transaction.timeout.ms": "31000",
        },
    ),
    JOIN_GROUP: (
        "join_group", make_join_group, range(10), {
            **GROUP, "group.protocol": "classic", "session.timeout.ms": "11000",
            "max.poll.interval.ms": "41000", "group.instance.id": "one",
            "partition.assignment.strategy": "range,cooperative-sticky",
        },
    ),
    CONSUMER_GROUP_HEARTBEAT: (
        "consumer_group_heartbeat", make_consumer_group_heartbeat, range(2), {
            **GROUP, "group.protocol": "consumer", "group.instance.id": "one",
            "client.rack": "rack-7", "max.poll.interval.ms": "42000",
            "group.remote.assignor": "range",
        },
    ),
    SHARE_GROUP_HEARTBEAT: (
        "share_group_heartbeat", make_share_group_heartbeat, range(1, 2),
        {**GROUP, "client.rack": "rack-7"},
    ),
    SHARE_FETCH: (
        "share_fetch", make_share_fetch, range(1, 3),
        {**GROUP, **FETCHED, "fetch.max.bytes": "5000"},
    ),
}  # fmt: skip
LACKING = {
    (FETCH, 10): {"client.rack"},
    (JOIN_GROUP, 0): {"max.poll.interval.ms", "group.instance.id"},
    (JOIN_GROUP, 4): {"group.instance.id"},
}
"""What requests up to a version do not have."""
EVERY = [(key, version) for key, (_, _, known, _) in APIS.items() for version in known]


def make_body(api_key, version):
    """Return a request from its client id on, which is `app`."""
    name, make, _, _ = APIS[api_key]
    module = import_module(f"kio.schema.{name}.v{version}.request")
    buffer = io.BytesIO()
    message = make(module, version)
    entity_writer(type(message))(buffer, message)
    is_flexible = version >= WIRE_REQUESTS[api_key].first_flexible
    # A tagged field that nobody knows is passed over.
    tags = b"\x01\x63\x02??" if is_flexible else b""
    return b"app" + tags + buffer.getvalue()


def expected_of(api_key, version):
    lacking = {
        key
        for (known_key, newest), keys in LACKING.items()
        if known_key == api_key and version <= newest
        for key in keys
    }
    return {k: v for k, v in APIS[api_key][3].items() if k not in lacking}


@pytest.mark.parametrize(("api_key", "version"), EVERY)
def test_every_version_is_read(api_key, version):
    seen = {}
    body = make_body(api_key, version)
    assert read_wire_configs(api_key, version, body, 3, seen) == "app"
    assert seen == expected_of(api_key, version)
    assert seen.keys() <= WIRE_KEYS.keys()


def test_every_version_that_is_offered_is_among_them():
    known = {key: set(one.versions) for key, one in WIRE_REQUESTS.items()}
    tested = {key: set(versions) for key, (_, _, versions, _) in APIS.items()}
    # kio does not write what no client of today sends.
    assert known[PRODUCE] - tested[PRODUCE] == {0, 1, 2}
    assert known[FETCH] - tested[FETCH] == {0, 1, 2, 3}
    assert all(
        known[key] == tested[key] for key in known if key not in (PRODUCE, FETCH)
    )


@pytest.mark.parametrize(("api_key", "version"), EVERY)
def test_of_a_request_that_is_cut_off_what_stands_before_the_cut_is_seen(
    api_key, version
):
    body, expected = make_body(api_key, version), expected_of(api_key, version)
    found = {}
    for end in range(len(body)):
        seen = {}
        try:
            read_wire_configs(api_key, version, body[:end], 3, seen)
        except MalformedBytes:
            pass
        else:
            # Nothing behind it is read.
            assert seen == expected
        assert seen.items() <= expected.items()
        assert found.keys() <= seen.keys()
        found = seen


def test_nothing_but_a_malformed_request_comes_of_any_bytes():
    chance = random.Random(11)  # noqa: S311 - to be repeatable
    bodies = [(key, version, make_body(key, version)) for key, version in EVERY]
    malformed = 0
    for _ in range(MUTATIONS):
        api_key, version, body = chance.choice(bodies)
        mutated = bytearray(body[: chance.randrange(3, len(body) + 1)])
        for _ in range(chance.randrange(1, 5)):
            mutated[chance.randrange(len(mutated))] = chance.choice(
                (0, 1, 127, 128, 255, chance.randrange(256))
            )
        id_bytes = chance.choice((3, 3, 3, -1, 0, 32_767, -5))
        seen = {}
        try:
            read_wire_configs(api_key, version, bytes(mutated), id_bytes, seen)
        except MalformedBytes:
            malformed += 1
        assert seen.keys() <= WIRE_KEYS.keys()
        assert all(isinstance(value, str) for value in seen.values())
    assert 0 < malformed < MUTATIONS


def fetch_body(version, session_id, epoch, *, has_topics):
    """Return a Fetch with the limits of a client that closes its session."""
    module = import_module(f"kio.schema.fetch.v{version}.request")
    message = dataclasses.replace(
        make_fetch(module, version),
        max_wait=timedelta(milliseconds=1), min_bytes=1, max_bytes=1,
        session_id=session_id, session_epoch=epoch,
    )  # fmt: skip
    if not has_topics:
        message = dataclasses.replace(message, topics=())
    buffer = io.BytesIO()
    entity_writer(type(message))(buffer, message)
    is_flexible = version >= WIRE_REQUESTS[FETCH].first_flexible
    return (b"\0" if is_flexible else b"") + buffer.getvalue()


@pytest.mark.parametrize("version", range(7, 19))
@pytest.mark.parametrize(
    ("session_id", "has_topics"), [(77, False), (77, True), (0, False)]
)
def test_read_fetch_that_closes_its_session_shows_nothing(
    version, session_id, has_topics
):
    seen = {}
    body = fetch_body(version, session_id, -1, has_topics=has_topics)
    read_wire_configs(FETCH, version, body, 0, seen)
    assert seen == {}


@pytest.mark.parametrize(
    ("session_id", "epoch", "has_topics"), [(0, -1, True), (0, 0, True), (77, 5, False)]
)
def test_read_fetch_within_a_session_or_without_sessions_shows_its_limits(
    session_id, epoch, has_topics
):
    # librdkafka has no sessions: epoch -1 in each Fetch.
    seen = {}
    body = fetch_body(11, session_id, epoch, has_topics=has_topics)
    read_wire_configs(FETCH, 11, body, 0, seen)
    assert seen["fetch.max.bytes"] == "1"


def test_read_share_fetch_that_closes_its_session_shows_nothing():
    module = import_module("kio.schema.share_fetch.v1.request")
    message = dataclasses.replace(make_share_fetch(module, 1), share_session_epoch=-1)
    buffer, seen = io.BytesIO(), {}
    entity_writer(type(message))(buffer, message)
    read_wire_configs(SHARE_FETCH, 1, b"\0" + buffer.getvalue(), 0, seen)
    assert seen == {}


def test_a_follower_and_another_kind_of_group_show_nothing():
    follower = struct.pack(">iiiib", 2, 500, 1, 9, 0)
    seen = {}
    read_wire_configs(FETCH, 4, follower + bytes(4), 0, seen)
    connect = b"\0\1g" + struct.pack(">i", 9) + b"\0\1m\0\7connect" + bytes(4)
    read_wire_configs(JOIN_GROUP, 0, connect, 0, seen)
    assert seen == {}


def test_what_a_heartbeat_leaves_out_is_as_it_was():
    module = import_module("kio.schema.consumer_group_heartbeat.v1.request")
    message = module.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=5, subscribed_topic_names=None,
        topic_partitions=None,
    )  # fmt: skip
    buffer = io.BytesIO()
    entity_writer(type(message))(buffer, message)
    seen = {}
    body = b"\0" + buffer.getvalue()
    assert read_wire_configs(CONSUMER_GROUP_HEARTBEAT, 1, body, -1, seen) is None
    assert seen == {"group.id": "g", "group.protocol": "consumer"}


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (BATCH[:16] + b"\1" + BATCH[17:], {}),  # an older magic
        (BATCH[:8] + struct.pack(">i", -5) + BATCH[12:], {"batch.size": "8"}),
        (BATCH[:21] + b"\0\7" + BATCH[23:], {"enable.idempotence": "true"}),
        (BATCH[:60], {}),  # shorter than a head
    ],
    ids=["magic", "length", "codec", "short"],
)
def test_records_that_are_no_batch_of_today_show_less(records, expected):
    name = b"\0\6orders"
    head = struct.pack(">hhi", -1, 1, 9) + struct.pack(">i", 1) + name
    body = head + struct.pack(">iii", 1, 0, len(records)) + records
    seen = {}
    read_wire_configs(PRODUCE, 3, body, 0, seen)
    assert expected.items() <= seen.items()
    shown = {"batch.size", "compression.type", "enable.idempotence"} & seen.keys()
    assert bool(shown) == bool(expected)
    assert seen.get("compression.type") in (None, "zstd")
