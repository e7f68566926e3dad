import contextlib
import struct
import uuid
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from pipelines.bridge.protocol.cursor import Cursor
from pipelines.bridge.protocol.push_config import (
    read_push_config as read_at_bridge,
)
from pipelines.bridge.protocol.push_config import write_push_config_response
from pipelines.clients.kafka_client import messages as wire
from pipelines.clients.kafka_client.messages import (
    ConfigEntry,
    MalformedAnswer,
    Node,
    PushAnswer,
)
from pipelines.clients.kafka_client.retriable_errors import RETRIABLE_ERROR_CODES
from tests.unit.bridge.push_config.raw_client import versions_body

GOLDEN = Path(__file__).parents[2] / "golden" / "bridge" / "wire_bytes.tsv"
ENTRIES = [ConfigEntry("acks", "all", 1, True), ConfigEntry("linger.ms", "5", 4, False)]
LONG = ConfigEntry("long", "ü" * 300, 1, False)
VERSIONS = struct.pack(">hB", 0, 3) + struct.pack(">hhhB", 18, 0, 6, 0) + struct.pack(">hhhB", 10_071, 0, 0, 0) + struct.pack(">iB", 0, 0)  # fmt: skip
METADATA = struct.pack(">i", 1) + struct.pack(">ih9si", 7, 9, b"localhost", 9092) + struct.pack(">h", -1)  # fmt: skip
HANDSHAKE = struct.pack(">hih5s", 33, 1, 5, b"PLAIN")
AUTHENTICATE = struct.pack(">hhi3s", 0, -1, 3, b"v=x")


def golden(name):
    lines = (line.split("\t") for line in GOLDEN.read_text().splitlines())
    return next(
        bytes.fromhex(text) for title, _, text in lines if title.startswith(name)
    )


def test_a_push_has_the_golden_bytes():
    body = golden("seed000 PushConfigRequest v0 body")
    assert wire.write_push_config(ENTRIES) == body
    empty = golden("seed000 PushConfigRequest v0 empty")
    assert wire.write_push_config([]) == empty


def test_golden_answers_are_read():
    ok = golden("seed000 PushConfigResponse v0 ok")
    assert wire.read_push_config(ok) == PushAnswer(0, 0, None)
    refused = golden("seed000 PushConfigResponse v0 err")
    assert wire.read_push_config(refused) == PushAnswer(0, 40, "bad")


def test_the_bridge_reads_what_is_written():
    body = wire.write_push_config([*ENTRIES, LONG])
    assert [tuple(one) for one in read_at_bridge(Cursor(body)).configs] == [
        tuple(one) for one in [*ENTRIES, LONG]
    ]


def test_an_answer_of_the_bridge_is_read_with_its_throttle_time():
    body = write_push_config_response(89, "l" * 200, throttle_time_ms=700)
    assert wire.read_push_config(body) == PushAnswer(700, 89, "l" * 200)


def test_api_versions_says_the_software_and_the_instance():
    plain = wire.write_api_versions("name", "1.2")
    assert plain == versions_body(3, "name", "1.2")
    instance_id = uuid.uuid4()
    named = wire.write_naming_api_versions("name", "1.2", instance_id)
    assert named == versions_body(6, "name", "1.2", instance_id)


def test_a_request_has_its_length_and_header_in_front():
    frame = wire.write_request(18, 3, 7, "app", b"body", is_flexible=True)
    assert frame == bytes.fromhex("00000012 0012 0003 00000007 0003") + b"app\0body"
    plain = wire.write_request(3, 1, 7, "", b"body", is_flexible=False)
    assert plain == bytes.fromhex("0000000e 0003 0001 00000007 0000") + b"body"


CASES = {
    "versions": (wire.read_api_versions, VERSIONS, (0, {18: (0, 6), 10_071: (0, 0)}), 17),
    "metadata": (wire.read_metadata, METADATA, [Node("localhost", 9092)], None),
    "handshake": (wire.read_sasl_handshake, HANDSHAKE, (33, ["PLAIN"]), None),
    "authenticate": (wire.read_sasl_authenticate, AUTHENTICATE, (0, "", b"v=x"), None),
    "push": (wire.read_push_config, bytes.fromhex("0000000000280462616400"), PushAnswer(0, 40, "bad"), 10),
}  # fmt: skip


@pytest.mark.parametrize(
    ("read", "body", "expected", "needed"), CASES.values(), ids=CASES
)
def test_an_answer_is_read_whole_and_refused_when_cut(read, body, expected, needed):
    assert read(body) == expected
    assert read(body + b"more") == expected
    for cut in range(needed or len(body)):
        with pytest.raises(MalformedAnswer):
            read(body[:cut])


@settings(max_examples=300)
@given(st.sampled_from(sorted(CASES)), st.binary(max_size=60), st.integers(0, 30))
def test_noise_is_an_answer_or_is_malformed(case, noise, start):
    read, body, *_ = CASES[case]
    with contextlib.suppress(MalformedAnswer):
        read(body[:start] + noise)


def test_a_version_that_is_not_known_serves_nothing():
    body = bytes.fromhex("0023 00000001 0012 0000 0002")
    assert wire.read_api_versions(body) == (35, {})


@pytest.mark.parametrize(
    "body", [b"\0\0\xff\xff\xff\xff\xff\xff", b"\0\0\xff\xff\xff\xff\x0f"]
)
def test_a_claimed_length_takes_no_memory(body):
    with pytest.raises(MalformedAnswer):
        wire.read_api_versions(body)


def test_an_entry_does_not_print_its_value():
    assert "all" not in repr(ENTRIES[0])


def test_the_codes_that_may_be_retried_are_those_of_kio():
    retriable = {code.value for code in ErrorCode if code.retriable}
    assert retriable == RETRIABLE_ERROR_CODES
