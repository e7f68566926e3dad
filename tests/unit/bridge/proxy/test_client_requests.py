"""What the bridge answers instead of the broker, and what it learns in passing."""

import struct

import pytest
from kio.schema.errors import ErrorCode

from pipelines.bridge.core.handlers import (
    Connection,
    RequestHandlers,
    ServedRequest,
    make_identity,
)
from pipelines.bridge.protocol.client_configs import (
    alter_client_configs_api,
    describe_client_configs_api,
)
from pipelines.bridge.protocol.errors import UnsupportedRequest
from pipelines.bridge.protocol.push_telemetry import PUSH_TELEMETRY_API
from pipelines.bridge.protocol.requests import GET_TELEMETRY_SUBSCRIPTIONS_API
from pipelines.bridge.protocol.software import api_versions_api
from pipelines.bridge.proxy.frames.line import Awaited, Line, OwnReply
from pipelines.bridge.proxy.rules.client_requests import ClientRequests
from pipelines.bridge.proxy.rules.shared import ProxyRules
from pipelines.bridge.proxy.rules.telemetry_gate import PublisherSigns, TelemetryGate
from pipelines.kafka_client.client_configs import (
    ALTER_CLIENT_CONFIGS,
    DESCRIBE_CLIENT_CONFIGS,
    Alteration,
    DescribeRequest,
    alter_client_configs,
    describe_client_configs,
    read_altered,
    read_described,
)
from pipelines.kafka_client.messages import write_frame

GET, PUSH = 71, 72
GET_FRAME = struct.pack(">hhih", GET, 0, 7, -1) + b"\0" + bytes(16) + b"\0"
PUSH_FRAME = (
    struct.pack(">hhih", PUSH, 0, 7, -1) + b"\0" + bytes(16) + bytes(6) + b"\x01\0"
)
PROPOSED = bytes.fromhex(
    "126170616368652d6b61666b612d6a61766106342e302e30b69cc35a7a544790aa69cc2bd4ee453800"
)
"""ApiVersions 5 as KIP-1324 wrote it, which is not the released version 5."""
THROTTLED = ErrorCode.throttling_quota_exceeded.value
SILENT = PublisherSigns(
    waits_since_s=None, acknowledged_s=None, refused_s=1.0, holds_records=False
)
HEALTHY = PublisherSigns(
    waits_since_s=None, acknowledged_s=1.0, refused_s=None, holds_records=False
)


class Client:
    def __init__(
        self, handle, *, has_sasl=False, signs=HEALTHY, api_versions=None, own=()
    ):
        served = [
            ServedRequest(api=api, handle=handle, is_counted=True)
            for api in (
                GET_TELEMETRY_SUBSCRIPTIONS_API,
                PUSH_TELEMETRY_API,
                describe_client_configs_api(DESCRIBE_CLIENT_CONFIGS),
                alter_client_configs_api(ALTER_CLIENT_CONFIGS),
            )
            if api.api_key not in CONFIG_KEYS or api.api_key in own
        ]
        handlers = RequestHandlers(served, api_versions=api_versions_api(api_versions))
        self.owner_asks = []
        self.timers, self.failures, self.late = [], [], []
        self.now_s = 100.0
        gate = TelemetryGate(lambda: signs, answer_s=0.1)
        gate.is_open(self.now_s)
        self.rules = ProxyRules(
            handlers=handlers,
            gate=gate,
            has_sasl=has_sasl,
            claim_name="sub",
            now_s=lambda: self.now_s,
            answer_later=self.timers.append,
            note_late=lambda: self.late.append(1),
            note_failure=self.failures.append,
            find_owner=self.find_owner,
        )
        identity = make_identity("PROXY", "10.0.0.7", 5_000)
        self.connection = Connection(connection_id=1, identity=identity)
        self.line = Line()
        self.requests = ClientRequests(
            self.rules, self.connection, self.line, self.fill
        )

    def find_owner(self, token_id, tell):
        self.owner_asks.append((token_id, tell))

    @staticmethod
    def fill(place, frame):
        place.frame = place.frame or frame

    def ask(self, api_key, frame, version=0):
        place = self.requests.read_request(api_key, version, frame)
        assert isinstance(place, OwnReply)
        self.requests.answer(frame, place)
        return place

    def pass_on(self, api_key, version, body, answer):
        frame = struct.pack(">hhih", api_key, version, 3, -1) + body
        awaited = self.requests.read_request(api_key, version, frame)
        assert awaited.correlation_id == 3
        return awaited.take(answer)


