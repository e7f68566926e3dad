import dataclasses
import math

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v13.request import MetadataRequest, MetadataRequestTopic
from kio.schema.push_telemetry.v0.response import PushTelemetryResponse

from pipelines.bridge.core.counters import AnswerCounts, BridgeCounters, LatencyCounts
from pipelines.bridge.core.handlers import (
    Connection,
    RequestHandlers,
    make_identity,
    serve_metadata,
)
from pipelines.bridge.protocol.metadata import AdvertisedNode
from pipelines.bridge.protocol.replies import encode_reply, read_error_code
from pipelines.bridge.protocol.requests import (
    TELEMETRY_APIS,
    Request,
    parse_request,
)
from pipelines.kafka_wire.messages import NO_THROTTLE, encode_body
from tests.unit.bridge.protocol.request_reader import RequestReader

NODE = AdvertisedNode(node_id=1, host="h", port=1, cluster_id="c")
METADATA = MetadataRequest(
    topics=(), allow_auto_topic_creation=False,
    include_topic_authorized_operations=False,
)  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "end_s"),
    [(0, 0.001), (0.0009, 0.001), (0.001, 0.002), (0.0039, 0.004), (0.004, 0.008),
     (32.767, 32.768), (32.768, math.inf), (1e6, math.inf)],
)  # fmt: skip
def test_latency_counts_in_the_first_class_that_holds_it(seconds, end_s):
    latency = LatencyCounts()
    latency.add(seconds)
    assert min(end for end, count in latency.cumulative() if count) == end_s
    assert latency.total_s == seconds


def test_classes_of_latency_count_upwards():
    latency = LatencyCounts()
    for seconds in (0.0005, 0.0005, 0.0015, 100):
        latency.add(seconds)
    counts = [count for _, count in latency.cumulative()]
    assert counts[:3] == [2, 3, 3]
    assert counts[-2:] == [3, 4]


def test_numbers_are_the_counts_and_nothing_else():
    counters = BridgeCounters(received_bytes=7)
    assert counters.numbers()["received_bytes"] == 7
    assert not {"answers", "publish_latency"} & counters.numbers().keys()


def make_request(api_key, *, is_flexible):
    return Request(
        api_key=api_key, api_version=0, correlation_id=1, client_id=None,
        is_flexible=is_flexible, body=None,
    )  # fmt: skip


PUSH_REFUSED = encode_body(
    PushTelemetryResponse(
        throttle_time=NO_THROTTLE, error_code=ErrorCode.telemetry_too_large
    )
)


@pytest.mark.parametrize(
    ("api_key", "is_flexible", "body", "offset", "code"),
    [
        (72, True, PUSH_REFUSED, 4, 118),
        (18, True, b"\x00\x23rest", 0, 35),
        (17, False, b"\xff\xff", 0, -1),
        (3, True, b"\x00\x23", None, None),
        (17, False, b"\x00", 0, None),
    ],
    ids=["tags", "ApiVersions has none", "not flexible", "no code", "too short"],
)
def test_error_code_is_read_from_where_it_stands(
    api_key, is_flexible, body, offset, code
):
    request = make_request(api_key, is_flexible=is_flexible)
    assert read_error_code(request, encode_reply(request, body), offset) == code


def test_answers_are_counted_by_api_key_and_error_code(frame, request_schema):
    answers = AnswerCounts()
    handlers = RequestHandlers([serve_metadata(NODE)], answers=answers)
    connection = Connection(connection_id=1, identity=make_identity("L", "h", 1))
    stream = RequestReader(handlers.apis, max_request_bytes=1_000)
    bad = request_schema(18, 3)(client_software_name="", client_software_version="1")
    stream.receive_data(frame(METADATA) * 2 + frame(bad))
    replies = []
    while (request := stream.next_request()) is not None:
        handlers.handle(request, connection, replies.append)
    old = parse_request(b"\x00\x12\x00\x63\x00\x00\x00\x07\xff\xff\x00", TELEMETRY_APIS)
    handlers.handle(old, connection, replies.append)
    assert len(replies) == 4
    assert answers.counts == {(3, None): 2, (18, 42): 1, (18, 35): 1}


def test_a_connection_that_looks_for_data_is_told_of_once(frame):
    noted, replies = [], []
    handlers = RequestHandlers([serve_metadata(NODE, note_topics=noted.append)])
    topics = (MetadataRequestTopic(topic_id=None, name="orders"),)
    named = frame(dataclasses.replace(METADATA, topics=topics))
    connections = [
        Connection(connection_id=number, identity=make_identity("L", "h", 1))
        for number in range(3)
    ]
    for connection, data in zip(
        connections, (frame(METADATA) * 2, named * 3, named), strict=True
    ):
        stream = RequestReader(handlers.apis, max_request_bytes=1_000)
        stream.receive_data(data)
        while (request := stream.next_request()) is not None:
            handlers.handle(request, connection, replies.append)
    assert len(replies) == 6
    assert [one.connection_id for one in noted] == [1, 2]
