"""Responses that name brokers, written and read by kio, rewritten in between."""

import pytest
from kio.schema.describe_cluster.v1 import response as describe_cluster
from kio.schema.describe_cluster.v2 import response as describe_cluster_2
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v2 import response as find_coordinator_2
from kio.schema.find_coordinator.v4 import response as find_coordinator_4
from kio.schema.metadata.v0 import response as metadata_0
from kio.schema.metadata.v12 import response as metadata_12
from kio.schema.produce.v11 import response as produce
from kio.schema.share_acknowledge.v1 import response as share_acknowledge
from kio.schema.share_fetch.v1 import response as share_fetch
from kio.serial import entity_reader
from kio.static.primitive import i16, i32, i64

from pipelines.bridge.protocol.errors import MalformedResponse
from pipelines.bridge.proxy.frames.addresses import rewrite_addresses
from pipelines.bridge.proxy.frames.versions import (
    FETCH,
    FIRST_PRODUCE_WITH_ENDPOINTS,
    KNOWN_VERSIONS,
    PRODUCE,
)
from pipelines.kafka_wire.messages import NO_THROTTLE, encode_body

LONG_HOST = "a-host-whose-name-is-longer-than-127-bytes." * 4


def find_address(node_id, host, port):
    assert port == 9092
    return f"{host}.proxy", 9292 + node_id


def brokers(kind, id_name, **more):
    return tuple(
        kind(**{id_name: node_id}, host=host, port=i32(9092), **more)
        for node_id, host in ((1, "one"), (2, LONG_HOST))
    )


def not_leader():
    partition = produce.PartitionProduceResponse(
        index=i32(0),
        error_code=ErrorCode.not_leader_or_follower,
        base_offset=i64(-1),
        log_append_time=None,
        record_errors=(),
        current_leader=produce.LeaderIdAndEpoch(leader_id=2, leader_epoch=i32(4)),
    )
    return produce.TopicProduceResponse(name="t", partition_responses=(partition,))


def acquired():
    partition = share_fetch.PartitionData(
        partition_index=i32(0),
        error_code=ErrorCode.none,
        acknowledge_error_code=i16(0),
        current_leader=share_fetch.LeaderIdAndEpoch(
            leader_id=i32(1), leader_epoch=i32(1)
        ),
        records=b"records" * 100,
        acquired_records=(
            share_fetch.AcquiredRecords(
                first_offset=i64(0), last_offset=i64(3), delivery_count=i16(1)
            ),
        ),
    )
    return share_fetch.ShareFetchableTopicResponse(
        topic_id=None, partitions=(partition,)
    )


RESPONSES = {
    "metadata-0": metadata_0.MetadataResponse(
        brokers=brokers(metadata_0.MetadataResponseBroker, "node_id"), topics=()
    ),
    "metadata-12": metadata_12.MetadataResponse(
        throttle_time=NO_THROTTLE,
        brokers=brokers(metadata_12.MetadataResponseBroker, "node_id", rack="r"),
        cluster_id="c",
        topics=(),
    ),
    "find-coordinator-2": find_coordinator_2.FindCoordinatorResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        error_message=None,
        node_id=1,
        host="one",
        port=i32(9092),
    ),
    "find-coordinator-4": find_coordinator_4.FindCoordinatorResponse(
        throttle_time=NO_THROTTLE,
        coordinators=brokers(
            find_coordinator_4.Coordinator,
            "node_id",
            key="g",
            error_code=ErrorCode.none,
            error_message=None,
        ),
    ),
    "describe-cluster": describe_cluster.DescribeClusterResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        error_message=None,
        cluster_id="c",
        brokers=brokers(describe_cluster.DescribeClusterBroker, "broker_id"),
    ),
    "produce": produce.ProduceResponse(
        responses=(not_leader(),),
        throttle_time=NO_THROTTLE,
        node_endpoints=brokers(produce.NodeEndpoint, "node_id", rack="x"),
    ),
    "share-fetch": share_fetch.ShareFetchResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        acquisition_lock_timeout=NO_THROTTLE,
        responses=(acquired(),),
        node_endpoints=brokers(share_fetch.NodeEndpoint, "node_id"),
    ),
    "share-acknowledge": share_acknowledge.ShareAcknowledgeResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        error_message=None,
        responses=(),
        node_endpoints=brokers(share_acknowledge.NodeEndpoint, "node_id"),
    ),
}