def answer_at_once(_request, _connection, reply):
    reply(b"answer")


def never_answer(_request, _connection, _reply):
    """Wait for Kafka, for ever."""


def fail(_request, _connection, _reply):
    raise RuntimeError("a fault of ours")


def error_of(api_key, frame):
    # Size, correlation id, no tags, throttle time.
    assert struct.unpack_from(">i", frame, 4) == (7,)
    assert api_key in {GET, PUSH}
    return struct.unpack_from(">h", frame, 13)[0]


def test_a_push_is_answered_by_the_bridge():
    client = Client(answer_at_once)
    assert client.ask(PUSH, PUSH_FRAME).frame == b"answer"
    assert not client.timers


def test_a_push_that_waits_too_long_is_throttled_and_what_comes_later_is_dropped():
    replies = []
    client = Client(lambda _request, _connection, reply: replies.append(reply))
    place = client.ask(PUSH, PUSH_FRAME)
    assert place.frame is None
    client.timers[0]()
    assert error_of(PUSH, place.frame) == THROTTLED
    assert client.late == [1]
    replies[0](b"late")
    assert place.frame != b"late"


def test_a_push_is_throttled_at_once_while_kafka_is_silent():
    client = Client(answer_at_once, signs=SILENT)
    assert error_of(PUSH, client.ask(PUSH, PUSH_FRAME).frame) == THROTTLED
    assert client.ask(GET, GET_FRAME).frame == b"answer"


DESCRIBE_FRAME = write_frame(
    describe_client_configs(DescribeRequest((), resolve_entity=True)), 7, "app"
)[4:]
CONFIG_KEYS = (DESCRIBE_CLIENT_CONFIGS, ALTER_CLIENT_CONFIGS)
ALICE = (("user", "alice"),)
ALTER_FRAME = write_frame(
    alter_client_configs([Alteration(ALICE, ())], validate_only=False), 7, "app"
)[4:]


def test_client_configs_are_answered_by_the_bridge_whatever_kafka_says():
    client = Client(answer_at_once, signs=SILENT, own=CONFIG_KEYS)
    assert client.ask(DESCRIBE_CLIENT_CONFIGS, DESCRIBE_FRAME).frame == b"answer"
    assert client.ask(ALTER_CLIENT_CONFIGS, ALTER_FRAME).frame == b"answer"
    versions = client.rules.own_versions()
    assert [key for key, _ in versions] == [GET, PUSH, *CONFIG_KEYS]


def test_an_alteration_takes_its_time_and_no_push_is_expected_for_it():
    client = Client(never_answer, own=CONFIG_KEYS)
    client.ask(ALTER_CLIENT_CONFIGS, ALTER_FRAME)
    assert client.timers == []
    assert not client.requests.is_expected(client.now_s, 0)


def test_client_configs_that_nobody_can_answer_now_are_asked_for_again():
    client = Client(fail, own=CONFIG_KEYS)
    described = client.ask(DESCRIBE_CLIENT_CONFIGS, DESCRIBE_FRAME).frame
    assert read_described(described[8:]).error_code == 14
    altered = client.ask(ALTER_CLIENT_CONFIGS, ALTER_FRAME).frame
    ((code, _, entity),) = read_altered(altered[8:])[1]
    assert (code, entity) == (14, ALICE)
    assert [type(error) for error in client.failures] == [RuntimeError] * 2


@pytest.mark.parametrize(("key", "frame"), [(GET, GET_FRAME), (PUSH, PUSH_FRAME)])
def test_a_handler_that_fails_is_told_of_and_answered(key, frame):
    client = Client(fail)
    assert error_of(key, client.ask(key, frame).frame) == THROTTLED
    assert [type(error) for error in client.failures] == [RuntimeError]


