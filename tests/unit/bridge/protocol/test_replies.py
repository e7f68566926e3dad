import struct
import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from kio.index import load_response_schema
from kio.schema.errors import ErrorCode
from kio.schema.get_telemetry_subscriptions.v0.response import (
    GetTelemetrySubscriptionsResponse,
)
from kio.schema.metadata.v13.request import MetadataRequest, MetadataRequestTopic
from kio.schema.push_telemetry.v0.response import PushTelemetryResponse
from kio.serial import entity_reader

from pipelines.bridge.protocol.metadata import AdvertisedNode, answer_metadata
from pipelines.bridge.protocol.replies import (
    ReplyOrder,
    answer_api_versions,
    encode_push_reply,
    encode_reply,
)
from pipelines.bridge.protocol.requests import TELEMETRY_APIS, Request, parse_request
from pipelines.kafka_wire.messages import NO_THROTTLE, encode_body

GOLDEN = Path(__file__).parents[3] / "golden" / "bridge" / "wire_bytes.tsv"
SERVED = [(3, 0, 13), (18, 0, 5), (71, 0, 0), (72, 0, 0)]
NODE = AdvertisedNode(node_id=5, host="bridge.example", port=9192, cluster_id="c1")
PUSH_ERRORS = (
    ErrorCode.invalid_request,
    ErrorCode.throttling_quota_exceeded,
    ErrorCode.unknown_subscription_id,
    ErrorCode.unsupported_compression_type,
    ErrorCode.telemetry_too_large,
)
TOPIC_ID = uuid.UUID(int=7)


def golden(name):
    lines = (line.split("\t") for line in GOLDEN.read_text().splitlines())
    return next(bytes.fromhex(text) for title, _, text in lines if title == name)


def decode(api_key, version, body):
    response, size = entity_reader(load_response_schema(api_key, version))(body, 0)
    assert size == len(body)
    return response


def make_request(api_key, version, *, correlation_id=1, body=None):
    return Request(
        api_key=api_key,
        api_version=version,
        correlation_id=correlation_id,
        client_id=None,
        is_flexible=version >= TELEMETRY_APIS[api_key].first_flexible_version,
        body=body,
    )


def encode(api_key, version, correlation_id, body):
    request = make_request(api_key, version, correlation_id=correlation_id)
    return encode_reply(request, body)


def ask_versions(version, body=None):
    return answer_api_versions(make_request(18, version, body=body), TELEMETRY_APIS)