def encode(response):
    tags = b"\0" if response.__header_schema__.__flexible__ else b""
    return tags + encode_body(response)


def rewrite(response, data):
    return rewrite_addresses(
        response.__api_key__, response.__version__, data, find_address
    )


@pytest.mark.parametrize("name", RESPONSES)
def test_every_address_is_replaced_and_nothing_else(name):
    response = RESPONSES[name]
    data = rewrite(response, encode(response))
    start = 1 if response.__header_schema__.__flexible__ else 0
    read, size = entity_reader(type(response))(data, start)
    assert start + size == len(data)
    text = repr(response)
    for node_id, host in ((1, "one"), (2, LONG_HOST)):
        text = text.replace(
            f"host='{host}', port=9092", f"host='{host}.proxy', port={9292 + node_id}"
        )
    assert "proxy" in text
    assert repr(read) == text


# The others have no tags, or one that is known.
@pytest.mark.parametrize(
    "name", sorted(set(RESPONSES) - {"metadata-0", "find-coordinator-2", "produce"})
)
def test_what_stands_behind_an_unknown_tagged_field_is_kept(name):
    response = RESPONSES[name]
    data = encode(response)
    assert data.endswith(b"\0")
    tagged = data[:-1] + b"\x01\x63\x03new"
    assert rewrite(response, tagged) == rewrite(response, data)[:-1] + tagged[-6:]


@pytest.mark.parametrize("name", RESPONSES)
def test_a_response_that_is_cut_off_is_malformed(name):
    response = RESPONSES[name]
    whole = rewrite(response, encode(response))
    data = encode(response)
    for cut in range(len(data)):
        # Metadata is not read to its end.
        try:
            rewritten = rewrite(response, data[:cut])
        except MalformedResponse:
            continue
        assert whole.startswith(rewritten)


def test_no_coordinator_stays_no_coordinator():
    response = find_coordinator_2.FindCoordinatorResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.coordinator_not_available,
        error_message=None,
        node_id=-1,
        host="",
        port=i32(-1),
    )
    data = encode(response)
    assert rewrite(response, data) is data


@pytest.mark.parametrize(
    ("api_key", "version"),
    [
        (api_key, version)
        for api_key, versions in KNOWN_VERSIONS.items()
        for version in versions
        if api_key != FETCH
        and (api_key != PRODUCE or version >= FIRST_PRODUCE_WITH_ENDPOINTS)
    ],
)
def test_every_version_that_is_rewritten_is_known(api_key, version):
    with pytest.raises(MalformedResponse):
        rewrite_addresses(api_key, version, b"", find_address)


def test_rewrite_addresses_tells_which_brokers_are_fenced():
    answer = describe_cluster_2.DescribeClusterResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        error_message=None,
        cluster_id="c",
        controller_id=i32(1),
        brokers=tuple(
            describe_cluster_2.DescribeClusterBroker(
                broker_id=node_id, host="h", port=i32(9092), rack=rack, is_fenced=fenced
            )
            for node_id, rack, fenced in ((1, "rack", False), (2, None, True))
        ),
    )
    asked = []

    def find(node_id, _host, _port, **options):
        asked.append((node_id, options))
        return "proxy", 9292 + node_id

    data = b"\0" + encode_body(answer)
    written = rewrite_addresses(60, 2, data, find)
    assert asked == [(1, {}), (2, {"is_fenced": True})]
    read, _ = entity_reader(describe_cluster_2.DescribeClusterResponse)(written[1:], 0)
    assert [(one.host, one.port, one.is_fenced) for one in read.brokers] == [
        ("proxy", 9293, False),
        ("proxy", 9294, True),
    ]