def test_telemetry_waits_for_the_authentication_and_ends_with_the_session():
    client = Client(answer_at_once, has_sasl=True)
    with pytest.raises(UnsupportedRequest):
        client.requests.read_request(PUSH, 0, PUSH_FRAME)
    mechanism = b"\0\x05PLAIN"
    assert client.pass_on(17, 1, mechanism, b"\0\0" + bytes(4)) == b"\0\0" + bytes(4)
    assert not client.line.expects_token
    token = b"\0alice\0secret"
    accepted = b"\0\0" + b"\xff\xff" + bytes(4) + struct.pack(">q", 5_000)
    body = struct.pack(">i", len(token)) + token
    assert client.pass_on(36, 1, body, accepted) == accepted
    assert client.connection.identity.principal == "User:alice"
    assert client.ask(PUSH, PUSH_FRAME).frame == b"answer"
    client.now_s += 5
    with pytest.raises(UnsupportedRequest):
        client.requests.read_request(PUSH, 0, PUSH_FRAME)
    # Whatever it counted before its session ended is its own.
    assert client.requests.is_named()


@pytest.mark.parametrize("has_sasl", [False, True])
def test_unreadable_api_versions_is_answered_without_the_broker(has_sasl):
    client = Client(answer_at_once, has_sasl=has_sasl)
    frame = struct.pack(">hhih", 18, 5, 7, -1) + b"\0" + PROPOSED
    reply = client.ask(18, frame, version=5).frame
    assert reply.hex() == "0000001000000007" + "0023" + "00000001" + "001200000004"
    # The client asks again on the same connection, and that goes to the broker.
    known = struct.pack(">hhih", 18, 4, 8, -1) + b"\0" + b"\x04app\x021\0"
    assert isinstance(client.requests.read_request(18, 4, known), Awaited)


def test_client_that_has_not_logged_in_is_not_named():
    client = Client(answer_at_once, has_sasl=True)
    assert not client.requests.is_named()
    client.pass_on(17, 1, b"\0\x05PLAIN", b"\0\0" + bytes(4))
    assert not client.requests.is_named()
    assert Client(answer_at_once).requests.is_named()


def test_the_handshake_of_old_clients_is_followed_by_tokens_without_headers():
    client = Client(answer_at_once, has_sasl=True)
    client.pass_on(17, 0, b"\0\x05PLAIN", b"\0\0" + bytes(4))
    assert client.line.expects_token
    awaited = client.requests.read_token(b"\0bob\0secret")
    assert awaited.correlation_id is None
    assert awaited.take(b"") == b""
    assert client.connection.identity.principal == "User:bob"
    assert not client.line.expects_token


def test_gssapi_without_headers_ends_with_a_token_that_is_not_answered():
    client = Client(answer_at_once, has_sasl=True)
    client.pass_on(17, 0, b"\0\x06GSSAPI", b"\0\0" + bytes(4))
    for token in (b"\x60ticket", b""):
        client.requests.read_token(token).take(b"answer")
    client.line.append(client.requests.read_token(b"\x05\x04wrapped"))
    assert client.line.expects_token
    assert client.requests.read_token(PUSH_FRAME) is None
    assert not client.line
    assert not client.line.expects_token
    assert client.connection.identity.principal == "User:UNKNOWN"
    assert client.ask(PUSH, PUSH_FRAME).frame == b"answer"


def test_a_push_in_the_place_of_a_ticket_is_a_token():
    client = Client(answer_at_once, has_sasl=True)
    client.pass_on(17, 0, b"\0\x06GSSAPI", b"\0\0" + bytes(4))
    assert client.requests.read_token(PUSH_FRAME) is not None
    with pytest.raises(UnsupportedRequest):
        client.requests.read_request(PUSH, 0, PUSH_FRAME)


def test_software_is_noted_and_the_answer_limited():
    client = Client(answer_at_once)
    body = b"\0\x05java\x064.3.1\0"
    # Produce 0 to 99, and nothing else.
    offered = b"\0\0\x02" + struct.pack(">hhh", 0, 0, 99) + b"\0" + bytes(4) + b"\0"
    answer = client.pass_on(18, 3, body, offered)
    assert client.connection.identity.client_software_name == "java"
    assert answer[:3] == b"\0\0\x04"
    assert struct.unpack_from(">hhh", answer, 3) == (0, 0, 13)
    assert struct.unpack_from(">hhh", answer, 10) == (71, 0, 0)


