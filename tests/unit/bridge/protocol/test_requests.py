import struct
import uuid
from pathlib import Path

import pytest
from kio.index import load_payload_module
from kio.schema.get_telemetry_subscriptions.v0.request import (
    GetTelemetrySubscriptionsRequest,
)
from kio.schema.push_telemetry.v0.request import PushTelemetryRequest
from kio.static.constants import EntityType

from pipelines.bridge.protocol.errors import UnsupportedRequest
from pipelines.bridge.protocol.push_telemetry import PushRequest
from pipelines.bridge.protocol.requests import TELEMETRY_APIS as APIS
from pipelines.bridge.protocol.requests import UNREADABLE, parse_request
from pipelines.bridge.protocol.software import ClientSoftware
from pipelines.kafka_client.primitives import Cursor, MalformedBytes
from tests.unit.bridge.protocol.request_reader import RequestReader

GOLDEN = Path(__file__).parents[3] / "golden" / "bridge" / "wire_bytes.tsv"
INSTANCE_ID = uuid.UUID("b69cc35a-7a54-4790-aa69-cc2bd4ee4538")
PUSH = PushTelemetryRequest(
    client_instance_id=INSTANCE_ID,
    subscription_id=-1305330742,
    terminating=True,
    compression_type=4,
    metrics=b"\x01\x02",
)
READ_PUSH = PushRequest(INSTANCE_ID.bytes, -1305330742, True, 4, b"\x01\x02")
MAX_BYTES = 1_000


def read_golden(name):
    for line in GOLDEN.read_text().splitlines():
        title, _, text = line.split("\t")
        if title == name:
            return bytes.fromhex(text)
    raise KeyError(name)


def parse(frame_bytes):
    stream = RequestReader(APIS, max_request_bytes=MAX_BYTES)
    stream.receive_data(frame_bytes)
    request = stream.next_request()
    assert stream.next_request() is None
    return request


def header(api_key, api_version, client_id=b"\xff\xff"):
    return struct.pack(">hhi", api_key, api_version, 7) + client_id


def make_metadata(request_schema, version, names):
    schema = request_schema(3, version)
    topics = None
    if names is not None:
        topic = load_payload_module(3, version, EntityType.request).MetadataRequestTopic
        extra = {"topic_id": None} if "topic_id" in topic.__slots__ else {}
        topics = tuple(topic(name=name, **extra) for name in names)
    flags = {
        name: True for name in schema.__slots__ if name not in {"topics", "__dict__"}
    }
    return schema(topics=topics, **flags)


def test_push_reads_as_kio_wrote_it(frame):
    request = parse(frame(PUSH))
    assert request.body == READ_PUSH
    assert (request.api_key, request.api_version) == (72, 0)
    assert (request.correlation_id, request.client_id) == (7, "app-1")


def test_golden_bodies_read_as_kafka_wrote_them():
    push = read_golden("PushTelemetryRequest v0 body")
    request = parse_request(header(72, 0) + b"\x00" + push, APIS)
    expected = (INSTANCE_ID.bytes, -1305330742, False, 0, b"\x01\x02\x03")
    assert request.body == PushRequest(*expected)
    get = read_golden("GetTelemetrySubscriptionsRequest v0 body (zero id)")
    request = parse_request(header(71, 0) + b"\x00" + get, APIS)
    assert request.body == GetTelemetrySubscriptionsRequest(client_instance_id=None)
    versions = read_golden("seed000 ApiVersionsRequest v4 body")
    request = parse_request(header(18, 4) + b"\x00" + versions, APIS)
    assert request.body == ClientSoftware(
        client_software_name="apache-kafka-java", client_software_version="4.0.0"
    )


@pytest.mark.parametrize("cut", range(1, 46))
def test_request_is_whole_wherever_the_bytes_are_cut(frame, cut):
    whole = frame(PUSH)
    assert len(whole) == 46
    stream = RequestReader(APIS, max_request_bytes=MAX_BYTES)
    stream.receive_data(whole[:cut])
    assert stream.next_request() is None
    stream.receive_data(whole[cut:])
    assert stream.next_request().body == READ_PUSH
    assert stream.next_request() is None
    assert not stream.waiting_bytes


def test_requests_in_one_piece_come_out_one_by_one(frame):
    stream = RequestReader(APIS, max_request_bytes=MAX_BYTES)
    stream.receive_data(frame(PUSH, 1) + frame(PUSH, 2) + frame(PUSH, 3)[:-1])
    assert stream.next_request().correlation_id == 1
    assert stream.next_request().correlation_id == 2
    assert stream.next_request() is None
    assert stream.waiting_bytes


@pytest.mark.parametrize("size", range(42))
def test_push_whose_frame_is_too_short_is_malformed(frame, size):
    whole = frame(PUSH)[4:]
    assert len(whole) == 42
    with pytest.raises(MalformedBytes):
        parse_request(whole[:size], APIS)


def test_bytes_behind_the_last_field_are_ignored_as_brokers_do(frame):
    assert parse(frame(PUSH, trailing=b"later")).body == READ_PUSH


@pytest.mark.parametrize("size", [-1, -(2**31), MAX_BYTES + 1, 2**31 - 1])
def test_unusable_size_is_refused_before_the_body_comes(size):
    stream = RequestReader(APIS, max_request_bytes=MAX_BYTES)
    stream.receive_data(struct.pack(">i", size))
    with pytest.raises(MalformedBytes):
        stream.next_request()


def test_request_of_exactly_the_limit_is_read(frame):
    whole = frame(PUSH)
    stream = RequestReader(APIS, max_request_bytes=len(whole) - 4)
    stream.receive_data(whole)
    assert stream.next_request().body == READ_PUSH