def ask_metadata(version, *topics):
    request = MetadataRequest(
        topics=tuple(MetadataRequestTopic(topic_id=i, name=n) for i, n in topics),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    return decode(3, version, answer_metadata(request, version, NODE))


def test_replies_are_kept_behind_those_before_them():
    order = ReplyOrder()
    places = [order.open() for _ in range(5)]
    assert order.fill(places[1], b"2") == b""
    assert order.fill(places[3], b"4") == b""
    assert order.fill(places[0], b"1") == b"12"
    assert len(order) == 3
    assert order.fill(places[2], b"3") == b"34"
    assert order.fill(places[4], b"5") == b"5"
    assert len(order) == 0
    assert order.fill(order.open(), b"6") == b"6"


def test_a_place_takes_one_reply():
    order = ReplyOrder()
    first, second = order.open(), order.open()
    order.fill(second, b"2")
    with pytest.raises(ValueError, match="place 1"):
        order.fill(second, b"again")
    assert order.fill(first, b"1") == b"12"
    with pytest.raises(ValueError, match="place 0"):
        order.fill(first, b"again")


def test_get_telemetry_answer_is_kafkas_bytes():
    body = encode_body(
        GetTelemetrySubscriptionsResponse(
            throttle_time=timedelta(0),
            error_code=ErrorCode.none,
            client_instance_id=uuid.UUID("b69cc35a-7a54-4790-aa69-cc2bd4ee4538"),
            subscription_id=-1305330742,
            accepted_compression_types=(4, 3, 1, 2),
            push_interval=timedelta(milliseconds=60_000),
            telemetry_max_bytes=1_048_576,
            delta_temporality=True,
            requested_metrics=("*",),
        )
    )
    assert body == golden("GetTelemetrySubscriptionsResponse v0 body")


def encode_push_body(error_code):
    """Write the body of a push's reply by kio."""
    return encode_body(
        PushTelemetryResponse(throttle_time=NO_THROTTLE, error_code=error_code)
    )


def test_push_answer_is_kafkas_bytes():
    expected = golden("PushTelemetryResponse v0 body err 117")
    assert encode_push_body(ErrorCode.unknown_subscription_id) == expected


@pytest.mark.parametrize("error_code", [ErrorCode.none, *PUSH_ERRORS])
def test_push_answer_made_in_one_step_is_the_same(error_code):
    expected = encode(72, 0, -7, encode_push_body(error_code))
    assert encode_push_reply(-7, error_code) == expected


def test_api_versions_has_the_old_header_and_telemetry_the_new_one():
    assert encode(18, 4, 9, b"body") == struct.pack(">ii", 8, 9) + b"body"
    assert encode(3, 8, 9, b"body") == struct.pack(">ii", 8, 9) + b"body"
    assert encode(72, 0, 9, b"b") == struct.pack(">iib", 6, 9, 0) + b"b"
    assert encode(3, 9, 9, b"b") == struct.pack(">iib", 6, 9, 0) + b"b"


@pytest.mark.parametrize("version", range(5))
def test_api_versions_lists_exactly_what_is_served(version):
    response = decode(18, version, ask_versions(version))
    ranges = [(k.api_key, k.min_version, k.max_version) for k in response.api_keys]
    assert response.error_code is ErrorCode.none
    assert ranges == SERVED


@pytest.mark.parametrize("version", [6, 7, 99, -1])
def test_other_api_versions_are_told_the_range_in_the_form_of_version_0(version):
    assert ask_versions(version).hex() == "002300000001001200000005"


@pytest.mark.parametrize(("version", "newest"), [(3, 2), (4, 3), (5, 4)])
def test_unreadable_api_versions_is_told_the_versions_before_it(version, newest):
    frame = struct.pack(">hhih", 18, version, 7, -1) + b"\x00\x00"
    request = parse_request(frame, TELEMETRY_APIS)
    body = answer_api_versions(request, TELEMETRY_APIS)
    assert body.hex() == f"00230000000100120000{newest:04x}"


@pytest.mark.parametrize(
    ("name", "version"),
    [("-app", "1"), ("app-", "1"), ("", "1"), ("app", ""), ("a b", "1"), ("app", "1_0"),
     ("app\n", "1"), ("äpp", "1")],
)  # fmt: skip
def test_software_that_kafka_does_not_accept_is_an_invalid_request(name, version):
    texts = b"".join(
        bytes([len(text.encode()) + 1]) + text.encode() for text in (name, version)
    )
    frame = struct.pack(">hhih", 18, 3, 7, -1) + b"\x00" + texts + b"\x00"
    request = parse_request(frame, TELEMETRY_APIS)
    versions = answer_api_versions(request, TELEMETRY_APIS)
    # The bytes that a broker 4.3.1 answers.
    assert versions.hex() == "002a010000000000"


@pytest.mark.parametrize("version", range(14))
def test_metadata_names_the_bridge_as_node_and_controller(version):
    response = ask_metadata(version)
    (broker,) = response.brokers
    assert (broker.node_id, broker.host, broker.port) == (5, "bridge.example", 9192)
    assert response.topics == ()
    assert getattr(response, "controller_id", 5) == 5
    assert getattr(response, "cluster_id", "c1") == "c1"


@pytest.mark.parametrize("version", range(14))
def test_every_topic_asked_for_is_unknown_once(version):
    response = ask_metadata(version, (None, "a"), (None, "a b"), (None, "a"))
    assert [(one.error_code, one.name) for one in response.topics] == [
        (ErrorCode.unknown_topic_or_partition, "a"),
        (ErrorCode.invalid_topic_exception, "a b"),
    ]


def test_topic_ids_are_unknown_too():
    (topic,) = ask_metadata(12, (TOPIC_ID, None)).topics
    assert topic.error_code is ErrorCode.unknown_topic_id
    assert (topic.name, topic.topic_id) == (None, TOPIC_ID)


@pytest.mark.parametrize("version", [10, 11])
def test_topic_ids_before_version_12_are_an_invalid_request(version):
    response = ask_metadata(version, (TOPIC_ID, None))
    (topic,) = response.topics
    assert topic.error_code is ErrorCode.invalid_request
    assert (topic.name, topic.topic_id) == ("", TOPIC_ID)
    assert (response.brokers, response.controller_id) == ((), -1)


@pytest.mark.parametrize("version", [0, 8, 9, 13])
def test_a_name_of_broken_bytes_is_answered_whatever_its_length(version):
    name = "\ufffd" * 32_767
    (topic,) = ask_metadata(version, (None, name)).topics
    assert topic.error_code is ErrorCode.invalid_topic_exception
    assert topic.name == name[:8_191]


@pytest.mark.parametrize("version", range(14))
@pytest.mark.parametrize("count", [0, 1, 126, 127, 128, 5_000])
def test_any_number_of_topics_is_answered(version, count):
    names = [f"topic-{number}" for number in range(count)]
    response = ask_metadata(version, *[(None, name) for name in names])
    assert [topic.name for topic in response.topics] == names