def test_an_answer_that_cannot_be_read_is_for_the_client_to_judge():
    client = Client(answer_at_once)
    assert client.pass_on(18, 3, b"\0\x05java\x064.3.1\0", b"\0") == b"\0"


SOFTWARE = b"\0" + b"\x09librdkaf" + b"\x06" + b"2.0.0"
NAMED = bytes(range(16))
VERSION_6 = SOFTWARE + b"\0\xff\xff\xff\xff" + NAMED
API_LIST = b"\0\0" + b"\x02" + struct.pack(">hhh", 18, 0, 4) + b"\0" + bytes(5)


def test_what_only_the_bridge_knows_of_apiversions_is_kept_from_the_broker():
    client = Client(answer_at_once, api_versions=6)
    frame = struct.pack(">hhih", 18, 6, 3, -1) + VERSION_6 + b"\0"
    awaited = client.requests.read_request(18, 6, frame)
    header = struct.pack(">hhih", 18, 3, 3, -1)
    body = SOFTWARE + b"\0"
    asked = header + body
    assert awaited.instead == struct.pack(">i", len(asked)) + asked
    assert client.connection.named_instance_id.bytes == NAMED
    assert client.connection.identity.client_software_name == "librdkaf"
    answer = awaited.take(API_LIST)
    # The telemetry of the bridge, and the broker's own range of ApiVersions.
    assert answer[2:] == b"\x04" + b"".join(
        struct.pack(">hhh", *one) + b"\0"
        for one in ((18, 0, 4), (71, 0, 0), (72, 0, 0))
    ) + bytes(5)


def test_version_6_is_the_brokers_to_refuse_where_it_is_not_ours():
    client = Client(answer_at_once)
    frame = struct.pack(">hhih", 18, 6, 3, -1) + VERSION_6 + b"\0"
    awaited = client.requests.read_request(18, 6, frame)
    assert awaited.instead is None
    refusal = b"\0\x23" + struct.pack(">ihhh", 1, 18, 0, 4)
    assert awaited.take(refusal) == refusal


def log_in_with_a_token(client):
    assert client.pass_on(17, 1, b"\0\x0dSCRAM-SHA-256", b"\0\0" + bytes(4))
    for message in (b"n,,n=TOKEN,r=abc,tokenauth=true", b"c=biws,r=abcdef,p=proof"):
        body = struct.pack(">i", len(message)) + message
        client.pass_on(36, 1, body, b"\0\0" + b"\xff\xff" + bytes(12))


@pytest.mark.parametrize(
    ("owner", "principal"), [("User:alice", "User:alice"), (None, "User:UNKNOWN")]
)
def test_a_token_s_client_waits_until_its_owner_is_known(owner, principal):
    seen = []

    def handle(_request, connection, reply):
        seen.append(connection.identity.principal)
        reply(b"answer")

    client = Client(handle, has_sasl=True)
    log_in_with_a_token(client)
    place = client.ask(GET, GET_FRAME)
    assert place.frame is None
    ((token_id, tell),) = client.owner_asks
    assert token_id == "TOKEN"
    tell(owner)
    assert place.frame == b"answer"
    assert client.ask(GET, GET_FRAME).frame == b"answer"
    assert seen == [principal, principal]


def test_what_waited_too_long_for_an_owner_is_not_handled_any_more():
    seen = []
    client = Client(lambda *_: seen.append(1), has_sasl=True)
    log_in_with_a_token(client)
    place = client.ask(PUSH, PUSH_FRAME)
    client.timers[0]()
    assert error_of(PUSH, place.frame) == THROTTLED
    client.owner_asks[0][1]("User:alice")
    assert seen == []


def test_a_client_that_is_gone_is_not_answered_when_its_owner_is_known():
    seen = []
    client = Client(lambda *_: seen.append(1), has_sasl=True)
    log_in_with_a_token(client)
    client.ask(PUSH, PUSH_FRAME)
    client.requests.forget()
    client.owner_asks[0][1]("User:alice")
    assert seen == []