def test_null_metrics_are_an_empty_push(frame):
    before = frame(PUSH)[4:-4]  # length, two bytes, no tags
    assert parse_request(before + b"\x00\x00", APIS).body.metrics == b""
    assert parse_request(before + b"\x01\x00", APIS).body.metrics == b""


def test_client_id_may_be_null_or_empty_or_no_utf8(frame):
    assert parse(frame(PUSH, client_id=None)).client_id is None
    assert parse(frame(PUSH, client_id="")).client_id == ""
    request = parse_request(header(18, 0, client_id=b"\x00\x02a\xff"), APIS)
    assert request.client_id == "a�"  # as Java reads it


def test_unknown_tagged_fields_are_passed_over(frame):
    whole = frame(PUSH)[4:]
    tagged = whole[:15] + b"\x02\x05\x01z\x06\x00" + whole[16:-1] + b"\x01\x09\x02ab"
    assert whole[15:16] == b"\x00"
    assert parse_request(tagged, APIS).body == READ_PUSH


@pytest.mark.parametrize(
    ("version", "names"),
    [
        (version, names)
        for version in APIS[3].versions
        for names in [("a", "b"), (), None]
        if version or names is not None  # version 0 has no null topics
    ],
)
def test_metadata_reads_as_kio_wrote_it(frame, request_schema, version, names):
    body = parse(frame(make_metadata(request_schema, version, names))).body
    topics = None if body.topics is None else tuple(one.name for one in body.topics)
    all_topics = names is None or (version == 0 and not names)
    assert topics == (None if all_topics else names)


def test_metadata_by_topic_id_keeps_the_id(frame, request_schema):
    schema = request_schema(3, 12)
    topic = load_payload_module(3, 12, EntityType.request).MetadataRequestTopic
    body = schema(
        topics=(topic(topic_id=INSTANCE_ID, name=None),),
        allow_auto_topic_creation=True,
        include_topic_authorized_operations=False,
    )
    (read,) = parse(frame(body)).body.topics
    assert (read.topic_id, read.name) == (INSTANCE_ID, None)


@pytest.mark.parametrize("version", range(5))
def test_api_versions_reads_in_every_version(frame, request_schema, version):
    schema = request_schema(18, version)
    software = {"client_software_name": "app", "client_software_version": "1"}
    body = parse(frame(schema(**(software if version >= 3 else {})))).body
    assert body == (ClientSoftware(**software) if version >= 3 else None)


@pytest.mark.parametrize("version", [6, 7, 99, 32767, -1])
def test_api_versions_in_another_version_comes_without_a_body(version):
    tags = b"\x00" if version > 2 else b""
    request = parse_request(header(18, version) + tags + b"\xff\xff\xff not read", APIS)
    assert (request.api_version, request.body) == (version, None)


@pytest.mark.parametrize("rest", [b"\x00\x00\x00\x00", b"\xff\xff\xff\xff\x07", b""])
@pytest.mark.parametrize("version", [3, 4, 5])
def test_api_versions_that_cannot_be_read_has_its_header(version, rest):
    request = parse_request(header(18, version) + rest, APIS)
    assert (request.api_version, request.body) == (version, UNREADABLE)


@pytest.mark.parametrize(
    ("api_key", "version"),
    [(0, 0), (3, 14), (3, -1), (17, 1), (71, 1), (72, 1), (999, 0), (-1, 0)],
)
def test_what_is_not_served_is_told_apart_from_what_is_malformed(api_key, version):
    with pytest.raises(UnsupportedRequest):
        parse_request(header(api_key, version) + b"\x00", APIS)


@pytest.mark.parametrize(
    "frame_bytes",
    [
        header(3, 0) + struct.pack(">i", -1),
        header(3, 1) + struct.pack(">i", 2**30),
        header(3, 1) + struct.pack(">i", -2),
        header(3, 1) + struct.pack(">ih", 1, -1),
        header(3, 9) + b"\x00" + b"\xff\xff\xff\xff\x07",
        header(3, 9) + b"\x00\x02\x00",
        header(72, 0) + b"\x00" + bytes(22) + b"\xff\xff\xff\xff\x07",
        header(72, 0) + b"\x00" + bytes(22) + b"\x80\x80\x80\x80\x80\x00",
        header(72, 0) + b"\x00" + bytes(22) + b"\xff\xff\xff\xff\x0f",
        header(72, 0) + b"\xff\xff\xff\xff\x07",
        header(18, 0, client_id=b"\xff\xfe"),
        header(18, 0, client_id=b"\x7f\xffabc"),
        b"",
    ],
    ids=[
        "null topics in v0", "huge array", "array of -2", "null name",
        "huge compact array", "null compact name", "metrics longer than the frame",
        "six-byte varint", "varint above int32", "huge tag count",
        "client id of -2 bytes", "client id too long", "empty",
    ],
)  # fmt: skip
def test_claims_that_do_not_fit_are_malformed_and_nothing_else(frame_bytes):
    with pytest.raises(MalformedBytes):
        parse_request(frame_bytes, APIS)


def test_numbers_are_signed_and_every_byte_but_zero_is_true(frame):
    cursor = Cursor(b"\xff\xfe\xff\xff\xff\xfd\x02\x00")
    assert cursor.read_int16() == -2
    assert cursor.read_int32() == -3
    assert (cursor.read_bool(), cursor.read_bool()) == (True, False)
    assert cursor.remaining_bytes == 0
    whole = frame(PUSH)[4:]
    odd = whole[:36] + b"\x02\xff" + whole[38:]
    assert whole[36:38] == b"\x01\x04"
    body = parse_request(odd, APIS).body
    assert (body.terminating, body.compression_type) == (True, -1)
